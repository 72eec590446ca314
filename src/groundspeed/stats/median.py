"""The median of a few trials and an interval for it that assumes nothing about their shape.

Throughput of a database is skewed and has outliers (checkpoints, neighbours), so a mean with a
t interval would promise more than it keeps. Pure: no input, no output, no wording.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import median
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class MedianInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A median with its interval, in the unit of the values.

    `low`, `high` and `confidence_ratio` are None where there are too few values.
    """

    n: int
    median: float
    low: float | None
    high: float | None
    confidence_ratio: float | None


def median_interval(values: Sequence[float], confidence_ratio: float = 0.95) -> MedianInterval:
    """Estimate the median of the population that `values` are independent draws of.

    `values`: one or more finite numbers, any unit, any order. `confidence_ratio`: above 0, below 1.
    The interval runs from the k-th smallest to the k-th largest value, with the greatest k whose
    confidence 1 - 2 P(Binomial(n, 1/2) < k) is at least the one asked; `confidence_ratio` of the
    result is that one, exact for any continuous distribution and a lower bound with ties.
    Raises ValueError for no values, for a value that is not finite and for a confidence outside
    its range.

    Source: Conover, Practical Nonparametric Statistics, 3rd edition, section 3.2 (confidence
    interval for a quantile).
    """
    if not values or not all(map(math.isfinite, values)):
        msg = "needs one or more values, all of them finite"
        raise ValueError(msg)
    ordered = sorted(values)
    n = len(ordered)
    rank, reached = _rank(n, confidence_ratio)
    if rank == 0:
        return MedianInterval(
            n=n, median=median(ordered), low=None, high=None, confidence_ratio=None
        )
    return MedianInterval(
        n=n,
        median=median(ordered),
        low=ordered[rank - 1],
        high=ordered[n - rank],
        confidence_ratio=reached,
    )


def values_needed(confidence_ratio: float) -> int:
    """Count how many values an interval of this confidence takes at least; 6 for 0.95.

    The widest interval, from the smallest to the largest of n values, has the confidence
    1 - 2 (1/2)**n; the signed-rank interval of n pairs has the same bound. `confidence_ratio`:
    above 0, below 1. Raises ValueError outside. Source: as for `median_interval`.
    """
    check_confidence(confidence_ratio)
    n = 1
    while 2 * 0.5**n > 1 - confidence_ratio:
        n += 1
    return n


def check_confidence(confidence_ratio: float) -> None:
    """Refuse a confidence that is none. Raises ValueError unless above 0 and below 1."""
    if not 0 < confidence_ratio < 1:
        msg = f"a confidence is above 0 and below 1, not {confidence_ratio}"
        raise ValueError(msg)


@lru_cache(maxsize=1024)
def _rank(n: int, confidence_ratio: float) -> tuple[int, float]:
    """Find the greatest rank k that keeps the confidence, 0 for none, and what it reaches."""
    check_confidence(confidence_ratio)
    # In whole numbers: 2**n overflows a float from n = 1024 on.
    total, below, rank, reached = 2**n, 0, 0, 0.0
    while True:
        below += math.comb(n, rank)
        outside = 2 * below / total
        if outside > 1 - confidence_ratio:
            return rank, reached
        rank, reached = rank + 1, 1 - outside
