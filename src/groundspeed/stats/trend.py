"""How steeply a series rises or falls, with an interval: within a trial, and over repeats.

Theil-Sen slopes, because a checkpoint is an outlier and not a trend; within a trial the interval
allows for neighbouring seconds that resemble each other. Pure, deterministic.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist, fmean, median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.autocorrelation import lag_one
from groundspeed.stats.median import check_confidence
from groundspeed.stats.student import student_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

# All pairs are looked at: longer series are averaged in equal windows first.
MOST_VALUES_COUNT = 100
# Up to here the distribution of Kendall's statistic is counted, not approximated.
EXACT_UP_TO = 60
_LEAST_COUNT = 2


class Trend(msgspec.Struct, frozen=True, kw_only=True):
    """A slope for each step from one value to the next, in the unit of the values.

    `low` and `high` are None where there are too few values for the confidence asked.
    """

    n: int
    slope: float
    low: float | None
    high: float | None


def trend_within(values: Sequence[float], confidence_ratio: float = 0.95) -> Trend:
    """Estimate the slope of a series, evenly spaced in time, whose neighbours may be alike.

    `values`: two or more finite numbers. The estimate is the median of the slopes of all pairs
    (Sen); series of more than 100 values are averaged in equal windows first. The interval is the
    inversion of Kendall's test with the variance of its statistic raised for AR(1), by the
    correlation that is left around the line, and with Student's t for as many values as the series
    is worth. Raises ValueError for fewer than two values, one that is not finite, and a confidence
    outside its range.

    Sources: Sen, Estimates of the regression coefficient based on Kendall's tau, Journal of the
    American Statistical Association 63 (1968); Hamed & Rao, A modified Mann-Kendall trend test for
    autocorrelated data, Journal of Hydrology 204 (1998).
    """
    check_confidence(confidence_ratio)
    _check(values)
    width = math.ceil(len(values) / MOST_VALUES_COUNT)
    means = _window_means(values, width)
    n, slopes = len(means), _slopes(means)
    slope = median(slopes)
    middle = (n - 1) / 2
    residuals = [value - slope * (place - middle) for place, value in enumerate(means)]
    level = median(residuals)
    phi = lag_one([value - level for value in residuals], parameter_count=2)
    inflation = _kendall_inflation(n, phi)
    freedom = max(n / inflation - 2, 1.0)
    spread = math.sqrt(n * (n - 1) * (2 * n + 5) / 18 * inflation)
    reach = student_quantile((1 + confidence_ratio) / 2, round(freedom, 1)) * spread
    low, high = _between(slopes, reach)
    return Trend(
        n=len(values),
        slope=slope / width,
        low=None if low is None else low / width,
        high=None if high is None else high / width,
    )


def trend_across(values: Sequence[float], confidence_ratio: float = 0.95) -> Trend:
    """Estimate the slope over values that are independent of each other: repeats of a cell.

    `values`: two or more finite numbers in the order they were measured, taken to be evenly spaced.
    The estimate is as in `trend_within`; the interval is the inversion of Kendall's test, exact up
    to 60 values without ties and normal beyond, so its confidence is at least the one asked. It
    takes 5 values for 95%. Raises as `trend_within`.

    Source: Hollander & Wolfe, Nonparametric Statistical Methods, 2nd edition, sections 9.2, 9.3.
    """
    check_confidence(confidence_ratio)
    _check(values)
    slopes = _slopes(values)
    # One less than the upper quantile, so that the ranks are those of Hollander and Wolfe.
    low, high = _between(slopes, _critical(len(values), confidence_ratio) - 2)
    return Trend(n=len(values), slope=median(slopes), low=low, high=high)


def _check(values: Sequence[float]) -> None:
    if len(values) < _LEAST_COUNT or not all(map(math.isfinite, values)):
        raise ValueError("a trend takes two or more values, all of them finite")


def _window_means(values: Sequence[float], width: int) -> Sequence[float]:
    """Average in windows of `width`; what is over is left out at the begin."""
    over = len(values) % width
    return [fmean(values[at : at + width]) for at in range(over, len(values), width)]


def _slopes(values: Sequence[float]) -> list[float]:
    pairs = combinations(enumerate(values), 2)
    return sorted((late - early) / (after - before) for (before, early), (after, late) in pairs)


def _between(slopes: Sequence[float], reach: float) -> tuple[float | None, float | None]:
    """Give the slopes that are `reach` / 2 ranks from the middle on either side, if there are."""
    below = math.floor((len(slopes) - reach) / 2)
    if below < 1:
        return None, None
    return slopes[below - 1], slopes[-below]


def _kendall_inflation(n: int, phi: float) -> float:
    """Give the factor by which AR(1) raises the variance of Kendall's statistic (Hamed & Rao)."""
    if n <= _LEAST_COUNT or phi <= 0:
        return 1.0
    terms = ((n - k) * (n - k - 1) * (n - k - 2) * phi**k for k in range(1, n - 2))
    return 1 + 2 / (n * (n - 1) * (n - 2)) * sum(terms)


@lru_cache(maxsize=1024)
def _critical(n: int, confidence_ratio: float) -> float:
    """Find the least value that Kendall's statistic reaches with at most half the error left."""
    error = (1 - confidence_ratio) / 2
    if n > EXACT_UP_TO:
        deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
        return NormalDist().inv_cdf(1 - error) * deviation + 2
    counts = discordant_counts(n)
    total, above = math.factorial(n), 0
    for discordant, count in enumerate(counts):
        above += count
        if above > error * total:
            return len(counts) - 1 - 2 * discordant + 2
    return 0.0


@lru_cache(maxsize=128)
def discordant_counts(n: int) -> tuple[int, ...]:
    """Count the orders of n values that have 0, 1, 2 ... pairs out of order; n! in all.

    `n`: 1 or more. Kendall's statistic is n (n - 1) / 2 less twice that number of pairs.
    Source: Kendall & Gibbons, Rank Correlation Methods, 5th edition, section 5.2.
    """
    counts = [1]
    for size in range(2, n + 1):
        longer = [0] * (len(counts) + size - 1)
        for pairs, count in enumerate(counts):
            for more in range(size):
                longer[pairs + more] += count
        counts = longer
    return tuple(counts)
