"""By what factor one of two paired quantities exceeds the other, with an interval.

Pairs are trials of one block: the mood of the machine is in both and leaves the ratio. Logarithms
make a factor of 2 and a factor of 1/2 equally far from 1. Pure: no input, no output, no wording.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations_with_replacement
from statistics import NormalDist, median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.median import check_confidence

if TYPE_CHECKING:
    from collections.abc import Sequence

# The exact distribution costs about n**3 / 2 additions; beyond this the normal approximation with
# its continuity correction gives the same ranks and a confidence within 0.0005 of the exact one.
EXACT_UP_TO = 60


class RatioInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A ratio with its interval. The last three are None where there are too few pairs."""

    n: int
    ratio: float
    low: float | None
    high: float | None
    confidence_ratio: float | None


def paired_ratio(
    pairs: Sequence[tuple[float, float]], confidence_ratio: float = 0.95
) -> RatioInterval:
    """Estimate the factor between the first and the second of each pair.

    `pairs`: one or more (numerator, denominator), finite and above 0, in one unit; the result is
    without unit. `confidence_ratio`: above 0, below 1. The estimate is the Hodges-Lehmann one, the
    median of the Walsh averages of the log ratios; the interval is the inversion of the Wilcoxon
    signed-rank test, exact up to 60 pairs. It assumes that pairs are independent and their log
    ratios symmetric about the true one, which holds where both halves vary alike. The confidence
    of the result is the one reached, at least the one asked. Raises ValueError for no pairs, for
    a value that is not finite and above 0 and for a confidence outside its range.

    Source: Hollander & Wolfe, Nonparametric Statistical Methods, 2nd edition, sections 3.1 to 3.3.
    """
    if not pairs or not all(math.isfinite(v) and v > 0 for pair in pairs for v in pair):
        msg = "needs one or more pairs of finite values above 0"
        raise ValueError(msg)
    # A difference of logarithms: the quotient itself may overflow.
    logs = [math.log(over) - math.log(under) for over, under in pairs]
    averages = sorted((a + b) / 2 for a, b in combinations_with_replacement(logs, 2))
    estimate = math.exp(median(averages))
    rank, reached = _rank(len(logs), confidence_ratio)
    if rank == 0:
        return RatioInterval(
            n=len(logs), ratio=estimate, low=None, high=None, confidence_ratio=None
        )
    return RatioInterval(
        n=len(logs),
        ratio=estimate,
        low=math.exp(averages[rank - 1]),
        high=math.exp(averages[-rank]),
        confidence_ratio=reached,
    )


@lru_cache(maxsize=128)
def signed_rank_counts(n: int) -> tuple[int, ...]:
    """Count the sign patterns of n pairs that give each value of the signed-rank statistic.

    Element w is the number of subsets of the ranks 1 to n with the sum w; n (n + 1) / 2 + 1
    elements, 2**n in total. `n`: 0 or more. Source: Hollander & Wolfe, section 3.1, comment 5.
    """
    counts = [1] + [0] * (n * (n + 1) // 2)
    for rank in range(1, n + 1):
        # Downwards, so that a rank is used once.
        for total in range(rank * (rank + 1) // 2, rank - 1, -1):
            counts[total] += counts[total - rank]
    return tuple(counts)


@lru_cache(maxsize=1024)
def _rank(n: int, confidence_ratio: float) -> tuple[int, float]:
    """Find the greatest rank of a Walsh average that keeps the confidence, and what it reaches."""
    check_confidence(confidence_ratio)
    if n > EXACT_UP_TO:
        return _normal_rank(n, confidence_ratio)
    below, rank, reached, total = 0, 0, 0.0, 2**n
    for count in signed_rank_counts(n):
        below += count
        outside = 2 * below / total
        if outside > 1 - confidence_ratio:
            break
        rank, reached = rank + 1, 1 - outside
    return rank, reached


def _normal_rank(n: int, confidence_ratio: float) -> tuple[int, float]:
    null = NormalDist(n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    # P(W <= rank - 1) is taken at rank - 1/2: the continuity correction.
    rank = max(math.floor(null.inv_cdf((1 - confidence_ratio) / 2) + 0.5), 0)
    return rank, 1 - 2 * null.cdf(rank - 0.5)
