"""The layout of the buckets, at its seams, and quantiles of small histograms."""

from __future__ import annotations

import pytest

from groundspeed.stats.histogram import (
    BUCKET_COUNT,
    LARGEST_VALUE_US,
    Histogram,
    bucket_bounds_us,
    bucket_index,
    from_values,
    merge,
    of_counts,
    quantile_us,
    relative_error_bound,
)


@pytest.mark.parametrize(
    ("value_us", "index"),
    [
        *((0, 0), (1, 1), (127, 127), (128, 128), (255, 255), (256, 256), (257, 256), (258, 257)),
        *((511, 383), (512, 384), (1000, 506), (LARGEST_VALUE_US, BUCKET_COUNT - 1)),
        (LARGEST_VALUE_US + 1, BUCKET_COUNT - 1),
    ],
)
def test_index_at_the_seams(value_us: int, index: int) -> None:
    assert bucket_index(value_us) == index


def test_buckets_cover_every_value_once() -> None:
    lowest_expected = 0
    for index in range(BUCKET_COUNT):
        lowest, highest = bucket_bounds_us(index)
        assert lowest == lowest_expected
        assert bucket_index(lowest) == bucket_index(highest) == index
        lowest_expected = highest + 1
    assert lowest_expected == LARGEST_VALUE_US + 1


@pytest.mark.parametrize("index", [-1, BUCKET_COUNT])
def test_an_index_of_no_value_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match="is not in 0"):
        bucket_bounds_us(index)


def test_a_negative_latency_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        bucket_index(-1)


def test_quantiles_are_of_the_nearest_rank() -> None:
    histogram = from_values(range(1, 101))
    ranks = [quantile_us(histogram, q) for q in (0, 0.01, 0.011, 0.07, 0.5, 0.95, 0.99, 0.999, 1)]
    assert ranks == [1, 1, 2, 7, 50, 95, 99, 100, 100]


def test_a_quantile_is_the_midpoint_of_its_bucket() -> None:
    assert quantile_us(from_values([1000]), 0.5) == 1001.5


@pytest.mark.parametrize("q", [-0.1, 1.1, float("nan")])
def test_a_quantile_outside_0_to_1_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match=r"in 0\.\.1"):
        quantile_us(from_values([1]), q)


def test_an_empty_histogram_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="empty"):
        quantile_us(Histogram(), 0.5)


def test_merging_adds_counts() -> None:
    merged = merge(from_values([1, 1, 300]), from_values([1, 2]), Histogram())
    assert merged.buckets == ((1, 3), (2, 1), (278, 1))
    assert merged.count == 5
    assert merge() == Histogram()


def test_different_layouts_do_not_merge() -> None:
    with pytest.raises(ValueError, match="do not merge"):
        merge(from_values([1], 7), from_values([1], 8))


def test_the_error_bound_is_well_under_one_percent() -> None:
    assert relative_error_bound() == 1 / 256


def test_counted_latencies_are_those_of_as_many_values() -> None:
    counted = [(99.6, 3), (100.4, 2), (5_000.0, 1), (0.2, 4)]
    values = [100] * 5 + [5_000] + [0] * 4
    assert of_counts(counted) == from_values(values)
    assert of_counts([]) == from_values([])
