"""What holds for the histogram of any latencies."""

from __future__ import annotations

import math
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from groundspeed.stats.histogram import (
    LARGEST_VALUE_US,
    Histogram,
    bucket_bounds_us,
    bucket_index,
    from_values,
    merge,
    quantile_us,
    relative_error_bound,
)

# Uniform over octaves: a uniform integer would nearly always be enormous.
LATENCIES_US = st.integers(0, 39).flatmap(lambda bits: st.integers(0, 2 ** (bits + 1) - 1))
MANY_US = st.lists(LATENCIES_US, max_size=200)
HISTOGRAMS = MANY_US.map(from_values)


@given(LATENCIES_US)
@example(0)
@example(LARGEST_VALUE_US)
def test_every_value_is_in_its_bucket_and_near_its_midpoint(value: int) -> None:
    lowest, highest = bucket_bounds_us(bucket_index(value))
    assert lowest <= value <= highest
    error = abs(Fraction(lowest + highest, 2) - value)
    assert error <= Fraction(relative_error_bound()) * value
    assert error * 100 <= value


@given(LATENCIES_US, LATENCIES_US)
def test_the_index_keeps_order(one: int, other: int) -> None:
    if one <= other:
        assert bucket_index(one) <= bucket_index(other)


@given(HISTOGRAMS, HISTOGRAMS, HISTOGRAMS)
def test_merging_is_associative_and_commutative(a: Histogram, b: Histogram, c: Histogram) -> None:
    assert merge(merge(a, b), c) == merge(a, merge(b, c)) == merge(c, a, b)


@given(MANY_US, MANY_US)
def test_merging_is_the_histogram_of_all_values(one: list[int], other: list[int]) -> None:
    merged = merge(from_values(one), from_values(other))
    assert merged == from_values(one + other)
    assert merged.count == len(one) + len(other)


@given(st.lists(LATENCIES_US, min_size=1, max_size=200), st.integers(0, 1000))
def test_a_quantile_is_within_the_bound_of_the_exact_one(values: list[int], mille: int) -> None:
    exact = sorted(values)[max(math.ceil(Fraction(mille, 1000) * len(values)) - 1, 0)]
    told = quantile_us(from_values(values), mille / 1000)
    assert abs(Fraction(told) - exact) <= Fraction(relative_error_bound()) * exact
