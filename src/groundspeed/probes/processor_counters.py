"""Time of the processors by /proc/stat, their frequency, and how often heat held them back."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.probes.kernel_files import number_after, read_bytes, whole_number

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

# Asking a processor for its frequency may wake it; a machine with more is asked at even distances.
_MOST_ASKED_COUNT = 32
_FIELDS_BEFORE_STEAL = 7


class Times(NamedTuple):
    """Clock ticks of one processor, or of all."""

    busy: int
    idle: int
    io_wait: int
    steal: int

    def since(self, before: Times) -> Times:
        """Give the growth; idle and iowait may fall a little, for the kernel corrects them."""
        return Times(*(max(0, now - then) for now, then in zip(self, before, strict=True)))

    @property
    def total(self) -> int:
        """All ticks that there were."""
        return sum(self)

    def ratio(self, part: int) -> float:
        """Give the share of a part; 0 where no tick went by."""
        return part / self.total if self.total else 0.0


class StatReading(NamedTuple):
    """/proc/stat at one moment. `runnable` is who runs or waits for a processor, less one.

    Less one, for whoever reads the file runs itself.
    """

    every: Times
    cores: Mapping[bytes, Times]
    switches: int | None
    runnable: int | None


def parse_stat(text: bytes) -> StatReading | None:
    """Read /proc/stat; None where it tells nothing of processors."""
    cores: dict[bytes, Times] = {}
    at = 0
    while text.startswith(b"cpu", at):
        end = text.find(b"\n", at)
        name, times = _times(text[at : end if end >= 0 else None])
        if times:
            cores[name] = times
        if end < 0:
            break
        at = end + 1
    every = cores.pop(b"cpu", None)
    if every is None or not cores:
        return None
    runnable = number_after(text, b"procs_running")
    return StatReading(
        every=every,
        cores=cores,
        switches=number_after(text, b"ctxt"),
        runnable=None if runnable is None else max(0, runnable - 1),
    )


def busiest_core_ratio(before: StatReading, after: StatReading) -> float:
    """Give the busy share of the busiest processor between two readings."""
    return max(
        (
            grown.ratio(grown.busy)
            for name, times in after.cores.items()
            # One that was switched on in between has no beginning.
            if name in before.cores and (grown := times.since(before.cores[name]))
        ),
        default=0.0,
    )


def _times(line: bytes) -> tuple[bytes, Times | None]:
    # cpuN user nice system idle iowait irq softirq steal guest guest_nice. Guests are in user and
    # nice already. Steal is in none of the others: the kernel takes it off.
    name, *words = line.split()
    try:
        ticks = [int(word) for word in words]
    except ValueError:
        return name, None
    if len(ticks) < _FIELDS_BEFORE_STEAL:
        return name, None
    user, nice, system, idle, io_wait, hard, soft = ticks[:_FIELDS_BEFORE_STEAL]
    steal = ticks[_FIELDS_BEFORE_STEAL] if len(ticks) > _FIELDS_BEFORE_STEAL else 0
    return name, Times(user + nice + system + hard + soft, idle, io_wait, steal)


class Frequencies:
    """Frequency and heat, as far as the kernel tells; virtual machines seldom do."""

    def __init__(self, sys: Path) -> None:
        folders = sorted((sys / "devices/system/cpu").glob("cpu[0-9]*"))
        every = -(-len(folders) // _MOST_ASKED_COUNT) or 1
        self._asked = [str(f / "cpufreq/scaling_cur_freq") for f in folders[::every]]
        self._folders = folders

    def mean_hz(self) -> float | None:
        """Give the mean over the processors at this moment; None where none tells."""
        khz = [n for file in self._asked if (n := whole_number(read_bytes(file)))]
        return 1000.0 * sum(khz) / len(khz) if khz else None

    def throttle_count(self) -> int | None:
        """Count how often processors and their packages were held back for heat since boot."""
        cores: dict[tuple[int | None, int | None], int] = {}
        packages: dict[int | None, int] = {}
        for folder in self._folders:
            core = whole_number(read_bytes(folder / "thermal_throttle/core_throttle_count"))
            if core is None:
                continue
            # Threads of a core share its count, cores of a package theirs: count each once.
            package = whole_number(read_bytes(folder / "topology/physical_package_id"))
            place = (package, whole_number(read_bytes(folder / "topology/core_id")))
            cores[place] = max(core, cores.get(place, 0))
            count = whole_number(read_bytes(folder / "thermal_throttle/package_throttle_count"))
            packages[package] = max(count or 0, packages.get(package, 0))
        return sum(cores.values()) + sum(packages.values()) if cores else None
