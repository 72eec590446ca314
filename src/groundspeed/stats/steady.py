"""Where a series becomes steady: the end of its warm-up, found and not assumed.

A line up to some point and a level from there on are fitted for every point, and the point with the
least squares is taken (two-phase regression); whether there is anything to cut, and whether what is
left still drifts, is tested with allowance for neighbouring values that resemble each other. Dips
that recover within seconds, as at a checkpoint, are taken out before. Pure, deterministic.

MSER truncation (White, Simulation 69, 1997) was tried: by itself it cut a steady minute beyond its
first tenth in a quarter of simulations with a correlation of 0.7, and later than need be. Change
points of means (Barrett et al., Virtual machine warmup blows hot and cold, OOPSLA 2017) take
independent values, and a ramp is many of them; that a series may never become steady is from there.

Sources: Hinkley, Inference in two-phase regression, Journal of the American Statistical Association
66 (1971); Hampel, The influence curve and its role in robust estimation, same journal, 69 (1974).
"""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

from groundspeed.stats.autocorrelation import effective_count, lag_one, variance_inflation
from groundspeed.stats.student import student_quantile
from groundspeed.stats.trend import trend_within

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# With fewer values noise that resembles itself and drift cannot be told apart.
LEAST_COUNT = 30
# A value this many deviations from the median of its neighbours, five on each side, is an outlier.
_NEIGHBOUR_COUNT = 5
_OUTLIER_COUNT = 4.0
_DEVIATION_OF_MAD = 1.4826
# The standard error of a median over that of a mean, normal values: sqrt(pi / 2).
_MEDIAN_OVER_MEAN = 1.2533
# The chance that a cut is made for nothing. Small beyond the first tenth, because it costs more
# there, and because the cut that looks best has been chosen; smaller still below 120 values, where
# the noise is known less well. Set by simulation, see
# tests/statistical/test_steady_size_and_power.py.
_LATE_ERROR_RATIO = 0.0005
_ERROR_RATIO = 0.002
_FULL_COUNT = 120
_EARLY_ERROR_RATIO = 0.02
_EARLY_RATIO = 0.1
# Less is of no interest to anybody, however surely it is there.
_LEAST_DIFFERENCE_RATIO = 0.02
_LEAST_DRIFT_RATIO = 0.05
_DRIFT_CONFIDENCE_RATIO = 0.998
# By how many variances of a value a line that need not meet the level has to be better. A few would
# do for independent values; neighbours that resemble each other make any fit look better.
_STEP_MARGIN_COUNT = 15.0
# Of the residuals: the two levels; the slope is paid for by the errors above.
_PARAMETER_COUNT = 2
# What is left after a cut, for it to be a level at all.
_LEAST_REST_COUNT = 5
_LEAST_REST_RATIO = 0.1
# A line through two points leaves nothing.
_LEAST_LINE_COUNT = 3


