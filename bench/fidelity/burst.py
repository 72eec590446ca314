"""A gp2 volume with a small bucket: when it falls, and to which level.

fio logs the moment of each request. The cliff is where two levels fit those moments best: the one
split of the run that leaves the least squares between a line before it and a line after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bench.fidelity import fio
from bench.fidelity.line import Line, Unit, near
from bench.fidelity.workshop import MIB, fill
from groundspeed.storage import catalogue

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bench.fidelity.workshop import Workshop
    from groundspeed.storage.profile import Profile

_BASELINE_PER_S, _BURST_PER_S = 300.0, 3000.0
_ALLOWED_CLIFF_RATIO, _ALLOWED_LEVEL_RATIO = 0.02, 0.03
_WINDOW_S = 0.1
_FILE_BYTES = 256 * MIB
_JOBS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Fall:
    """A run that fell: when, from which level, to which."""

    at_s: float
    before_per_s: float
    after_per_s: float


def small_bucket(lasts_s: float) -> Profile:
    """Give a gp2 of 100 GiB whose bucket holds the burst for `lasts_s` at full load."""
    profile = catalogue.profile("aws-gp2")
    credits_count = lasts_s * (_BURST_PER_S - _BASELINE_PER_S)
    limits = tuple(
        msgspec.structs.replace(limit, credits_count=credits_count)
        if limit.credits_count
        else limit
        for limit in profile.device.limits
    )
    device = msgspec.structs.replace(profile.device, limits=limits)
    return msgspec.structs.replace(profile, device=device)


def fall_of(done_s: Sequence[float], whole_s: float) -> Fall:
    """Find the cliff in the moments at which requests were done."""
    counts = [0] * int(whole_s / _WINDOW_S)
    for moment in done_s:
        if moment < len(counts) * _WINDOW_S:
            counts[int(moment / _WINDOW_S)] += 1
    cut = min(range(1, len(counts)), key=lambda at: _squares(counts[:at]) + _squares(counts[at:]))
    # The window of the fall belongs to both levels, so it to neither side.
    before = sum(counts[: cut - 1]) / (cut - 1) / _WINDOW_S
    tail = counts[cut + 1 :]
    after = sum(tail) / len(tail) / _WINDOW_S
    # How much of the two windows around the cut was burst: finer than a window.
    there = counts[cut - 1] + counts[cut]
    share = (there / _WINDOW_S - 2 * after) / (before - after)
    return Fall(at_s=(cut - 1 + share) * _WINDOW_S, before_per_s=before, after_per_s=after)


def _squares(counts: Sequence[int]) -> float:
    return sum(c * c for c in counts) - sum(counts) ** 2 / len(counts)


def measure(shop: Workshop) -> list[Line]:
    """Measure the fall, a few times."""
    lasts_s = shop.choose(20, 5)
    whole_s = 2.0 * lasts_s
    profile = small_bucket(lasts_s)
    falls = []
    for _ in range(shop.choose(6, 2)):
        with shop.directory() as directory, shop.directory() as logs:
            file = fill(directory / "a", _FILE_BYTES)
            with shop.device(profile, directory) as device:
                work = fio.Work(
                    file=file,
                    pattern="randread",
                    block_bytes=4096,
                    jobs=_JOBS,
                    duration_s=whole_s,
                    seed=shop.dice.getrandbits(31),
                    log=logs / "burst",
                )
                fio.run(work, device.variables)
            falls.append(fall_of(fio.completions_s(logs / "burst"), whole_s))
    what = f"gp2, {_BASELINE_PER_S:,.0f} IOPS, burst {_BURST_PER_S:,.0f}"
    iops = Unit(word=" IOPS", digits=1)
    return [
        near(
            f"{what}: the cliff",
            lasts_s,
            [fall.at_s for fall in falls],
            allowed_ratio=_ALLOWED_CLIFF_RATIO,
            unit=Unit(word=" s", digits=2),
        ),
        *(
            near(f"{what}: {name}", asked, found, allowed_ratio=_ALLOWED_LEVEL_RATIO, unit=iops)
            for name, asked, found in (
                ("level before", _BURST_PER_S, [fall.before_per_s for fall in falls]),
                ("level after", _BASELINE_PER_S, [fall.after_per_s for fall in falls]),
            )
        ),
    ]
