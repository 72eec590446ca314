from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from groundspeed.stats.paired_ratio import EXACT_UP_TO, paired_ratio, signed_rank_counts


def make_pairs(n: int, *, ratio: float = 1.3, seed: int = 1) -> list[tuple[float, float]]:
    rng = Random(seed)
    return [
        (1000 * ratio * math.exp(rng.gauss(0, 0.2)), 1000 * math.exp(rng.gauss(0, 0.2)))
        for _ in range(n)
    ]


def signed_rank_p(pairs: list[tuple[float, float]], ratio: float, *, method: str) -> float:
    logs = [math.log(a / b) - math.log(ratio) for a, b in pairs]
    correction = method == "asymptotic"
    return float(stats.wilcoxon(logs, method=method, correction=correction).pvalue)


@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_null_distribution_counts_every_sign_pattern(n: int) -> None:
    by_hand = [0] * (n * (n + 1) // 2 + 1)
    for signs in range(2**n):
        by_hand[sum(rank for rank in range(1, n + 1) if signs >> (rank - 1) & 1)] += 1

    assert list(signed_rank_counts(n)) == by_hand


@pytest.mark.parametrize("n", [6, 7, 10, 25, 50])
def test_interval_inverts_the_exact_test_of_scipy(n: int) -> None:
    pairs = make_pairs(n)
    found = paired_ratio(pairs)

    assert found.low is not None
    assert found.high is not None
    for inside in (found.low * (1 + 1e-9), found.high * (1 - 1e-9), found.ratio * (1 + 1e-9)):
        assert signed_rank_p(pairs, inside, method="exact") > 0.05
    for outside in (found.low * (1 - 1e-9), found.high * (1 + 1e-9)):
        assert signed_rank_p(pairs, outside, method="exact") <= 0.05


@pytest.mark.parametrize("n", [EXACT_UP_TO + 1, 150])
def test_large_interval_inverts_the_normal_approximation_of_scipy(n: int) -> None:
    pairs = make_pairs(n)
    found = paired_ratio(pairs)

    assert found.low is not None
    assert found.high is not None
    for inside in (found.low * (1 + 1e-9), found.high * (1 - 1e-9)):
        assert signed_rank_p(pairs, inside, method="asymptotic") > 0.05
    for outside in (found.low * (1 - 1e-9), found.high * (1 + 1e-9)):
        assert signed_rank_p(pairs, outside, method="asymptotic") <= 0.05


def test_approximation_takes_over_without_a_step() -> None:
    exact = paired_ratio(make_pairs(EXACT_UP_TO))
    approximate = paired_ratio(make_pairs(EXACT_UP_TO + 1))

    assert exact.confidence_ratio == pytest.approx(0.95, abs=0.001)
    assert approximate.confidence_ratio == pytest.approx(0.95, abs=0.001)


def test_published_example_of_hollander_and_wolfe() -> None:
    # Table 3.1, Hamilton depression scale of nine patients; the book gives the differences'
    # Hodges-Lehmann estimate -0.46 and the 96% interval from -0.786 to -0.010.
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    pairs = [(math.exp(a), math.exp(b)) for a, b in zip(after, before, strict=True)]

    found = paired_ratio(pairs, 0.96)

    assert found.low is not None
    assert found.high is not None
    assert found.confidence_ratio == pytest.approx(0.961, abs=0.0005)
    assert math.log(found.ratio) == pytest.approx(-0.46, abs=0.0005)
    assert math.log(found.low) == pytest.approx(-0.786, abs=0.0005)
    assert math.log(found.high) == pytest.approx(-0.010, abs=0.0005)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_no_interval_below_six_pairs(n: int) -> None:
    found = paired_ratio([(3.0, 2.0)] * n)

    assert found.n == n
    assert found.ratio == pytest.approx(1.5)
    assert found.low is None
    assert found.high is None
    assert found.confidence_ratio is None


def test_a_constant_factor_is_found_whatever_the_machine_did() -> None:
    found = paired_ratio([(2.0 * mood, 1.0 * mood) for mood in (1, 7, 100, 3, 0.5, 20)])

    assert (found.low, found.ratio, found.high) == pytest.approx((2.0, 2.0, 2.0))


def test_swapping_the_halves_inverts_the_ratio() -> None:
    pairs = make_pairs(9)
    found, swapped = paired_ratio(pairs), paired_ratio([(b, a) for a, b in pairs])

    assert found.low is not None
    assert found.high is not None
    assert swapped.ratio == pytest.approx(1 / found.ratio)
    assert (swapped.low, swapped.high) == pytest.approx((1 / found.high, 1 / found.low))


@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (math.nan, 1.0)])
def test_pairs_without_a_ratio_are_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        paired_ratio([(1.0, 1.0)] * 6 + [pair])


def test_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="one or more"):
        paired_ratio([])


def test_a_confidence_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="confidence"):
        paired_ratio([(1.0, 1.0)] * 6, 1.5)


positive = st.floats(1e-300, 1e300)


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=20))
def test_the_estimate_lies_in_its_interval(pairs: list[tuple[float, float]]) -> None:
    logs = [math.log(a) - math.log(b) for a, b in pairs]
    if max(map(abs, logs)) > 700:
        return
    found = paired_ratio(pairs)

    assert found.ratio > 0
    if found.low is not None and found.high is not None:
        assert found.low <= found.ratio <= found.high
