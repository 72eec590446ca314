"""The native log reader beside a pgbench: what it is told, and what it says of the log.

It may be one of several, of loads that run at the same time; then all count from one moment.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed import native
from groundspeed.errors import TargetError
from groundspeed.record import Histogram, LogTotals, SecondRow
from groundspeed.targets import process
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import Trial


class Together(msgspec.Struct, frozen=True, kw_only=True):
    """What lets a load run at the same time as others, and be added to them.

    `begin` comes back at the moment to start, `started` is told once that is done. `began` is told
    when the log begins (microseconds since 1970; None for an empty one); then a line can be read
    from the descriptor `zero`, with the time from which all of them count their seconds.
    """

    begin: Callable[[], None]
    started: Callable[[], None]
    began: Callable[[int | None], None]
    zero: int


class LogAnswer:
    """What the native log reader says of a log, line by line."""

    def __init__(self) -> None:
        self._partial = b""
        self.seconds: list[SecondRow] = []
        self.tallies: list[msgspec.Raw] = []
        self.totals: LogTotals | None = None
        self.p99_s: float | None = None

    def feed(self, data: bytes) -> None:
        """Take some of what it wrote; ends anywhere."""
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            self._take(msgspec.json.decode(line), line)

    def _take(self, message: dict[str, Any], line: bytes) -> None:
        kind = message.pop("type")
        if kind == "second":
            self.seconds.append(msgspec.convert(message, SecondRow))
            if "buckets" in message:
                self.tallies.append(msgspec.Raw(line))
        elif kind == "first":
            self._begins(message["first_us"])
        elif kind == "so_far":
            self.p99_s = message["p99_us"] / 1e6 if message["count"] else None
        elif kind == "total":
            lag = message.pop("lag")
            if lag is not None:
                # Without a transaction there is no latest one.
                lag["max_us"] = lag["max_us"] or 0
                lag["histogram"] = _histogram({**message, **lag})
            message["histogram"] = _histogram(message)
            self.totals = msgspec.convert({**message, "lag": lag}, LogTotals)

    def _begins(self, first_us: int | None) -> None:
        """Hear when the log begins, where that was asked for."""


class LogFollower(LogAnswer):
    """The native log reader beside one pgbench."""

    def __init__(self, directory: Path, trial: Trial, together: Together | None = None) -> None:
        super().__init__()
        self._together = together
        self._heard_first = False
        self._knows_zero = False
        arguments = ["--follow", directory, "--prefix", pgbench.LOG_PREFIX]
        # Without --start-us, second 0 begins with the first line: connecting is no part of it.
        arguments += ["--seconds", str(trial.duration_s)]
        if trial.rate_per_s is not None:
            arguments.append("--has-lag")
        if trial.max_tries > 1:
            arguments.append("--has-retries")
        if together is not None:
            arguments += ["--second-buckets", "--await-start"]
        # Not as the load's user: it has to outlive nothing and touches only the log directory.
        self.process = process.start(
            [native.executable_path("log_reader"), *map(str, arguments)],
            account=None,
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    @property
    def zero(self) -> int | None:
        """Where second 0 is told, see `Together`; None for one that is alone."""
        return None if self._together is None else self._together.zero

    def _send(self, line: bytes) -> None:
        assert self.process.stdin is not None  # noqa: S101 - asked for above
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise _reader_died() from None

    def count_from(self, line: bytes) -> None:
        """Pass on when second 0 begins. Raises TargetError when it died."""
        self._knows_zero = True
        self._send(line)

    def finish(self) -> LogTotals:
        """Let it drain the log, now complete. Raises TargetError when it died."""
        assert self.process.stdin is not None  # noqa: S101 - asked for above
        assert self.process.stdout is not None  # noqa: S101
        if self._together is not None:
            self._agree_on_zero(self._together)
        self.process.stdin.close()
        while chunk := self.process.stdout.read(65536):
            self.feed(chunk)
        if self.process.wait() != 0 or self.totals is None:
            raise _reader_died()
        return self.totals

    def _begins(self, first_us: int | None) -> None:
        assert self._together is not None  # noqa: S101 - it speaks of it only then
        self._heard_first = True
        # Nothing is counted of an empty log, whatever the others say.
        self._knows_zero = self._knows_zero or first_us is None
        self._together.began(first_us)

    def _agree_on_zero(self, together: Together) -> None:
        """See that it knows from when to count: a load may end before it is told."""
        assert self.process.stdout is not None  # noqa: S101 - asked for above
        if not self._heard_first:
            self._send(b"?\n")
        while not self._heard_first:
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                raise _reader_died()
            self.feed(chunk)
        if not self._knows_zero:
            self.count_from(os.read(together.zero, 64))


def _reader_died() -> TargetError:
    return TargetError(
        "the native log reader ended before the log did",
        "please report it; groundspeed resume measures the trial again",
    )


def _histogram(message: dict[str, Any]) -> Histogram:
    return msgspec.convert(message, Histogram)


class ToldZero:
    """Passes on when second 0 begins, as soon as it can be read from `Together.zero`."""

    def __init__(self, follower: LogFollower) -> None:
        self._follower = follower

    def feed(self, data: bytes) -> None:
        """Take the line."""
        self._follower.count_from(data)
