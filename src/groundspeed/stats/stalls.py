"""Runs of values that are next to nothing, and the worst stretch of a series. Pure."""

from __future__ import annotations

from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

# A tenth of the median: no longer slow, but standing still.
STALL_RATIO = 0.1


class LowRun(msgspec.Struct, frozen=True, kw_only=True):
    """Neighbouring low values: the place of the first, how many, and the lowest of them."""

    first: int
    count: int
    lowest: float


def low_runs(values: Sequence[float]) -> tuple[LowRun, ...]:
    """Find the runs of values below a tenth of the median of them all; in order.

    `values`: 0 or more, any unit. None where there are no values, or half of them are 0: a series
    that stands still most of the time has no pace to fall behind.
    """
    if not values:
        return ()
    bound = STALL_RATIO * median(values)
    runs: list[LowRun] = []
    start: int | None = None
    for place, value in enumerate([*values, bound]):
        if value < bound and start is None:
            start = place
        elif value >= bound and start is not None:
            low = values[start:place]
            runs.append(LowRun(first=start, count=len(low), lowest=min(low)))
            start = None
    return tuple(runs)


def worst_mean(values: Sequence[float], count: int) -> float:
    """Give the lowest mean of `count` neighbouring values.

    Raises ValueError where there are fewer values, or `count` is not 1 or more.
    """
    if not 1 <= count <= len(values):
        raise ValueError(f"there are no {count} neighbours among {len(values)} values")
    sums = [0.0, *accumulate(values)]
    return min(sums[at + count] - sums[at] for at in range(len(values) - count + 1)) / count
