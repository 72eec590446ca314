"""By what factor the median of one group exceeds that of another that has nothing to do with it.

For devices that were measured on different days: there are no pairs. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.stats.median import check_confidence, median_interval
from groundspeed.stats.paired_ratio import RatioInterval

if TYPE_CHECKING:
    from collections.abc import Sequence


def median_quotient(
    over: Sequence[float], under: Sequence[float], confidence_ratio: float = 0.95
) -> RatioInterval:
    """Estimate the median of `over` divided by that of `under`; all values above 0.

    The interval runs from the lowest to the highest quotient of the two medians' own intervals,
    each with half the error left (Bonferroni), so its confidence is at least the one asked, for
    any two distributions. It takes 7 values of each for 95%. `n` is the smaller number of values.
    Raises ValueError for no values and for one that is not above 0.
    """
    check_confidence(confidence_ratio)
    if not all(value > 0 for value in (*over, *under)):
        raise ValueError("needs values above 0")
    each = 1 - (1 - confidence_ratio) / 2
    a, b = median_interval(over, each), median_interval(under, each)
    low = high = reached = None
    if a.low is not None and b.high is not None and a.high is not None and b.low is not None:
        low, high = a.low / b.high, a.high / b.low
        reached = (a.confidence_ratio or 0.0) + (b.confidence_ratio or 0.0) - 1
    return RatioInterval(
        n=min(a.n, b.n), ratio=a.median / b.median, low=low, high=high, confidence_ratio=reached
    )
