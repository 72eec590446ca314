"""Pressure stall information: how long tasks stood still for want of something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.probes.kernel_files import read_bytes, whole_number
from groundspeed.record.machine import PressureWork

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Pressure:
    """/proc/pressure of the whole machine, at begin and end."""

    def __init__(self, proc: Path) -> None:
        self._folder = proc / "pressure"
        self._begin: Mapping[tuple[str, str], int] = {}

    def begin(self) -> bool:
        """Count from here; False where the kernel keeps no such account."""
        self._begin = self._totals()
        return bool(self._begin)

    def work(self, elapsed_s: float) -> PressureWork:
        """Give shares of the time since `begin`; None where the kernel tells none."""
        totals = self._totals()

        def ratio(what: str, kind: str) -> float | None:
            before, after = self._begin.get((what, kind)), totals.get((what, kind))
            if before is None or after is None or elapsed_s <= 0:
                return None
            # Its clock and ours are read at slightly different moments.
            return min(1.0, max(0, after - before) / 1e6 / elapsed_s)

        return PressureWork(
            cpu_some_ratio=ratio("cpu", "some"),
            memory_some_ratio=ratio("memory", "some"),
            memory_full_ratio=ratio("memory", "full"),
            io_some_ratio=ratio("io", "some"),
            io_full_ratio=ratio("io", "full"),
        )

    def _totals(self) -> dict[tuple[str, str], int]:
        """Microseconds since boot: lines such as some avg10=0.00 avg60=0.00 avg300=0.00 total=7."""
        totals = {}
        for what in ("cpu", "memory", "io"):
            for line in read_bytes(self._folder / what).splitlines():
                number = whole_number(line.partition(b"total=")[2])
                if number is not None:
                    totals[what, line.partition(b" ")[0].decode("ascii", "replace")] = number
        return totals
