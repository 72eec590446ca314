"""How much neighbouring values of a series resemble each other, and how many values it is worth.

A second of a trial resembles the one before it: what looks like drift may be that alone. One lag is
enough here (a first-order autoregression, AR(1)); a spectrum needs longer series than a trial has.
Pure, deterministic.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Beyond it a trial is worth hardly a value, and the estimate is all noise.
MOST_LAG_ONE_RATIO = 0.95
_LEAST_COUNT = 5


def lag_one(residuals: Sequence[float], parameter_count: int = 1) -> float:
    """Estimate the correlation of each value with the next one, in 0..0.95.

    `residuals`: values less what was fitted to them, evenly spaced in time; `parameter_count` is 1
    after a mean was taken off and 2 after a straight line. Fitting makes the plain estimate too
    small by about (1 + 3 r) / n and (2 + 4 r) / n, which is put back. Negative correlation counts
    as none: it would only make intervals narrower. 0 for fewer than five values or no spread.

    Source: Kendall, Note on bias in the estimation of autocorrelation, Biometrika 41 (1954).
    """
    n = len(residuals)
    squares = sum(value * value for value in residuals)
    if n < _LEAST_COUNT + parameter_count or squares <= 0:
        return 0.0
    products = sum(a * b for a, b in pairwise(residuals))
    corrected = (n * products / squares + parameter_count) / (n - 2 - parameter_count)
    return min(max(corrected, 0.0), MOST_LAG_ONE_RATIO)


def variance_inflation(count: int, lag_one_ratio: float) -> float:
    """Give the factor by which AR(1) raises the variance of a mean of `count` values; 1 or more.

    1 + 2 sum over k < n of (1 - k / n) r^k. `lag_one_ratio` in 0..1, without 1.
    Source: Bayley & Hammersley, The effective number of independent observations in an
    autocorrelated time series, Journal of the Royal Statistical Society 8 (1946).
    """
    r = lag_one_ratio
    if count <= 1 or r <= 0:
        return 1.0
    # The sum in closed form.
    return (1 + r) / (1 - r) - 2 * r * (1 - r**count) / (count * (1 - r) ** 2)


def effective_count(count: int, lag_one_ratio: float) -> float:
    """Say how many independent values `count` values are worth when their mean is asked for."""
    return count / variance_inflation(count, lag_one_ratio)
