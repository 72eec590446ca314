"""Drives a groundspeed in a process of its own and waits for what it is doing.

`traced` runs a plan and writes a line for each step; `command` is the real command line.
"""

from __future__ import annotations

import fcntl
import os
import select
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from tests import leftovers, small_runs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Nothing here takes so long; it only keeps a broken run from holding up all others.
_LIMIT_S = 90.0
_POLL_S = 0.01

TRACED = """
import sys
from pathlib import Path
from groundspeed import store
from groundspeed.cli import session
from groundspeed.errors import GroundspeedError

class Trace:
    def note(self, message): print("note", message, flush=True)
    def trial_started(self, trial, *, number, left_s): print("trial", trial.trial_id, flush=True)
    def phase(self, name): print("phase", name, flush=True)
    def progress(self, progress): print("progress", progress.elapsed_s, flush=True)
    def trial_ended(self, record): print("ended", record.trial.trial_id, flush=True)

run_dir = Path(sys.argv[1])
for line in session.sweep():
    print("left", line, flush=True)
try:
    session.run_plan(store.read_plan(run_dir), run_dir, passwords={}, listener=Trace())
except GroundspeedError as error:
    print("error", error.message, flush=True)
    sys.exit(int(error.exit_code))
except KeyboardInterrupt:
    sys.exit(130)
"""


class Driven:
    """A groundspeed that runs, and what it has said so far."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._partial = b""
        self._seen = 0

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read(self, wait_s: float) -> bool:
        """Take what it has written; false at its end."""
        assert self.process.stdout is not None
        if not select.select([self.process.stdout], [], [], wait_s)[0]:
            return True
        data = os.read(self.process.stdout.fileno(), 65536)
        *whole, self._partial = (self._partial + data).split(b"\n")
        self.lines += [line.decode() for line in whole]
        return bool(data)

    def wait_for(self, start: str) -> str:
        """Wait for the next line that starts so."""
        deadline_s = time.monotonic() + _LIMIT_S
        while time.monotonic() < deadline_s:
            while self._seen < len(self.lines):
                line = self.lines[self._seen]
                self._seen += 1
                if line.startswith(start):
                    return line
            assert self._read(0.2), "\n".join(self.lines)
        raise AssertionError(f"no {start!r} in {self.lines}")

    def wait_for_process(self, run_id: str, name: str) -> int:
        """Wait until a program of the run is there; its process id."""
        deadline_s = time.monotonic() + _LIMIT_S
        while time.monotonic() < deadline_s:
            for pid, cmdline in leftovers.processes_of(run_id):
                program = cmdline.partition(" ")[0].rpartition("/")[2]
                if program == name and pid != self.pid:
                    return pid
            assert self._read(_POLL_S), "\n".join(self.lines)
        raise AssertionError(f"no {name} of {run_id}")

    def finish(self) -> int:
        """Let it come to its end; its exit code."""
        deadline_s = time.monotonic() + _LIMIT_S
        while self._read(0.2):
            assert time.monotonic() < deadline_s, self.lines
        return self.process.wait()

    @property
    def output(self) -> str:
        return "\n".join(self.lines)


@contextmanager
def driven(arguments: list[str], cwd: Path) -> Iterator[Driven]:
    """Start a groundspeed; whatever comes, it is not left behind."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=small_runs.variables(TERM="dumb"),
        cwd=cwd,
        start_new_session=True,
    ) as process:
        try:
            yield Driven(process)
        finally:
            process.kill()


def traced(run_dir: Path) -> list[str]:
    return ["-c", TRACED, str(run_dir)]


def command(*arguments: str | Path) -> list[str]:
    return ["-m", "groundspeed.cli.main", *map(str, arguments)]


def wait_until_free(lease: Path) -> None:
    """Wait until nobody holds a lease: a child that was just forked does, until it is a program."""
    deadline_s = time.monotonic() + _LIMIT_S
    with lease.open("rb") as file:
        while time.monotonic() < deadline_s:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            time.sleep(_POLL_S)
    raise AssertionError(f"{lease} is still held")


def wait_until_gone(pid: int) -> None:
    """Wait for the end of a process that is not our child."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([descriptor], [], [], _LIMIT_S)[0], f"process {pid} does not end"
    finally:
        os.close(descriptor)
