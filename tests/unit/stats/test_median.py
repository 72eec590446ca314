from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from groundspeed.stats.median import median_interval, values_needed


@pytest.mark.parametrize("n", [6, 7, 8, 10, 15, 25, 60, 400])
@pytest.mark.parametrize("confidence_ratio", [0.9, 0.95, 0.99])
def test_interval_agrees_with_the_binomial_of_scipy(n: int, confidence_ratio: float) -> None:
    found = median_interval(range(1, n + 1), confidence_ratio)

    rank = int(stats.binom.ppf((1 - confidence_ratio) / 2, n, 0.5))
    if rank == 0:
        assert found.low is None
        return
    assert (found.low, found.high) == (rank, n + 1 - rank)
    assert found.confidence_ratio == pytest.approx(1 - 2 * stats.binom.cdf(rank - 1, n, 0.5))


@pytest.mark.parametrize("n", [6, 9, 25])
def test_interval_is_where_the_sign_test_of_scipy_rejects_nothing(n: int) -> None:
    values = [1.1**i for i in range(n)]
    found = median_interval(values)

    def kept(median: float) -> bool:
        # scipy's quantile test counts on either side, as the inversion of the interval needs.
        return bool(stats.quantile_test(values, q=median, p=0.5).pvalue > 0.05)

    assert found.low is not None
    assert found.high is not None
    assert kept(math.nextafter(found.low, math.inf))
    assert kept(math.nextafter(found.high, 0))
    assert not kept(found.low / 1.001)
    assert not kept(found.high * 1.001)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_no_interval_below_six_values(n: int) -> None:
    found = median_interval([4.0] * n)

    assert (found.n, found.median) == (n, 4.0)
    assert found.low is None
    assert found.high is None
    assert found.confidence_ratio is None


def test_six_values_reach_more_than_was_asked() -> None:
    found = median_interval([3.0, 1.0, 2.0, 6.0, 5.0, 4.0])

    assert (found.median, found.low, found.high) == (3.5, 1.0, 6.0)
    assert found.confidence_ratio == float(Fraction(31, 32))


def test_values_needed() -> None:
    assert [values_needed(c) for c in (0.5, 0.9, 0.95, 0.99)] == [2, 5, 6, 8]


def test_many_values_do_not_overflow() -> None:
    found = median_interval(range(3001))

    assert found.confidence_ratio == pytest.approx(0.95, abs=0.003)


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf, 1.0]])
def test_values_that_are_none_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        median_interval(values)


@pytest.mark.parametrize("confidence_ratio", [0.0, 1.0, 95.0])
def test_a_confidence_outside_its_range_is_refused(confidence_ratio: float) -> None:
    with pytest.raises(ValueError, match="confidence"):
        median_interval([1.0] * 6, confidence_ratio)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=40))
def test_the_median_lies_in_its_interval_and_the_interval_in_the_range(values: list[float]) -> None:
    found = median_interval(values)

    assert min(values) <= found.median <= max(values)
    if found.low is not None and found.high is not None and found.confidence_ratio is not None:
        assert min(values) <= found.low <= found.median <= found.high <= max(values)
        assert found.confidence_ratio >= 0.95
