from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from groundspeed.stats.autocorrelation import (
    MOST_LAG_ONE_RATIO,
    effective_count,
    lag_one,
    variance_inflation,
)
from tests.made_seconds import noise


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.7])
def test_the_correlation_of_neighbours_is_found_without_bias(phi: float) -> None:
    rng, found = Random(4), []
    for _ in range(300):
        values = noise(rng, 100, phi, heavy=False)
        middle = fmean(values)
        found.append(lag_one([value - middle for value in values]))

    # What is cut at 0 lifts the mean where there is none.
    assert fmean(found) == pytest.approx(phi, abs=0.05 if phi == 0 else 0.02)


@pytest.mark.parametrize("values", [[], [1.0], [0.0] * 50, [1.0, -1.0] * 25])
def test_what_cannot_be_told_or_is_negative_is_none(values: list[float]) -> None:
    assert lag_one(values) == 0


def test_it_stays_below_one() -> None:
    assert lag_one([float(value) for value in range(-50, 50)]) == MOST_LAG_ONE_RATIO


@pytest.mark.parametrize(("count", "phi"), [(2, 0.5), (10, 0.3), (60, 0.7)])
def test_inflation_is_the_sum_it_says(count: int, phi: float) -> None:
    summed = 1 + 2 * sum((1 - k / count) * phi**k for k in range(1, count))

    assert variance_inflation(count, phi) == pytest.approx(summed)
    assert effective_count(count, phi) == pytest.approx(count / summed)


def test_independent_values_are_worth_their_number() -> None:
    assert effective_count(60, 0.0) == 60
    assert effective_count(1, 0.9) == 1
