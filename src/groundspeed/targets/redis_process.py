"""One Redis server process of ours: started, waited for, ended, and its last words.

Its configuration, which may hold a password, is in memory only: it reads that from a descriptor.
"""

from __future__ import annotations

import re
import select
import signal
import subprocess
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import process, redis_client, remains
from groundspeed.tools.resp import ErrorReply

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.process import Account
    from groundspeed.targets.redis_client import Address
    from groundspeed.targets.remains import OwnedProcess

_START_LIMIT_S = 600.0
_POLL_S = 0.005
_STOP_PATIENCE_S = 60.0
_ENDED_S = 1.0
# "4711:M 20 Nov 2026 19:57:26.123 # what": the process, its role, the time, and how grave it is.
_LOG_LINE = re.compile(r"\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ (?P<level>.) (?P<text>.*)")
# Said at the level of warnings on every start, of the machine or of nothing at all.
_USUAL = ("WARNING", "oO0OoO0OoO0Oo", "version=", "Configuration loaded", "Server initialized")


class RedisProcess:
    """The server of one data directory; at most one process at a time."""

    def __init__(
        self,
        program: Path,
        data_directory: Path,
        log: Path,
        *,
        account: Account | None,
        lease: LeaseFile,
    ) -> None:
        """Start nothing yet."""
        self._program = program
        self._data_directory = data_directory
        self._log = log
        self._account = account
        self._lease = lease
        self._process: subprocess.Popen[bytes] | None = None
        self._owned: OwnedProcess | None = None
        self._log_start_bytes = 0

    @property
    def pid(self) -> int | None:
        """Its process id, from start to end."""
        return None if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self, configuration: str, address: Address, variables: Mapping[str, str]) -> None:
        """Start it and wait until it answers and has loaded its files. Raises TargetError."""
        with (
            self._log.open("ab") as log,
            process.memory_file(configuration, self._account) as (descriptor, path),
        ):
            self._log_start_bytes = log.tell()
            self._process = process.start(
                [self._program, path],
                account=self._account,
                environment=variables,
                cwd=self._data_directory,
                pass_fds=(descriptor,),
                stdout=log,
                stderr=log,
            )
        self._owned = self._lease.own_process(self._process.pid)
        self._wait_until_ready(self._process, address)

    def _wait_until_ready(self, started: subprocess.Popen[bytes], address: Address) -> None:
        for _ in range(int(_START_LIMIT_S / _POLL_S)):
            if started.poll() is not None:
                raise TargetError(
                    f"the server does not start: {self.last_words()}",
                    "check the suite's settings against that line",
                )
            try:
                with redis_client.connect(address) as client:
                    if not isinstance(client.try_asking("PING"), ErrorReply):
                        return
            except redis_client.RefusedError as error:
                if error.code != "LOADING":
                    raise
            except TargetError:
                # It does not listen yet.
                pass
            select.select([], [], [], _POLL_S)
        raise TargetError(
            f"the server was not ready after {_START_LIMIT_S:g} s",
            "preload fewer or smaller keys, or use a faster storage",
        )

    def stop(self, address: Address) -> None:
        """End it in order, without a snapshot: that would write all of its memory."""
        if self._process is None:
            return
        if self.is_running:
            try:
                with redis_client.connect(address) as client:
                    client.try_asking("SHUTDOWN", "NOSAVE")
                self._process.wait(_STOP_PATIENCE_S)
            except TargetError:
                # It closes the connection without an answer.
                self._wait_or_kill(self._process)
            except subprocess.TimeoutExpired:
                pass
        self.kill()

    def _wait_or_kill(self, ending: subprocess.Popen[bytes]) -> None:
        try:
            ending.wait(_STOP_PATIENCE_S)
        except subprocess.TimeoutExpired:
            ending.kill()

    def kill(self) -> None:
        """End it at once, and those that it forked to write its files."""
        if self._process is None:
            return
        process.end(self._process, first=signal.SIGKILL)
        # They outlive it, and would write on.
        remains.end_servers_of(self._data_directory)
        self._process = None
        if self._owned is not None:
            self._lease.disown_process(self._owned)
            self._owned = None

    def last_words(self) -> str:
        """How it ended, and the line of its log since its last start that says best why."""
        try:
            data = self._log.read_bytes()[self._log_start_bytes :]
        except OSError:
            data = b""
        told = telling_line(data.decode(errors="backslashreplace"))
        code = self._exit_code()
        if code is None or code >= 0:
            return told or "it left no log"
        name = signal.Signals(-code).name
        if -code == signal.SIGKILL:
            name += ", as the kernel does when memory runs out"
        return f"it was killed by {name}" + (f" ({told})" if told else "")

    def _exit_code(self) -> int | None:
        """Say how it ended; None for one that lives, or was never there."""
        if self._process is None:
            return None
        try:
            # It stops answering a moment before the kernel says how it ended.
            return self._process.wait(_ENDED_S)
        except subprocess.TimeoutExpired:
            return None


def telling_line(log: str) -> str:
    """Pick what says best what went wrong in a log of Redis; may be empty."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if "FATAL CONFIG FILE ERROR" in line:
            # The line itself stands behind >>>, and what is wrong with it on the next.
            wrong = [part for part in lines[number + 1 :] if "at line" not in part]
            return ": ".join(part.removeprefix(">>> ") for part in wrong[:2])
    found = [match for line in lines if (match := _LOG_LINE.fullmatch(line))]
    grave = [
        m["text"] for m in found if m["level"] == "#" and not any(w in m["text"] for w in _USUAL)
    ]
    if grave:
        return grave[-1]
    others = [line for line in lines if not _LOG_LINE.fullmatch(line)]
    return found[-1]["text"] if found else (others[-1] if others else "")
