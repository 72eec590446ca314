"""By what factor one group of values exceeds another, where nothing pairs them: two runs.

Logarithms make a factor of 2 and a factor of 1/2 equally far from 1. Pure: no input, no output, no
wording.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist, median
from typing import TYPE_CHECKING

from groundspeed.stats.median import check_confidence
from groundspeed.stats.paired_ratio import RatioInterval
from groundspeed.stats.signed_rank import Tails

if TYPE_CHECKING:
    from collections.abc import Sequence

# The exact distribution costs n**2 m**2 / 2 additions of whole numbers; with more values on either
# side the normal approximation with its continuity correction gives the same ranks.
EXACT_UP_TO = 25


def unpaired_ratio(
    over: Sequence[float], under: Sequence[float], confidence_ratio: float = 0.95
) -> RatioInterval:
    """Estimate the factor by which `over` lies above `under`.

    One or more values on each side, finite and above 0, in one unit. The estimate is that of Hodges
    and Lehmann, the median of all quotients of a value of `over` by one of `under`; the interval is
    the inversion of the Mann-Whitney test, exact up to 25 values a side. It assumes that values
    are independent and that both sides have one shape on a log axis, shifted; it cannot tell that
    shift from anything else that was different between the two groups. `n` is the smaller number of
    values, the confidence of the result is the one reached; the interval is None where there are
    too few values (four a side give 95%). Raises ValueError for no values, for a value that is not
    finite and above 0 and for a confidence outside its range.

    Source: Hollander & Wolfe, Nonparametric Statistical Methods, 2nd edition, sections 4.2 and 4.3.
    """
    quotients = _log_quotients(over, under)
    n, m = len(over), len(under)
    rank, reached = _rank(n, m, confidence_ratio)
    estimate = math.exp(median(quotients))
    if rank == 0:
        return RatioInterval(
            n=min(n, m), ratio=estimate, low=None, high=None, confidence_ratio=None
        )
    return RatioInterval(
        n=min(n, m),
        ratio=estimate,
        low=math.exp(quotients[rank - 1]),
        high=math.exp(quotients[-rank]),
        confidence_ratio=reached,
    )


def unpaired_tails(
    over: Sequence[float], under: Sequence[float], bound_ratio: float = 1.0
) -> Tails:
    """Test whether the factor is above, or below, `bound_ratio`, by Mann and Whitney.

    `unpaired_ratio` has an end beyond the bound exactly where the p-value of that side is within
    half the error. A quotient that equals the bound counts as wrong for both sides. Raises
    ValueError as `unpaired_ratio` does.
    """
    bound = math.log(bound_ratio)
    quotients = _log_quotients(over, under)
    n, m = len(over), len(under)
    return Tails(
        above=_chance_of_at_most(n, m, sum(quotient <= bound for quotient in quotients)),
        below=_chance_of_at_most(n, m, sum(quotient >= bound for quotient in quotients)),
    )


def _chance_of_at_most(n: int, m: int, count: int) -> float:
    if max(n, m) > EXACT_UP_TO:
        return min(_normal(n, m).cdf(count + 0.5), 1.0)
    counts = rank_sum_counts(n, m)
    return sum(counts[: count + 1]) / sum(counts)


def _log_quotients(over: Sequence[float], under: Sequence[float]) -> list[float]:
    if not over or not under or not all(math.isfinite(v) and v > 0 for v in (*over, *under)):
        msg = "needs one or more finite values above 0 on each side"
        raise ValueError(msg)
    return sorted(math.log(a) - math.log(b) for a in over for b in under)


@lru_cache(maxsize=256)
def rank_sum_counts(n: int, m: int) -> tuple[int, ...]:
    """Count the orders of n and m values that give each value of the Mann-Whitney statistic.

    Element u is the number of ways in which u of the n m pairs are won by the first side; n m + 1
    elements, n + m choose n in total. Source: Hollander & Wolfe, section 4.1, comment 3; as a
    product of quotients (1 - q**(m + i)) / (1 - q**i), the Gaussian binomial coefficient.
    """
    counts = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        # Times 1 - q**(m + i), downwards; then through 1 - q**i, upwards.
        for total in range(n * m, m + i - 1, -1):
            counts[total] -= counts[total - m - i]
        for total in range(i, n * m + 1):
            counts[total] += counts[total - i]
    return tuple(counts)


@lru_cache(maxsize=1024)
def _rank(n: int, m: int, confidence_ratio: float) -> tuple[int, float]:
    """Find the greatest rank of a quotient that keeps the confidence, and what it reaches."""
    check_confidence(confidence_ratio)
    if max(n, m) > EXACT_UP_TO:
        null = _normal(n, m)
        rank = max(math.floor(null.inv_cdf((1 - confidence_ratio) / 2) + 0.5), 0)
        return rank, 1 - 2 * null.cdf(rank - 0.5)
    counts = rank_sum_counts(n, m)
    total, below, rank, reached = sum(counts), 0, 0, 0.0
    for count in counts:
        below += count
        outside = 2 * below / total
        if outside > 1 - confidence_ratio:
            break
        rank, reached = rank + 1, 1 - outside
    return rank, reached


def _normal(n: int, m: int) -> NormalDist:
    return NormalDist(n * m / 2, math.sqrt(n * m * (n + m + 1) / 12))
