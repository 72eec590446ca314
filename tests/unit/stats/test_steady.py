from __future__ import annotations

import math
from random import Random

import pytest

from groundspeed.stats.steady import LEAST_COUNT, steady_from
from tests.made_seconds import seconds


@pytest.mark.parametrize(
    ("shape", "cut"),
    [
        ([1.0] * 60, 0),
        ([0.3] * 12 + [1.0] * 48, 12),
        ([3.0] * 12 + [1.0] * 48, 12),
        ([0.2 + 0.8 * at / 20 for at in range(20)] + [1.0] * 60, 20),
        # A checkpoint after the begin is no warm-up, and hides none.
        ([1.0] * 15 + [0.4] * 5 + [1.0] * 60, 0),
        ([0.3] * 10 + [1.0] * 15 + [0.4] * 5 + [1.0] * 60, 10),
        # A single stall at the begin.
        ([0.0] + [1.0] * 59, 0),
    ],
)
def test_the_end_of_a_warm_up_is_found(shape: list[float], cut: int) -> None:
    found = steady_from(seconds(Random(1), shape, 0.3, cv_ratio=0.02))

    assert found == pytest.approx(cut, abs=2)


@pytest.mark.parametrize(
    "shape",
    [
        [0.5 + at / 120 for at in range(60)],
        [1.5 - at / 120 for at in range(60)],
        [0.3] * 45 + [1.0] * 15,
        [0.2 + min(0.8, at / 60) for at in range(60)],
    ],
)
def test_what_settles_late_or_not_at_all_is_never_steady(shape: list[float]) -> None:
    assert steady_from(seconds(Random(1), shape, 0.3, cv_ratio=0.02)) is None


def test_a_warm_up_without_any_noise() -> None:
    assert steady_from([10.0] * 12 + [100.0] * 48) == 12
    assert steady_from([100.0] * 60) == 0
    assert steady_from([0.0] * 60) == 0


def test_a_difference_that_matters_to_nobody_is_left() -> None:
    assert steady_from([99.0] * 12 + [100.0] * 48) == 0


def test_too_few_values_tell_nothing() -> None:
    assert steady_from([1.0] * (LEAST_COUNT - 1)) is None
    assert steady_from([]) is None


def test_it_is_the_same_every_time_and_in_every_unit() -> None:
    values = seconds(Random(3), [0.4] * 10 + [1.0] * 50, 0.5)

    assert steady_from(values) == steady_from(values) == steady_from([v * 1e-6 for v in values])


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        steady_from([1.0] * 40 + [math.nan])
