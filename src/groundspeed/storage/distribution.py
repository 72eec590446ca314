"""The distribution of a latency, as the table that the shim draws from.

Pure mathematics: a latency becomes the inverse of its distribution function at equally likely
places. It draws nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundspeed.storage.profile import Latency

# As many as native/ reads. Each is the middle of an equally likely slice, so that the mean of the
# table is that of the distribution; its last one is the quantile 0.9995.
TABLE_LENGTH = 1024
_NORMAL = NormalDist()
_Z_OF_P99 = _NORMAL.inv_cdf(0.99)
_PLACES = tuple(_NORMAL.inv_cdf((i + 0.5) / TABLE_LENGTH) for i in range(TABLE_LENGTH))
# Beyond the outermost quantiles given the line goes on, but not for ever: two quantiles that lie
# close together say little of what comes after them.
_FURTHEST_FACTOR = 4.0


def sigma(median_s: float, p99_s: float) -> float:
    """Tell the standard deviation of log time of the log-normal with this median and p99.

    sigma = ln(p99 / median) / 2.326; 0 where both are 0. Raises ValueError where only one is 0.
    """
    if median_s == p99_s:
        return 0.0
    if median_s <= 0 or p99_s <= 0:
        msg = "a log-normal needs a median and a p99 above 0"
        raise ValueError(msg)
    return math.log(p99_s / median_s) / _Z_OF_P99


def median_of_mean_s(mean_s: float, p99_over_median_ratio: float) -> float:
    """Tell the median of a log-normal from its mean: mean / exp(sigma^2 / 2); seconds.

    This is how the means that vendors publish become the medians of the catalogue.
    """
    spread = sigma(1.0, p99_over_median_ratio)
    return mean_s / math.exp(spread**2 / 2)


@lru_cache(maxsize=64)
def table_s(latency: Latency) -> tuple[float, ...]:
    """List the quantiles (i + 0.5) / 1024 of a latency, ascending; seconds.

    Log-normal from median and p99. Given quantiles are joined by straight lines in log time over
    the normal score, so two of them at 0.5 and 0.99 say the same as a median and a p99.
    """
    if latency.quantiles:
        return _interpolated(latency.quantiles)
    spread = sigma(latency.median_s, latency.p99_s)
    return tuple(latency.median_s * math.exp(spread * place) for place in _PLACES)


def mean_s(latency: Latency) -> float:
    """Tell the mean of what is drawn for a latency; seconds."""
    return math.fsum(table_s(latency)) / TABLE_LENGTH


def quantile_s(quantiles: tuple[tuple[float, float], ...], ratio: float) -> float:
    """Read one quantile off given ones, in the way `table_s` does; seconds."""
    return _at(_NORMAL.inv_cdf(ratio), _scored(quantiles))


def _scored(quantiles: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Turn (ratio, seconds) into (normal score, log seconds)."""
    return [(_NORMAL.inv_cdf(ratio), math.log(value_s)) for ratio, value_s in quantiles]


def _interpolated(quantiles: tuple[tuple[float, float], ...]) -> tuple[float, ...]:
    if all(value_s == 0 for _, value_s in quantiles):
        return (0.0,) * TABLE_LENGTH
    points = _scored(quantiles)
    return tuple(_at(place, points) for place in _PLACES)


def _at(place: float, points: list[tuple[float, float]]) -> float:
    if len(points) == 1:
        return math.exp(points[0][1])
    upper = next((i for i, (score, _) in enumerate(points) if score >= place), len(points) - 1)
    (score, log_s), (next_score, next_log_s) = points[max(upper, 1) - 1 : max(upper, 1) + 1]
    value = log_s + (next_log_s - log_s) * (place - score) / (next_score - score)
    reach = math.log(_FURTHEST_FACTOR)
    return math.exp(min(max(value, points[0][1] - reach), points[-1][1] + reach))
