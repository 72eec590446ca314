"""Caps on requests and bytes, under one job, sixteen jobs, and two programs at once.

The device is a fast one with a cap: whatever is measured below the cap is the emulator's fault.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bench.fidelity import fio
from bench.fidelity.line import PER_CENT, Line, Unit, below, near
from bench.fidelity.workshop import MIB, fill
from groundspeed.storage import catalogue
from groundspeed.storage.profile import Counted, Limit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from bench.fidelity.workshop import Workshop
    from groundspeed.storage.profile import Profile

_ALLOWED_RATIO = 0.03
_ALLOWED_UNEVEN_RATIO = 0.10
_REQUESTS_PER_S = 3000.0
_BYTES_PER_S = 125.0 * MIB
_FILE_BYTES = 256 * MIB
_JOBS = (1, 16)
_IOPS = Unit(word=" IOPS", digits=1)
_MIB_PER_S = Unit(word=" MiB/s", scale=1 / MIB, digits=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A cap and the work that runs into it."""

    of: Counted
    pattern: str
    block_bytes: int
    jobs: int
    programs: int = 1

    @property
    def what(self) -> str:
        """Name it."""
        jobs = f"{self.jobs} job{'s' if self.jobs > 1 else ''}"
        return f"cap on {self.of.value}: {self.pattern} {self.block_bytes // 1024} KiB, {jobs}"


def capped(of: Counted) -> Profile:
    """Give the fast device with one cap."""
    rate = _REQUESTS_PER_S if of is Counted.REQUESTS else _BYTES_PER_S
    fast = catalogue.profile("local-nvme-plp")
    device = msgspec.structs.replace(fast.device, limits=(Limit(of=of, rate_per_s=rate),))
    return msgspec.structs.replace(fast, name="capped", device=device)


def _cases() -> Iterator[Case]:
    for jobs in _JOBS:
        for pattern in ("randread", "randwrite"):
            yield Case(of=Counted.REQUESTS, pattern=pattern, block_bytes=4096, jobs=jobs)
        for pattern in ("read", "write"):
            yield Case(of=Counted.BYTES, pattern=pattern, block_bytes=131072, jobs=jobs)
    for jobs in (1, 8):
        yield Case(of=Counted.REQUESTS, pattern="randread", block_bytes=4096, jobs=jobs, programs=2)
    yield Case(of=Counted.BYTES, pattern="write", block_bytes=131072, jobs=1, programs=2)


def _measure(shop: Workshop, case: Case, files: tuple[Path, Path]) -> list[fio.Done]:
    with shop.device(capped(case.of), files[0].parent) as device:
        return fio.finish(
            [
                fio.start(
                    fio.Work(
                        file=file,
                        pattern=case.pattern,
                        block_bytes=case.block_bytes,
                        jobs=case.jobs,
                        duration_s=shop.choose(5, 2),
                        ramp_s=1,
                        seed=shop.dice.getrandbits(31),
                    ),
                    device.variables,
                )
                for file in files[: case.programs]
            ]
        )


def measure(shop: Workshop) -> list[Line]:
    """Measure every cap."""
    cases = tuple(_cases())
    found: dict[Case, list[list[fio.Done]]] = defaultdict(list)
    with shop.directory() as directory:
        files = (fill(directory / "a", _FILE_BYTES), fill(directory / "b", _FILE_BYTES))
        for case in shop.shuffled_blocks(cases, shop.choose(6, 2)):
            found[case].append(_measure(shop, case, files))
    return [_line(case, found[case]) for case in cases]


def _line(case: Case, found: list[list[fio.Done]]) -> Line:
    if case.programs > 1:
        uneven = []
        for first, second in found:
            whole = first.requests_per_s + second.requests_per_s
            uneven.append(abs(first.requests_per_s - second.requests_per_s) / whole)
        return below(
            f"{case.what}, each of two programs: share off the half",
            _ALLOWED_UNEVEN_RATIO,
            uneven,
            unit=PER_CENT,
            asked="50% each",
        )
    if case.of is Counted.REQUESTS:
        asked, unit, values = _REQUESTS_PER_S, _IOPS, [d.requests_per_s for (d,) in found]
    else:
        asked, unit, values = _BYTES_PER_S, _MIB_PER_S, [d.bytes_per_s for (d,) in found]
    return near(case.what, asked, values, allowed_ratio=_ALLOWED_RATIO, unit=unit)
