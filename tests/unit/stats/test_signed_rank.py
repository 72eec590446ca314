from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from groundspeed.stats.paired_ratio import EXACT_UP_TO, paired_ratio
from groundspeed.stats.signed_rank import log_ratios, signed_rank_tails

logs = st.lists(st.integers(-6, 6).map(lambda v: v / 4), min_size=1, max_size=12)


def draw(n: int, centre: float = 0.1, seed: int = 1) -> list[float]:
    rng = Random(seed)
    return [rng.gauss(centre, 0.2) for _ in range(n)]


@pytest.mark.parametrize("n", [1, 2, 6, 13, 50, EXACT_UP_TO])
@pytest.mark.parametrize("shift", [-0.2, 0.0, 0.1])
def test_both_tails_are_those_of_scipy(n: int, shift: float) -> None:
    values = draw(n)
    found = signed_rank_tails(values, shift)

    for alternative, tail in (("greater", found.above), ("less", found.below)):
        expected = stats.wilcoxon(
            [v - shift for v in values], alternative=alternative, method="exact"
        )
        assert tail == pytest.approx(float(expected.pvalue), rel=1e-9)


@pytest.mark.parametrize("n", [EXACT_UP_TO + 1, 90])
@pytest.mark.parametrize("centre", [0.06, 0.08, 0.1, 0.16])
def test_far_out_the_normal_tail_is_on_the_safe_side_of_the_exact_one(
    n: int, centre: float
) -> None:
    values = draw(n, centre=centre)
    exact = float(stats.wilcoxon(values, alternative="greater", method="exact").pvalue)
    found = signed_rank_tails(values).above

    assert exact < 0.01
    assert exact <= found
    assert exact < 1e-5 or found <= 2 * exact


@pytest.mark.parametrize("n", [6, 9, 20])
def test_a_tail_is_small_exactly_where_the_interval_lies_beyond(n: int) -> None:
    pairs = [(math.exp(value), 1.0) for value in draw(n)]
    found = paired_ratio(pairs)
    assert found.low is not None
    assert found.high is not None

    ratios = log_ratios(pairs)
    for factor, outside in ((1 - 1e-9, True), (1 + 1e-9, False)):
        below_low = signed_rank_tails(ratios, math.log(found.low * factor))
        above_high = signed_rank_tails(ratios, math.log(found.high / factor))
        assert (below_low.above <= 0.025) is outside
        assert (above_high.below <= 0.025) is outside


def test_unanimous_values_reach_the_smallest_tail() -> None:
    assert signed_rank_tails([0.1, 0.2, 0.3]).above == 0.125
    assert signed_rank_tails([0.1, 0.2, 0.3]).two_sided == 0.25
    assert signed_rank_tails([0.1, 0.2, 0.3]).below == 1.0


def test_no_values_say_nothing() -> None:
    found = signed_rank_tails([])

    assert (found.above, found.below, found.two_sided) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("values", [[0.0] * 8, [0.5, -0.5] * 4])
def test_ties_and_zeros_decide_nothing(values: list[float]) -> None:
    found = signed_rank_tails(values)

    assert found.above > 0.05
    assert found.below > 0.05


@given(logs)
def test_ties_are_never_on_the_side_of_a_claim(values: list[float]) -> None:
    rng = Random(1)
    broken = [value + rng.uniform(-1e-9, 1e-9) for value in values]

    assert signed_rank_tails(values).above >= signed_rank_tails(broken).above


@given(logs, st.integers(-8, 8), st.integers(0, 8))
def test_a_lower_bound_is_easier_to_be_above(values: list[float], at: int, up: int) -> None:
    low, high = signed_rank_tails(values, at / 4), signed_rank_tails(values, (at + up) / 4)

    assert low.above <= high.above
    assert low.below >= high.below


@given(logs, st.integers(-8, 8))
def test_mirrored_values_have_mirrored_tails(values: list[float], at: int) -> None:
    found = signed_rank_tails(values, at / 4)
    mirrored = signed_rank_tails([-value for value in values], -at / 4)

    assert (found.above, found.below) == (mirrored.below, mirrored.above)


@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, -1.0), (math.inf, 1.0), (1.0, math.nan)])
def test_what_has_no_ratio_is_refused(pair: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        log_ratios([(1.0, 1.0), pair])
