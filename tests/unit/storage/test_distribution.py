from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.storage.distribution import (
    TABLE_LENGTH,
    mean_s,
    median_of_mean_s,
    quantile_s,
    sigma,
    table_s,
)
from groundspeed.storage.profile import NO_TIME, Latency


def by_quantiles(*points: tuple[float, float]) -> Latency:
    return Latency(median_s=1.0, p99_s=1.0, quantiles=points)


def test_no_time_is_a_table_of_zeros() -> None:
    assert table_s(NO_TIME) == (0.0,) * TABLE_LENGTH
    assert mean_s(NO_TIME) == 0


def test_a_latency_that_never_varies_is_the_same_everywhere() -> None:
    assert set(table_s(Latency(median_s=0.001, p99_s=0.001))) == {0.001}


def test_median_and_p99_stand_where_they_belong() -> None:
    table = table_s(Latency(median_s=0.001, p99_s=0.004))
    middle = (table[511] + table[512]) / 2
    assert middle == pytest.approx(0.001, rel=1e-3)
    # Place 1013.26 is the quantile 0.99.
    assert table[1013] < 0.004 < table[1014]


def test_two_quantiles_say_the_same_as_a_median_and_a_p99() -> None:
    given_both = table_s(Latency(median_s=0.001, p99_s=0.002))
    quantiles = table_s(by_quantiles((0.5, 0.001), (0.99, 0.002)))
    assert quantiles == pytest.approx(given_both, rel=1e-9)


def test_quantiles_are_kept_and_those_between_lie_between() -> None:
    points = ((0.1, 1e-4), (0.5, 2e-4), (0.9, 1e-2), (0.99, 1e-2))
    for ratio, value_s in points:
        assert quantile_s(points, ratio) == pytest.approx(value_s)
    assert 2e-4 < quantile_s(points, 0.7) < 1e-2
    assert quantile_s(points, 0.95) == pytest.approx(1e-2)


def test_beyond_the_outermost_quantiles_the_line_goes_on_but_not_for_ever() -> None:
    table = table_s(by_quantiles((0.01, 9e-4), (0.5, 1e-3), (0.997, 1e-3), (0.998, 1e-1)))
    assert 8e-4 < table[0] < 9e-4
    assert table[-1] == pytest.approx(4e-1)


def test_one_of_two_being_zero_is_no_log_normal() -> None:
    with pytest.raises(ValueError, match="above 0"):
        sigma(0.0, 1.0)


@given(mean=st.floats(min_value=1e-6, max_value=1.0), ratio=st.floats(min_value=1.0, max_value=6.0))
def test_the_median_derived_from_a_mean_has_that_mean(mean: float, ratio: float) -> None:
    median = median_of_mean_s(mean, ratio)
    assert mean_s(Latency(median_s=median, p99_s=ratio * median)) == pytest.approx(mean, rel=0.01)


@given(
    st.lists(
        st.tuples(
            st.integers(min_value=1, max_value=999), st.floats(min_value=1e-7, max_value=100.0)
        ),
        min_size=2,
        max_size=20,
        unique_by=lambda point: point[0],
    )
)
def test_tables_ascend_and_are_finite(drawn: list[tuple[int, float]]) -> None:
    ratios = sorted(per_mille / 1000 for per_mille, _ in drawn)
    values = sorted(value for _, value in drawn)
    table = table_s(by_quantiles(*zip(ratios, values, strict=True)))
    assert len(table) == TABLE_LENGTH
    assert all(low <= high * (1 + 1e-12) for low, high in pairwise(table))
    assert all(0 < value < math.inf for value in table)
