"""Latency at depth 1: median and p99 against those of the profile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.fidelity import fio
from bench.fidelity.line import Line, Unit, near
from bench.fidelity.workshop import MIB, fill
from groundspeed.storage import catalogue
from groundspeed.storage.distribution import table_s

if TYPE_CHECKING:
    from pathlib import Path

    from bench.fidelity.workshop import Workshop
    from groundspeed.storage.profile import Profile

_ALLOWED_MEDIAN_RATIO, _ALLOWED_P99_RATIO = 0.05, 0.15
_FILE_BYTES = 256 * MIB
_BLOCK_BYTES = 4096
_US = Unit(word=" us", scale=1e6, digits=1)
# With 3,000 IOPS a request that follows a quick one would wait for the cap, as it does on a real
# volume: that is the cap's line, so here it is provisioned out of the way.
_PROFILES: tuple[tuple[str, dict[str, str]], ...] = (
    ("aws-gp3", {"iops": "16000"}),
    ("local-nvme-plp", {}),
)
_DOES = {
    "read": "random read",
    "write": "random write",
    "sync": "write, then fdatasync: the fdatasync",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A profile and one of read, write, sync."""

    profile: Profile
    does: str

    @property
    def what(self) -> str:
        """Name it."""
        return f"latency of {self.profile.label}: {_DOES[self.does]}"

    def asked_s(self, ratio: float) -> float:
        """Work out the quantile from the profile's tables; seconds."""
        device = self.profile.device
        table = table_s(device.read if self.does == "read" else device.write)
        if self.does == "sync":
            # What was written goes to the device, then the device is told to flush.
            flushed = table_s(device.sync)[8::16]
            table = tuple(sorted(one + other for one in table for other in flushed))
        place = ratio * len(table) - 0.5
        below = int(place)
        return table[below] + (place - below) * (table[below + 1] - table[below])


def _measure(shop: Workshop, case: Case, file: Path) -> fio.Done:
    with shop.device(case.profile, file.parent) as device:
        return fio.run(
            fio.Work(
                file=file,
                pattern="randread" if case.does == "read" else "randwrite",
                block_bytes=_BLOCK_BYTES,
                duration_s=shop.choose(5, 2),
                ramp_s=0.5,
                direct=case.does != "sync",
                sync_each=case.does == "sync",
                seed=shop.dice.getrandbits(31),
            ),
            device.variables,
        )


def measure(shop: Workshop) -> list[Line]:
    """Measure medians and p99."""
    cases = [
        Case(profile=catalogue.profile(name, parameters), does=does)
        for name, parameters in _PROFILES
        for does in _DOES
    ]
    found: dict[str, list[fio.Done]] = defaultdict(list)
    with shop.directory() as directory:
        file = fill(directory / "a", _FILE_BYTES)
        for case in shop.shuffled_blocks(cases, shop.choose(6, 2)):
            found[case.what].append(_measure(shop, case, file))
    return [line for case in cases for line in _lines(case, found[case.what])]


def _lines(case: Case, found: list[fio.Done]) -> list[Line]:
    return [
        near(
            f"{case.what}, {word}",
            case.asked_s(ratio),
            [fio.quantile_s(d.sync_bins if case.does == "sync" else d.bins, ratio) for d in found],
            allowed_ratio=allowed,
            unit=_US,
        )
        for word, ratio, allowed in (
            ("median", 0.5, _ALLOWED_MEDIAN_RATIO),
            ("p99", 0.99, _ALLOWED_P99_RATIO),
        )
    ]
