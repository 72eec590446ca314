"""The probe process: `python -m groundspeed.probes.watcher LEVEL`.

A process of its own, so that the lock and the garbage collector of the one that relays the load
have no part in it, and so that its cost can be told. It reads the watch points as one line of JSON
from standard input (the password is in no argument), opens its samplers and answers "ready". Then
it obeys lines: "begin" is answered with "begun", "end" with one line of JSON (`ports.Seen`),
"close" ends it, and so does the end of standard input.

It refuses to judge: what it cannot see is in `Evidence.absent`, and it goes on without.
"""

from __future__ import annotations

import gc
import os
import select
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from groundspeed.ports import WatchPoints
from groundspeed.probes.counting import Count, Guarded
from groundspeed.record.evidence import ProbeLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from groundspeed.probes.sampling import Sampler

    # Which samplers there are, by the word that is told of one that is absent.
    Openers = Mapping[str, Callable[[], Sampler]]

_STANDARD_INPUT, _STANDARD_OUTPUT, _STANDARD_ERROR = 0, 1, 2
_READ_BYTES = 65536


class _Commands:
    """Lines from standard input; its end is a "close"."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._partial = b""
        self._ended = False

    def wait(self, limit_s: float | None) -> bytes | None:
        """Give the next line, None where none came within `limit_s`; None waits for ever."""
        while not self._lines and not self._ended:
            if not select.select([_STANDARD_INPUT], [], [], limit_s)[0]:
                return None
            data = os.read(_STANDARD_INPUT, _READ_BYTES)
            self._ended = not data
            *whole, self._partial = (self._partial + data).split(b"\n")
            self._lines += whole
        return self._lines.pop(0) if self._lines else b"close"


def samplers_for(level: ProbeLevel, points: WatchPoints) -> Openers:
    """Name the samplers of a level; what they import is loaded when one is opened."""

    def machine() -> Sampler:
        from groundspeed.probes.machine import MachineSampler  # noqa: PLC0415 - see above

        return MachineSampler(points, proc=Path("/proc"), sys=Path("/sys"))

    def database() -> Sampler:
        from groundspeed.probes.engines import sampler  # noqa: PLC0415 - see above

        return sampler(level, points)

    return {"machine": machine, "database": database}


def main(
    arguments: Sequence[str], samplers: Callable[[ProbeLevel, WatchPoints], Openers] = samplers_for
) -> int:
    """Obey until the end; 0 in every case that was foreseen."""
    level = ProbeLevel(arguments[0])
    # Answers have a descriptor of their own: a library that prints must not be read as one.
    answers = os.dup(_STANDARD_OUTPUT)
    os.dup2(_STANDARD_ERROR, _STANDARD_OUTPUT)
    commands = _Commands()
    points = msgspec.json.decode(commands.wait(None) or b"", type=WatchPoints)
    os.environ.update(points.variables)
    opened = [
        Guarded(what, opener, points.password) for what, opener in samplers(level, points).items()
    ]
    # Nothing that is made from here on lives in cycles that matter; a collection would be a pause.
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with os.fdopen(answers, "wb") as file:
            _obey(commands, file, level, opened)
    except BrokenPipeError:
        # Whoever asked is gone.
        return 0
    finally:
        for sampler in opened:
            sampler.close()
    return 0


def _obey(
    commands: _Commands, answers: BinaryIO, level: ProbeLevel, samplers: Sequence[Guarded]
) -> None:
    def answer(line: bytes) -> None:
        answers.write(line + b"\n")
        answers.flush()

    count: Count | None = None
    answer(b"ready")
    while (command := commands.wait(None if count is None else count.wait_s())) != b"close":
        if command == b"begin":
            count = Count(level, samplers)
            answer(b"begun")
        elif count is not None and command == b"end":
            seen, count = count.end(), None
            answer(msgspec.json.encode(seen))
        elif count is not None:
            count.turn()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
