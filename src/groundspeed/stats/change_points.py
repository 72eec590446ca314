"""Where a series changed its level for good: E-divisive segmentation with a t-test. Pure.

The divergence of Matteson and James says where a series is best split; Student's t-test, not
permutations, says whether, so that the same series always gives the same answer.

Sources: Matteson & James, A nonparametric approach for multiple change point analysis of
multivariate data, JASA 109 (2014), equations 5 to 8; Daly et al., The use of change point detection
to identify software performance regressions, ICPE 2020; the t-test and the two passes, weak points
first: Fleming et al., Hunter, ICPE 2023 (now Apache Otava).
"""

from __future__ import annotations

import math
from itertools import accumulate
from statistics import fmean, variance
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.student import student_quantile
from groundspeed.stats.student_tail import student_tail

if TYPE_CHECKING:
    from collections.abc import Sequence

# Of one value nobody can say whether it is an outlier or the first of a new level.
LEAST_SIDE_COUNT = 2
# The first pass takes what is ten times as doubtful: a true change can hide behind another one
# until both are split off.
_WEAK_FACTOR = 10.0


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A change of level before the value at `index`.

    `before` and `after` are the means of the segments on both sides; `low` to `high` is the
    interval of their difference, after less before, by Student's t. `p_value` is corrected for the
    number of ways in which the series could have been split.
    """

    index: int
    before: float
    after: float
    low: float
    high: float
    p_value: float


def change_points(
    values: Sequence[float], *, error_ratio: float = 0.05, confidence_ratio: float = 0.95
) -> tuple[ChangePoint, ...]:
    """Find where the level of `values`, in order of time, changed.

    A series without any change gives one or more points with a chance of at most `error_ratio`,
    where its values are independent and not too far from normal: logarithms of throughput are.
    The p-value of a split is multiplied by the number of places and ends it was chosen from
    (Bonferroni), because it was chosen for its difference; otava takes a small fixed limit instead.
    It takes `LEAST_SIDE_COUNT` values on each side. Time and room n**2 for n values.
    """
    ends = [0, *_split(values, 0, error_ratio * _WEAK_FACTOR, len(values)), len(values)]
    ends = _without_weak(values, ends, error_ratio)
    return tuple(
        _point(values, (start, place, end), confidence_ratio)
        for start, place, end in zip(ends, ends[1:], ends[2:], strict=False)
    )


def _split(values: Sequence[float], start: int, limit: float, total: int) -> list[int]:
    """List the places to split at, ascending; `start` is where `values` begin in the series."""
    found = best_split(values)
    if found is None:
        return []
    place, end = found
    if _p_value(values[:place], values[place:end], total) > limit:
        return []
    return [
        *_split(values[:place], start, limit, total),
        start + place,
        *_split(values[place:], start + place, limit, total),
    ]


def _without_weak(values: Sequence[float], ends: list[int], limit: float) -> list[int]:
    """Drop the weakest point until all hold; each is tested against its present neighbours."""
    while len(ends) > 2:  # noqa: PLR2004 - both ends of the series stay
        weights = [
            _p_value(values[a:b], values[b:c], len(values))
            for a, b, c in zip(ends, ends[1:], ends[2:], strict=False)
        ]
        worst = max(range(len(weights)), key=weights.__getitem__)
        if weights[worst] <= limit:
            break
        ends = [*ends[: worst + 1], *ends[worst + 2 :]]
    return ends


def best_split(values: Sequence[float]) -> tuple[int, int] | None:
    """Find where the series is best split, and where what comes after it ends; None for too few.

    The statistic of n and m values is n m / (n + m) times twice the mean distance between the sides
    less the mean distances within each (Matteson & James, equation 5, with the exponent 1). It is
    maximised over the place and over the end of the second side, which need not be that of the
    series: of a dip that ends again the first edge is else lost in the second (their equation 7).
    """
    count = len(values)
    # sums[i][k]: the distances of value i to the first k values.
    sums = [list(accumulate((abs(a - b) for b in values), initial=0.0)) for a in values]
    best, most = None, -math.inf
    for place in range(LEAST_SIDE_COUNT, count - LEAST_SIDE_COUNT + 1):
        left = sum(sums[i][i] for i in range(place)) / (place * (place - 1) / 2)
        across = right = 0.0
        for end in range(place + 1, count + 1):
            across += sums[end - 1][place]
            right += sums[end - 1][end - 1] - sums[end - 1][place]
            m = end - place
            if m >= LEAST_SIDE_COUNT:
                within = left + right / (m * (m - 1) / 2)
                statistic = place * m / end * (2 * across / (place * m) - within)
                if statistic > most:
                    best, most = (place, end), statistic
    return best


def _p_value(before: Sequence[float], after: Sequence[float], total: int) -> float:
    """Test both means for equality, corrected for all splits of a series of `total` values."""
    spread, freedom = _spread(before, after)
    difference = abs(fmean(after) - fmean(before))
    places = max(total - 2 * LEAST_SIDE_COUNT + 1, 1)
    ways = places * (places + 1) // 2
    if spread == 0:
        return 0.0 if difference > 0 else 1.0
    return min(1.0, 2 * student_tail(difference / spread, freedom) * ways)


def _spread(before: Sequence[float], after: Sequence[float]) -> tuple[float, int]:
    """Give the standard error of the difference of two means, and its degrees of freedom.

    Pooled, as otava has it: a segment of two values has no variance of its own to speak of.
    """
    n, m = len(before), len(after)
    squares = sum(variance(side) * (len(side) - 1) for side in (before, after) if len(side) > 1)
    freedom = n + m - 2
    return math.sqrt(squares / freedom * (1 / n + 1 / m)), freedom


def _point(
    values: Sequence[float], ends: tuple[int, int, int], confidence_ratio: float
) -> ChangePoint:
    start, index, end = ends
    before, after = values[start:index], values[index:end]
    spread, freedom = _spread(before, after)
    half = student_quantile((1 + confidence_ratio) / 2, freedom) * spread
    difference = fmean(after) - fmean(before)
    return ChangePoint(
        index=index,
        before=fmean(before),
        after=fmean(after),
        low=difference - half,
        high=difference + half,
        p_value=_p_value(before, after, len(values)),
    )
