"""One PostgreSQL server process of ours: started, waited for, ended, and its last words.

It is our own child, so its end is seen at once and its status line is read without `pg_ctl`.
"""

from __future__ import annotations

import select
import signal
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import killing, process, remains

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Mapping
    from pathlib import Path

    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account
    from groundspeed.targets.remains import OwnedProcess

_START_LIMIT_S = 600.0
_POLL_S = 0.005
_STOP_PATIENCE_S = 300.0
_QUIT_PATIENCE_S = 10.0
# In postmaster.pid: the process id, and what pg_ctl waits for.
_PID_LINE, _STATUS_LINE = 0, 7


class Postmaster:
    """The server of one data directory; at most one process at a time."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        program: Path,
        data_directory: Path,
        log: Path,
        *,
        account: Account | None,
        lease: LeaseFile,
        variables: Mapping[str, str],
    ) -> None:
        """Start nothing yet. `variables` are environment variables of the server."""
        self._program = program
        self._data_directory = data_directory
        self._log = log
        self._account = account
        self._lease = lease
        self._variables = variables
        self._process: subprocess.Popen[bytes] | None = None
        self._owned: OwnedProcess | None = None
        self._shared_memory: tuple[str, ...] = ()
        self._log_start_bytes = 0

    @property
    def pid(self) -> int | None:
        """Its process id, from start to end."""
        return None if self._process is None else self._process.pid

    @property
    def is_started(self) -> bool:
        """Whether it was started and not ended since; it may have died."""
        return self._process is not None

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it and wait until it accepts connections. Raises TargetError."""
        with self._log.open("ab") as log:
            self._log_start_bytes = log.tell()
            self._process = process.start(
                [self._program, "-D", self._data_directory],
                account=self._account,
                death_signal="QUIT",
                environment=self._variables,
                stdout=log,
                stderr=log,
            )
        self._owned = self._lease.own_process(self._process.pid)
        self._wait_until_ready(self._process)
        # Added to, not replaced: of one that was killed something may be left.
        found = remains.shared_memory_of(self._process.pid)
        self._shared_memory = (*self._shared_memory, *found)
        self._lease.own_shared_memory(found)

    def _wait_until_ready(self, started: subprocess.Popen[bytes]) -> None:
        status = self._data_directory / "postmaster.pid"
        for _ in range(int(_START_LIMIT_S / _POLL_S)):
            if started.poll() is not None:
                raise TargetError(
                    f"the server does not start: {self.last_words()}",
                    "check the suite's postgres settings against that line",
                )
            try:
                lines = status.read_text().splitlines()
            except OSError:
                lines = []
            ours = len(lines) > _STATUS_LINE and lines[_PID_LINE] == str(started.pid)
            if ours and lines[_STATUS_LINE].strip() == "ready":
                return
            select.select([], [], [], _POLL_S)
        raise TargetError(
            f"the server was not ready after {_START_LIMIT_S:g} s",
            "look for crash recovery of a very large max_wal_size",
        )

    def stop(self) -> None:
        """End it in order: no crash recovery when it starts again."""
        self._end(signal.SIGINT, _STOP_PATIENCE_S)

    def quit(self) -> None:
        """End it at once; its data directory is not needed any more."""
        self._end(signal.SIGQUIT, _QUIT_PATIENCE_S)

    def kill(self) -> None:
        """Kill it and all its processes at once, as a crash does. Raises TargetError."""
        if self._process is not None:
            killing.kill_family(self._process.pid)
            self._end(signal.SIGKILL, _QUIT_PATIENCE_S)

    def _end(self, first: signal.Signals, patience_s: float) -> None:
        if self._process is None:
            return
        process.end(self._process, first=first, patience_s=patience_s)
        killed = self._process.returncode < 0
        self._process = None
        if self._owned is not None:
            self._lease.disown_process(self._owned)
            self._owned = None
        if not killed:
            # Only its own: servers of other environments may be running.
            self._lease.disown_shared_memory(self._shared_memory)
            self._shared_memory = ()

    def last_words(self) -> str:
        """The line of its log, since its last start, that says best what went wrong."""
        try:
            data = self._log.read_bytes()[self._log_start_bytes :]
        except OSError:
            return "it left no log"
        lines = [line for line in data.decode(errors="backslashreplace").splitlines() if line]
        telling = [line for line in lines if any(w in line for w in ("FATAL", "PANIC", "ERROR"))]
        # A wrong setting is told in a LOG line before the FATAL that only says "contains errors".
        if telling and "contains errors" in telling[-1]:
            telling = [line for line in lines if "LOG:" in line and "parameter" in line] or telling
        told = telling or lines
        return told[-1].partition("] ")[2] or told[-1] if told else "it left no log"
