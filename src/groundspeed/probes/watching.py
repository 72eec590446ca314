"""The side of groundspeed that asks: starts the probe process, speaks with it, outlives its end.

Nothing here raises for what becomes of the probes. A probe process that cannot be started, dies or
does not answer is told as absent, and the trial goes on.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

from groundspeed.ports import Seen
from groundspeed.record.evidence import Absent, Evidence, ProbeLevel, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.ports import WatchPoints

# What `Absent.what` says where there is no evidence at all.
ALL_PROBES = "probes"
_PROGRAM = (sys.executable, "-P", "-m", "groundspeed.probes.watcher")
_PATIENCE_S = 10.0
_CLOSE_PATIENCE_S = 2.0
_READ_BYTES = 1024 * 1024
# A person's shell has no part in what is seen: above all, libpq's variables come with the points.
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH", "HOME")


class _LostError(Exception):
    """The probe process is of no more use; says why."""


class ProcessWatcher:
    """Implements `ports.Watcher` with a probe process for each watch."""

    def __init__(
        self,
        level: ProbeLevel,
        *,
        program: Sequence[str] = _PROGRAM,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        """Start nothing yet. `program` obeys as `probes.watcher` does; its argument is the level.

        An answer is waited for `patience_s` seconds.
        """
        self._level = level
        self._program = program
        self._patience_s = patience_s

    def open(self, points: WatchPoints) -> ProcessWatch | None:
        """Start the probe process and wait until it is ready; None where the level is off."""
        if self._level is ProbeLevel.OFF:
            return None
        watch = ProcessWatch(self._level, self._program, self._patience_s)
        try:
            watch.open(points)
        except BaseException:
            watch.close()
            raise
        return watch


class ProcessWatch:
    """Implements `ports.Watch`."""

    def __init__(self, level: ProbeLevel, program: Sequence[str], patience_s: float) -> None:
        """Start nothing yet."""
        self._level = level
        self._program = program
        self._patience_s = patience_s
        self._child: _Child | None = None
        self._lost: str | None = None
        self._begin_wall_s = time.time()
        self._begin_s = time.monotonic()

    @property
    def pid(self) -> int | None:
        """The probe process, from start to end."""
        return None if self._child is None else self._child.pid

    def open(self, points: WatchPoints) -> None:
        """Start the probe process and wait until it is ready."""
        try:
            self._child = _Child([*self._program, self._level.value], self._patience_s)
            self._child.send(msgspec.json.encode(points))
            self._child.expect(b"ready")
        except (_LostError, OSError) as error:
            self._lose(f"the probe process cannot be started: {_reason(error)}")

    def begin(self) -> None:
        """Count from here; returns when the first snapshot is taken."""
        self._begin_wall_s, self._begin_s = time.time(), time.monotonic()
        if self._child is None:
            return
        try:
            self._child.send(b"begin")
            self._child.expect(b"begun")
        except _LostError as error:
            self._lose(_reason(error))

    def end(self) -> Seen:
        """Stop counting and tell what was seen."""
        elapsed_s = time.monotonic() - self._begin_s
        if self._child is not None:
            try:
                self._child.send(b"end")
                return msgspec.json.decode(self._child.answer(), type=Seen)
            except _LostError as error:
                self._lose(_reason(error))
            except msgspec.DecodeError as error:
                self._lose(f"the probe process gave no evidence: {error}")
        absent = Absent(what=ALL_PROBES, reason=self._lost or "the probe process has ended")
        return Seen(
            evidence=Evidence(
                level=self._level,
                started_at_s=self._begin_wall_s,
                elapsed_s=elapsed_s,
                absent=(absent,),
            ),
            series=Series(),
        )

    def close(self) -> None:
        """End the probe process; nothing when it has ended."""
        child, self._child = self._child, None
        if child is not None:
            child.close()

    def _lose(self, reason: str) -> None:
        self._lost = reason
        if self._child is not None:
            self._child.kill()
        self.close()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


class _Child:
    """The probe process and its pipes, a line at a time."""

    def __init__(self, argv: Sequence[str], patience_s: float) -> None:
        """Start it; it gets SIGKILL from the kernel when we die. Raises OSError, _LostError."""
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            raise _LostError("the program setpriv is missing")
        self._patience_s = patience_s
        self._partial = b""
        # A file and not a pipe: nobody reads it unless the process ends, and it must not fill.
        self._complaints: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close
        try:
            self._process = subprocess.Popen(
                [setpriv, "--pdeathsig", "KILL", "--", *argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._complaints,
                cwd="/",
                env=_variables(),
                # Ctrl-C is for groundspeed, which ends it in order.
                start_new_session=True,
                bufsize=0,
            )
        except OSError:
            self._complaints.close()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: bytes) -> None:
        """Write a line. Raises _LostError."""
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        try:
            self._process.stdin.write(line + b"\n")
        except OSError:
            raise _LostError(self._why_ended()) from None

    def expect(self, line: bytes) -> None:
        """Wait for a line. Raises _LostError when another comes, or none in time."""
        answer = self.answer()
        if answer != line:
            raise _LostError(f"the probe process answered {answer[:80]!r}")

    def answer(self) -> bytes:
        """Wait for the next line. Raises _LostError when none comes in time."""
        assert self._process.stdout is not None  # noqa: S101 - asked for above
        stdout = self._process.stdout.fileno()
        chunks = [self._partial]
        deadline_s = time.monotonic() + self._patience_s
        while b"\n" not in chunks[-1]:
            left_s = max(0.0, deadline_s - time.monotonic())
            if not select.select([stdout], [], [], left_s)[0]:
                raise _LostError(f"the probe process gave no answer for {self._patience_s:g} s")
            data = os.read(stdout, _READ_BYTES)
            if not data:
                raise _LostError(self._why_ended())
            chunks.append(data)
        line, _, self._partial = b"".join(chunks).partition(b"\n")
        return line

    def _why_ended(self) -> str:
        try:
            code = self._process.wait(_CLOSE_PATIENCE_S)
        except subprocess.TimeoutExpired:
            return "the probe process does not speak any more"
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="backslashreplace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"the probe process {how}" + (f": {last}" if last else "")

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def close(self) -> None:
        """End it in order, and by force where that takes long."""
        assert self._process.stdin is not None  # noqa: S101 - asked for above
        assert self._process.stdout is not None  # noqa: S101
        try:
            # The end of its input is its order to end.
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            self._process.wait(_CLOSE_PATIENCE_S)
        except subprocess.TimeoutExpired:
            pass
        finally:
            # Also on Ctrl-C while it is waited for.
            self._process.kill()
            self._process.wait()
            self._process.stdout.close()
            self._complaints.close()


def _variables() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    # It sees the groundspeed that we are, installed or not.
    ours = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (ours, os.environ.get("PYTHONPATH"))))
    return {**kept, "PYTHONPATH": path}