def steady_from(values: Sequence[float]) -> int | None:
    """Find the index from which `values`, evenly spaced in time, are steady; None if never.

    `values`: finite numbers, 0 or more, any unit. Less than the first half is cut: a series that
    settles later has not shown that it settled. None too where what is left drifts by more than 5%
    of its level, and for fewer than 30 values. Raises ValueError for a value that is not finite.
    """
    if not all(map(math.isfinite, values)):
        raise ValueError("needs finite values")
    count = len(values)
    if count < LEAST_COUNT:
        return None
    smooth = _without_outliers(values)
    late = _best_cut(smooth, count - max(_LEAST_REST_COUNT, int(_LEAST_REST_RATIO * count)))
    if late >= count // 2 and _differs(smooth, late):
        return None
    cut = _best_cut(smooth, count // 2 - 1)
    if not _differs(smooth, cut):
        cut = 0
    return None if _drifts(values[cut:]) else cut


def _without_outliers(values: Sequence[float]) -> list[float]:
    """Put the median of its neighbours in the place of each outlier (Hampel's filter).

    Steps and ramps stay as they are; the deviation is that of the latter half.
    """
    half = values[len(values) // 2 :]
    middle = median(half)
    reach = _OUTLIER_COUNT * _DEVIATION_OF_MAD * median(abs(value - middle) for value in half)
    kept: list[float] = []
    for place, value in enumerate(values):
        # As many on either side, so that the ends of a ramp are not bent.
        wide = min(_NEIGHBOUR_COUNT, place, len(values) - 1 - place)
        near = median(values[place - wide : place + wide + 1])
        kept.append(value if abs(value - near) <= reach else near)
    return kept


def _best_cut(values: Sequence[float], most: int) -> int:
    """Give the cut, 0..`most`, where a line before it and a level after it fit best.

    A line that meets the level in the cut is preferred to one that need not: it finds the end of a
    ramp to a few values where the other one wavers. A step is where the other is clearly better.
    """
    fits = list(_fits(values, most))
    bent = min(range(len(fits)), key=lambda cut: fits[cut][0])
    broken = min(range(len(fits)), key=lambda cut: fits[cut][1])
    margin = 1 + _STEP_MARGIN_COUNT / len(values)
    return bent if fits[bent][0] <= margin * fits[broken][1] else broken


def _fits(values: Sequence[float], most: int) -> Iterator[tuple[float, float]]:
    """Give the squares that are left by each cut: of a line that meets the level, and of any."""
    count, level = len(values), fmean(values)
    off = [value - level for value in values]
    whole = sum(value * value for value in off)
    yield whole, whole
    total = sum(off)
    before = before_squares = before_products = 0.0
    for cut in range(1, most + 1):
        value = off[cut - 1]
        before += value
        before_squares += value * value
        before_products += (cut - 1) * value
        after, line = total - before, before_squares - before * before / cut
        if cut >= _LEAST_LINE_COUNT:
            products = before_products - (cut - 1) / 2 * before
            line -= products * products / (cut * (cut * cut - 1) / 12)
        # The bend rises from -cut to 0 and stays there; sums of it, its squares and products.
        bend = -cut * (cut + 1) / 2
        bend_squares = cut * (cut + 1) * (2 * cut + 1) / 6 - bend * bend / count
        bend_products = before_products - cut * before - bend * total / count
        yield (
            whole - bend_products * bend_products / bend_squares,
            line + whole - before_squares - after * after / (count - cut),
        )


def _differs(values: Sequence[float], cut: int) -> bool:
    """Test whether what comes before the cut is of another level than the rest."""
    if cut == 0:
        return False
    count = len(values)
    # Medians: a dip in it does not make a warm-up of what was steady all along.
    level = median(values[cut:])
    off = abs(median(values[:cut]) - level)
    if off <= _LEAST_DIFFERENCE_RATIO * abs(level):
        return False
    residuals = [*_around_line(values[:cut]), *_around_mean(values[cut:])]
    phi = lag_one(residuals, _PARAMETER_COUNT)
    variance = sum(value * value for value in residuals) / (count - _PARAMETER_COUNT)
    share = variance_inflation(cut, phi) / cut
    share += variance_inflation(count - cut, phi) / (count - cut)
    chance = _LATE_ERROR_RATIO if cut >= count // 2 else _ERROR_RATIO
    chance *= min(1.0, count / _FULL_COUNT)
    if cut <= _EARLY_RATIO * count:
        chance = _EARLY_ERROR_RATIO
    freedom = max(effective_count(count, phi) - _PARAMETER_COUNT, 1.0)
    reach = student_quantile(1 - chance / 2, round(freedom, 1))
    return off > reach * _MEDIAN_OVER_MEAN * math.sqrt(variance * share)


def _around_mean(values: Sequence[float]) -> list[float]:
    level = fmean(values)
    return [value - level for value in values]


def _around_line(values: Sequence[float]) -> list[float]:
    off = _around_mean(values)
    if len(off) < _LEAST_LINE_COUNT:
        return off
    middle = (len(off) - 1) / 2
    products = sum((place - middle) * value for place, value in enumerate(off))
    slope = products / (len(off) * (len(off) ** 2 - 1) / 12)
    return [value - slope * (place - middle) for place, value in enumerate(off)]


def _drifts(values: Sequence[float]) -> bool:
    level = median(values)
    trend = trend_within(values, _DRIFT_CONFIDENCE_RATIO)
    if abs(trend.slope) * len(values) < _LEAST_DRIFT_RATIO * level or level <= 0:
        return False
    return trend.low is not None and trend.high is not None and trend.low * trend.high > 0
