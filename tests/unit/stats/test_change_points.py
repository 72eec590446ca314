from __future__ import annotations

import math
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING

import pytest
from scipy import stats

from groundspeed.stats.change_points import best_split, change_points

if TYPE_CHECKING:
    from collections.abc import Sequence


def energy(left: Sequence[float], right: Sequence[float]) -> float:
    """The statistic as it is written in the paper."""
    n, m = len(left), len(right)
    across = fmean(abs(a - b) for a in left for b in right)
    within = [
        sum(abs(a - b) for i, a in enumerate(side) for b in side[i + 1 :])
        / (len(side) * (len(side) - 1) / 2)
        for side in (left, right)
    ]
    return n * m / (n + m) * (2 * across - sum(within))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_split_is_that_of_the_paper(seed: int) -> None:
    rng = Random(seed)
    values = [rng.gauss(0 if i < 7 else 1.5, 1) for i in range(15)]
    every = {
        (place, end): energy(values[:place], values[place:end])
        for place in range(2, 14)
        for end in range(place + 2, 16)
    }
    assert best_split(values) == max(every, key=every.__getitem__)


def test_too_few_values_have_no_split() -> None:
    assert best_split([1.0, 2.0, 3.0]) is None
    assert change_points([1.0, 9.0, 9.0]) == ()
    assert change_points([]) == ()


def test_a_step_is_found_with_both_levels_and_an_interval() -> None:
    rng = Random(3)
    values = [rng.gauss(0 if i < 12 else -0.1, 0.02) for i in range(20)]
    (found,) = change_points(values)
    assert found.index == 12
    assert found.before == pytest.approx(fmean(values[:12]))
    assert found.after == pytest.approx(fmean(values[12:]))
    tested = stats.ttest_ind(values[12:], values[:12])
    span = tested.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((span.low, span.high), rel=1e-3)
    # 17 places with two values or more on each side, and as many ends from each place on.
    assert found.p_value == pytest.approx(17 * 18 / 2 * tested.pvalue, rel=1e-6)


def test_a_dip_and_its_end_are_two_changes() -> None:
    rng = Random(4)
    levels = [0.0] * 10 + [-0.2] * 5 + [0.0] * 10
    assert [p.index for p in change_points([rng.gauss(x, 0.02) for x in levels])] == [10, 15]


def test_a_single_outlier_is_no_change() -> None:
    rng = Random(5)
    values = [rng.gauss(0, 0.02) for _ in range(20)]
    values[9] = -0.5
    assert change_points(values) == ()


def test_a_series_without_scatter_changes_where_it_does() -> None:
    assert change_points([1.0] * 12) == ()
    (found,) = change_points([1.0] * 6 + [2.0] * 6)
    assert (found.index, found.before, found.after, found.p_value) == (6, 1.0, 2.0, 0.0)


def test_the_same_series_gives_the_same_answer() -> None:
    rng = Random(6)
    values = [math.log(rng.uniform(900, 1100)) for _ in range(40)]
    assert change_points(values) == change_points(list(values))
