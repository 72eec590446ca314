from __future__ import annotations

import math
from random import Random

import pytest
from scipy.stats import kendalltau, theilslopes

from groundspeed.stats.trend import discordant_counts, trend_across, trend_within
from tests.made_seconds import noise


def test_the_slope_is_that_of_scipy() -> None:
    values = [at * 2 + off * 9 for at, off in enumerate(noise(Random(1), 40, 0.0))]

    assert trend_within(values).slope == pytest.approx(theilslopes(values).slope)
    assert trend_across(values).slope == pytest.approx(theilslopes(values).slope)


def test_outliers_make_no_trend() -> None:
    values = [100.0] * 50 + [1.0] * 5 + [100.0] * 5

    assert trend_within(values).slope == 0


def test_neighbours_that_are_alike_widen_the_interval() -> None:
    rng = Random(2)
    calm, alike = (trend_within(noise(rng, 100, phi)) for phi in (0.0, 0.7))
    assert None not in {calm.low, calm.high, alike.low, alike.high}
    assert alike.high - alike.low > 1.5 * (calm.high - calm.low)  # type: ignore[operator]


def test_long_series_are_averaged_and_keep_their_unit() -> None:
    found = trend_within([3.0 * at for at in range(1234)])

    assert (found.n, found.slope) == (1234, pytest.approx(3))
    assert (found.low, found.high) == (pytest.approx(3), pytest.approx(3))


@pytest.mark.parametrize(("count", "given"), [(4, False), (5, True)])
def test_five_repeats_are_needed(count: int, *, given: bool) -> None:
    found = trend_across([float(at * at) for at in range(count)])

    assert (found.low is not None) == (found.high is not None) == given


@pytest.mark.parametrize("count", [5, 8, 20])
def test_the_interval_is_the_inversion_of_kendalls_test(count: int) -> None:
    values = noise(Random(count), count, 0.0)
    found = trend_across(values)
    assert found.low is not None
    assert found.high is not None

    def chance(slope: float) -> float:
        left = [value - slope * at for at, value in enumerate(values)]
        return float(kendalltau(range(count), left, method="exact").pvalue)

    margin = 1e-9
    for bound, inwards in ((found.low, 1), (found.high, -1)):
        assert chance(bound + inwards * margin) > 0.05
        assert chance(bound - inwards * margin) <= 0.05


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_all_orders_are_counted(count: int) -> None:
    counts = discordant_counts(count)

    assert sum(counts) == math.factorial(count)
    assert counts == counts[::-1]
    assert len(counts) == count * (count - 1) // 2 + 1


def test_exact_and_normal_meet() -> None:
    rng = Random(5)
    few, more = (trend_across(noise(rng, count, 0.0)) for count in (60, 61))
    assert None not in {few.low, few.high, more.low, more.high}
    width = few.high - few.low  # type: ignore[operator]
    assert more.high - more.low == pytest.approx(width, rel=0.4)  # type: ignore[operator]


@pytest.mark.parametrize("values", [[], [1.0], [1.0, math.inf]])
def test_what_has_no_trend_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two or more"):
        trend_within(values)
    with pytest.raises(ValueError, match="two or more"):
        trend_across(values)


def test_two_values_have_a_slope_and_no_interval() -> None:
    found = trend_within([1.0, 3.0])

    assert (found.slope, found.low, found.high) == (2, None, None)
