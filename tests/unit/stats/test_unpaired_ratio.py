from __future__ import annotations

import math
from itertools import combinations
from random import Random

import pytest
from scipy import stats

from groundspeed.stats.unpaired_ratio import rank_sum_counts, unpaired_ratio, unpaired_tails


@pytest.mark.parametrize(("n", "m"), [(1, 1), (2, 3), (3, 3), (4, 2), (5, 4)])
def test_counts_are_those_of_all_orders(n: int, m: int) -> None:
    found = [0] * (n * m + 1)
    for places in combinations(range(n + m), n):
        won = sum(place > other for place in places for other in set(range(n + m)) - set(places))
        found[won] += 1
    assert rank_sum_counts(n, m) == tuple(found)
    assert sum(rank_sum_counts(n, m)) == math.comb(n + m, n)


def test_a_large_table_adds_up() -> None:
    assert sum(rank_sum_counts(25, 25)) == math.comb(50, 25)


@pytest.mark.parametrize(("n", "m"), [(3, 3), (4, 6), (6, 6), (12, 9), (25, 25), (30, 40)])
@pytest.mark.parametrize("bound", [1.0, 0.95])
def test_p_values_are_those_of_scipy(n: int, m: int, bound: float) -> None:
    rng = Random(f"{n} {m}")
    over = [math.exp(rng.gauss(0, 0.1)) for _ in range(n)]
    under = [math.exp(rng.gauss(0.05, 0.1)) for _ in range(m)]
    found = unpaired_tails(over, under, bound)
    method = "exact" if max(n, m) <= 25 else "asymptotic"
    scaled = [value * bound for value in under]
    less = stats.mannwhitneyu(over, scaled, alternative="less", method=method).pvalue
    greater = stats.mannwhitneyu(over, scaled, alternative="greater", method=method).pvalue
    assert found.below == pytest.approx(less, rel=1e-9)
    assert found.above == pytest.approx(greater, rel=1e-9)


def test_the_interval_ends_where_the_test_does() -> None:
    rng = Random(5)
    over, under = ([math.exp(rng.gauss(0, 0.2)) for _ in range(7)] for _ in range(2))
    found = unpaired_ratio(over, under)
    assert found.low is not None
    assert found.high is not None
    assert unpaired_tails(over, under, found.high * 1.0001).below <= 0.025
    assert unpaired_tails(over, under, found.high * 0.9999).below > 0.025
    assert unpaired_tails(over, under, found.low * 0.9999).above <= 0.025
    assert unpaired_tails(over, under, found.low * 1.0001).above > 0.025


def test_the_estimate_is_the_median_of_all_quotients() -> None:
    found = unpaired_ratio([2.0, 4.0, 8.0], [1.0, 2.0])
    assert found.ratio == pytest.approx(math.exp((math.log(2) + math.log(4)) / 2))
    assert (found.n, found.low, found.confidence_ratio) == (2, None, None)


@pytest.mark.parametrize(("n", "has_interval"), [(3, False), (4, True)])
def test_four_values_a_side_are_the_fewest(n: int, *, has_interval: bool) -> None:
    # 2 in 20 orders of three and three are as extreme: 0.1, and 2 in 70 of four and four.
    found = unpaired_ratio([float(i) for i in range(1, n + 1)], [float(i) for i in range(5, n + 5)])
    assert (found.low is not None) is has_interval


def test_a_side_turned_around_is_the_inverse() -> None:
    one, two = [3.0, 4.0, 5.0, 6.5], [1.0, 1.1, 1.3, 2.0, 2.2]
    there, back = unpaired_ratio(one, two), unpaired_ratio(two, one)
    assert there.ratio == pytest.approx(1 / back.ratio)
    assert back.high is not None
    assert there.low == pytest.approx(1 / back.high)


@pytest.mark.parametrize(
    ("over", "under"), [([], [1.0]), ([1.0], []), ([0.0], [1.0]), ([math.nan], [1.0])]
)
def test_what_has_no_ratio_is_refused(over: list[float], under: list[float]) -> None:
    with pytest.raises(ValueError, match="finite values above 0"):
        unpaired_ratio(over, under)
