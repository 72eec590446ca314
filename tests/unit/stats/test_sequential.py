from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.stats.paired_ratio import paired_ratio
from groundspeed.stats.sequential import (
    Rule,
    always_valid_interval,
    always_valid_tails,
    least_pairs,
    one_look,
    pairs_to_tell,
    rule_for,
    scatter_of,
)
from groundspeed.stats.signed_rank import signed_rank_tails

RULE = Rule(family_count=1, looks=(4, 8, 12), shares=(0.5, 0.25, 0.25))


def draw(n: int, centre: float = 0.0, seed: int = 1) -> list[float]:
    rng = Random(seed)
    return [rng.gauss(centre, 0.1) for _ in range(n)]


@given(st.integers(1, 2000), st.integers(1, 500), st.floats(0.001, 0.2))
def test_a_rule_ends_where_asked_and_spends_what_it_may(
    family_count: int, most_pairs: int, error_ratio: float
) -> None:
    rule = rule_for(family_count, margin_ratio=0.03, error_ratio=error_ratio, most_pairs=most_pairs)

    assert rule.looks[-1] == most_pairs
    assert list(rule.looks) == sorted(set(rule.looks))
    assert len(rule.looks) == len(rule.shares)
    assert sum(rule.shares) == pytest.approx(1)


@pytest.mark.parametrize(("family_count", "first"), [(1, 7), (2, 8), (12, 10), (78, 13)])
def test_at_the_first_look_unanimous_pairs_decide_and_one_pair_less_would_not(
    family_count: int, first: int
) -> None:
    rule = rule_for(family_count, margin_ratio=0.03, most_pairs=100)

    assert rule.looks[0] == first
    assert 2 ** (1 - first) / rule.shares[0] <= 0.05 / family_count < 2 ** (2 - first) / 0.5


def test_too_few_pairs_for_two_looks_spend_everything_at_the_end() -> None:
    rule = rule_for(78, margin_ratio=0.03, most_pairs=12)

    assert (rule.looks, rule.shares) == ((12,), (1.0,))


def test_looks_are_told_apart_from_other_counts() -> None:
    assert RULE.is_look(8)
    assert not RULE.is_look(9)
    assert [RULE.next_look(n) for n in (0, 4, 7, 12)] == [4, 8, 8, None]


@pytest.mark.parametrize(
    ("family_count", "margin", "error", "most"),
    [(0, 0.03, 0.05, 9), (1, 0.0, 0.05, 9), (1, 0.03, 1.0, 9), (1, 0.03, 0.05, 0)],
)
def test_rules_without_sense_are_refused(
    family_count: int, margin: float, error: float, most: int
) -> None:
    with pytest.raises(ValueError, match="a rule takes"):
        rule_for(family_count, margin_ratio=margin, error_ratio=error, most_pairs=most)


@pytest.mark.parametrize(("error", "pairs"), [(0.05, 6), (0.03125, 6), (0.03, 7), (1.0, 1)])
def test_unanimous_pairs_reach_an_error_not_before(error: float, pairs: int) -> None:
    assert least_pairs(error) == pairs


def test_a_p_value_is_the_least_of_all_looks_over_its_share() -> None:
    logs = draw(12, centre=0.05)
    found = always_valid_tails(logs, RULE)
    single = [signed_rank_tails(logs[:n]).above / f for n, f in ((4, 0.5), (8, 0.25), (12, 0.25))]

    assert found.above == pytest.approx(min(1.0, *single))


def test_nothing_is_said_before_the_first_look() -> None:
    found = always_valid_tails([1.0] * 3, RULE)

    assert (found.above, found.below) == (1.0, 1.0)
    assert always_valid_interval([(2.0, 1.0)] * 3, RULE, 0.5) == (None, None)


@given(st.lists(st.floats(-1, 1), max_size=14))
def test_pairs_between_looks_wait_for_the_next_one(logs: list[float]) -> None:
    reached = max((look for look in RULE.looks if look <= len(logs)), default=0)

    assert always_valid_tails(logs, RULE) == always_valid_tails(logs[:reached], RULE)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=14))
def test_what_was_shown_once_stays_shown(logs: list[float]) -> None:
    before, after = always_valid_tails(logs[:-1], RULE), always_valid_tails(logs, RULE)

    assert after.above <= before.above
    assert after.below <= before.below


def test_an_interval_is_what_all_looks_have_in_common() -> None:
    pairs = [(math.exp(value), 1.0) for value in draw(12, centre=0.05)]
    found = [paired_ratio(pairs[:n], 1 - f * 0.5) for n, f in ((4, 0.5), (8, 0.25), (12, 0.25))]

    assert always_valid_interval(pairs, RULE, 0.5) == (
        max(f.low for f in found if f.low is not None),
        min(f.high for f in found if f.high is not None),
    )


@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.02, 0.2])
def test_interval_and_p_value_agree(shift: float) -> None:
    logs = draw(12, centre=0.05, seed=3)
    low, high = always_valid_interval([(math.exp(v), 1.0) for v in logs], RULE, 0.5)
    tails = always_valid_tails(logs, RULE, shift)
    assert low is not None
    assert high is not None

    assert (tails.above <= 0.25) == (math.log(low) > shift)
    assert (tails.below <= 0.25) == (math.log(high) < shift)


def test_one_look_is_a_test_of_all_pairs() -> None:
    logs = draw(9, centre=0.1)

    rule = one_look(9, 3, margin_ratio=0.03)
    assert always_valid_tails(logs, rule) == signed_rank_tails(logs)


# Foretelling


def test_scatter_of_normal_values_is_their_deviation_and_wild_ones_do_not_swell_it() -> None:
    values = draw(400)

    assert scatter_of(values) == pytest.approx(0.1, rel=0.1)
    assert scatter_of([*values, 50.0, -80.0]) == pytest.approx(0.1, rel=0.1)
    assert scatter_of([0.1, 0.2]) is None


def test_pairs_to_tell_is_a_look_still_to_come() -> None:
    rule = rule_for(1, margin_ratio=0.03, most_pairs=50)

    assert pairs_to_tell(1.0, 0.01, rule, 0.05) == rule.looks[0]
    assert pairs_to_tell(1.0, 0.01, rule, 0.05, seen_count=7) == rule.looks[1]
    far = pairs_to_tell(0.01, 0.05, rule, 0.05)
    assert far is not None
    assert far > 50


def test_half_the_distance_takes_about_four_times_the_pairs() -> None:
    rule = one_look(10, 1, margin_ratio=0.03)
    near, far = (pairs_to_tell(d, 0.1, rule, 0.05) for d in (0.04, 0.02))
    assert near is not None
    assert far is not None

    assert far / near == pytest.approx(4, rel=0.03)


def test_no_distance_and_no_hope_take_no_number() -> None:
    assert pairs_to_tell(0.0, 0.1, RULE, 0.05) is None
    assert pairs_to_tell(1e-6, 1.0, RULE, 0.05) is None


def test_what_is_foretold_comes_true_four_times_in_five() -> None:
    rng, rule = Random(4), one_look(10, 1, margin_ratio=0.03)
    count = pairs_to_tell(0.05, 0.1, rule, 0.05)
    assert count is not None

    found = [
        signed_rank_tails([rng.gauss(0.05, 0.1) for _ in range(count)]).above <= 0.025
        for _ in range(2000)
    ]
    assert 0.75 <= sum(found) / len(found) <= 0.85
