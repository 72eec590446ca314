"""Quantiles of Student's t distribution, for intervals over few values. Pure."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

# Beyond it the first two terms of the expansion around the normal quantile are as good.
_MOST_FREEDOM_COUNT = 500
_PANEL_COUNT = 64
_HALVING_COUNT = 60
_MIDDLE_RATIO = 0.5


@lru_cache(maxsize=4096)
def student_quantile(probability_ratio: float, freedom_count: float) -> float:
    """Give the value that Student's t stays below with this probability.

    `probability_ratio` above 0 and below 1; `freedom_count`, the degrees of freedom, 1 or more and
    not necessarily whole. Relative error below 0.0002 for probabilities up to 0.995.
    Raises ValueError outside of these ranges.

    With t = sqrt(n) tan(a) the density becomes a power of the cosine, whose integral from 0 to `a`
    is taken by Simpson's rule and solved for `a` by halving. Source of the substitution: Johnson,
    Kotz & Balakrishnan, Continuous Univariate Distributions, volume 2, chapter 28.
    """
    if not 0 < probability_ratio < 1 or not freedom_count >= 1:
        raise ValueError(f"no quantile {probability_ratio} at {freedom_count} degrees of freedom")
    if probability_ratio < _MIDDLE_RATIO:
        return -student_quantile(1 - probability_ratio, freedom_count)
    n = freedom_count
    if n > _MOST_FREEDOM_COUNT:
        z = NormalDist().inv_cdf(probability_ratio)
        return z + (z**3 + z) / (4 * n)
    scale = math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2)) / math.sqrt(math.pi)
    wanted = (probability_ratio - _MIDDLE_RATIO) / scale
    low, high = 0.0, math.pi / 2
    for _ in range(_HALVING_COUNT):
        middle = (low + high) / 2
        if _cosine_power_integral(middle, n - 1) < wanted:
            low = middle
        else:
            high = middle
    return math.sqrt(n) * math.tan(low)


def _cosine_power_integral(end: float, power: float) -> float:
    step = end / _PANEL_COUNT
    # The cosine of pi / 2 is a little below zero in floating point.
    values = [
        math.pow(max(math.cos(step * place), 0.0), power) for place in range(_PANEL_COUNT + 1)
    ]
    return step / 3 * (values[0] + 4 * sum(values[1:-1:2]) + 2 * sum(values[2:-1:2]) + values[-1])
