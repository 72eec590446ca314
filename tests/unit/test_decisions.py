from __future__ import annotations

import math
from random import Random

import pytest

from groundspeed.analyse.decisions import (
    CONTRADICTION,
    ComparisonKey,
    Decision,
    Rule,
    decide,
    decide_once,
    rule_for,
)
from groundspeed.analyse.findings import Answer

Pairs = list[tuple[float, float]]
RULE = rule_for(1, margin_ratio=0.03, most_pairs=40)


def key(clients: int = 1, workload: str = "tpcb-like") -> ComparisonKey:
    return ComparisonKey(
        workload=workload, clients=clients, threads=1, scale=10, baseline="a", environment="b"
    )


def pairs(ratios: list[float]) -> Pairs:
    return [(1000.0 * ratio, 1000.0) for ratio in ratios]


def noisy(count: int, ratio: float = 1.0, scatter: float = 0.02, seed: int = 1) -> Pairs:
    rng = Random(seed)
    return pairs([ratio * math.exp(rng.gauss(0, scatter)) for _ in range(count)])


def decide_one(values: Pairs, rule: Rule = RULE, floor: float | None = None) -> Decision:
    floors = None if floor is None else {"tpcb-like": floor}
    [decision] = decide({key(): values}, rule, floors)
    return decision


@pytest.mark.parametrize(
    ("ratio", "answer"),
    [(1.2, Answer.FASTER), (1 / 1.2, Answer.SLOWER), (1.0, Answer.EQUIVALENT)],
)
def test_unanimous_pairs_decide_at_the_first_look(ratio: float, answer: Answer) -> None:
    before = decide_one(noisy(6, ratio, 0.005))
    at = decide_one(noisy(7, ratio, 0.005))

    assert (before.answer, before.low) == (Answer.UNDECIDED, None)
    assert before.why == "6 pairs, 7 are needed for a first look"
    assert (at.answer, at.why, at.more_pairs_count) == (answer, "", None)
    assert at.low is not None
    assert at.high is not None
    assert at.low <= ratio <= at.high


def test_a_sure_difference_within_the_margin_is_equivalent() -> None:
    found = decide_one(noisy(20, 1.012, 0.003))

    assert found.p_value < 0.05
    assert found.answer is Answer.EQUIVALENT


def test_equivalent_is_not_said_of_what_may_lie_beyond_the_margin() -> None:
    found = decide_one(noisy(20, 1.025, 0.05, seed=5))

    assert found.answer is Answer.UNDECIDED
    assert found.high is not None
    assert found.high > 1.03


def test_more_comparisons_ask_for_more_of_each() -> None:
    values = noisy(7, 1.2)
    rule = rule_for(12, margin_ratio=0.03, most_pairs=40)

    assert decide_one(values).answer is Answer.FASTER
    found = decide_one(values, rule)
    assert (found.answer, found.why) == (
        Answer.UNDECIDED,
        "7 pairs, 10 are needed to decide one of 12 comparisons",
    )


def test_what_is_found_of_others_makes_the_next_step_easier() -> None:
    rule = Rule(family_count=2, looks=(7,), shares=(1.0,))
    # Two-sided 4/128 = 0.031, above 0.05 / 2 and below 0.1 / 3.
    close, clear = pairs([1.2] * 6 + [0.999]), pairs([1.2] * 7)
    [alone] = decide({key(1): close}, rule)
    among = decide({key(1): close, key(2): clear}, rule)

    assert alone.answer is Answer.UNDECIDED
    assert alone.why == "sure by itself, but not as one of 2 comparisons"
    assert among[0].answer is Answer.FASTER


def test_a_family_larger_than_the_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="family"):
        decide({key(1): noisy(8), key(2): noisy(8)}, RULE)


def test_no_pairs_are_no_ratio() -> None:
    found = decide_one([])

    assert math.isnan(found.ratio)
    assert (found.pair_count, found.low, found.p_value) == (0, None, 1.0)
    assert found.more_pairs_count is None


def test_a_decision_names_what_it_is_of() -> None:
    assert decide_one(noisy(8)).key == key()


# The noise floor


def test_no_verdict_within_the_noise_floor() -> None:
    values = noisy(20, 1.06, 0.01)

    assert decide_one(values, floor=0.01).answer is Answer.FASTER
    found = decide_one(values, floor=0.08)
    assert found.answer is Answer.UNDECIDED
    assert found.why == "the difference is below the noise floor of 8.0%"


def test_equivalent_takes_a_floor_below_the_margin() -> None:
    values = noisy(20, 1.0, 0.005)

    assert decide_one(values, floor=0.029).answer is Answer.EQUIVALENT
    found = decide_one(values, floor=0.04)
    assert (found.answer, found.why) == (
        Answer.UNDECIDED,
        "the noise floor of 4.0% is above the margin",
    )


def test_a_floor_is_that_of_its_workload() -> None:
    values = noisy(20, 1.06, 0.01)
    rule = rule_for(2, margin_ratio=0.03, most_pairs=40)
    found = decide({key(): values, key(workload="select-only"): values}, rule, {"tpcb-like": 0.1})

    assert [d.answer for d in found] == [Answer.UNDECIDED, Answer.FASTER]


# Looking again


def test_what_was_decided_stays_decided() -> None:
    values = noisy(10, 1.2) + noisy(30, 1.0, 0.1, seed=2)

    answers = [decide_one(values[:count]).answer for count in range(7, 41)]
    assert set(answers) == {Answer.FASTER}


def test_looks_that_contradict_each_other_decide_nothing() -> None:
    found = decide_one(noisy(7, 1.5, 0.001) + noisy(33, 0.5, 0.001))

    assert (found.answer, found.why) == (Answer.UNDECIDED, CONTRADICTION)


def test_pairs_between_looks_only_move_the_estimate() -> None:
    values = noisy(9, 1.0, 0.1)
    at, after = decide_one(values[:7]), decide_one(values)

    assert (after.low, after.high, after.p_value) == (at.low, at.high, at.p_value)
    assert (at.pair_count, after.pair_count) == (7, 9)
    assert at.ratio != after.ratio


# What it would take


def test_more_pairs_is_told_up_to_a_look() -> None:
    values = noisy(7, 1.05, 0.06, seed=3)
    found = decide_one(values)

    assert found.answer is Answer.UNDECIDED
    assert found.more_pairs_count is not None
    assert 7 + found.more_pairs_count in RULE.looks


def test_more_pairs_than_ten_times_those_there_are_is_not_told() -> None:
    assert decide_one(noisy(7, 1.015, 0.5, seed=1)).more_pairs_count is None


def test_what_is_foretold_is_enough_as_a_rule() -> None:
    rng, enough = Random(9), []
    for seed in range(200):
        ratio = rng.choice([1.0, 1.06, 1 / 1.06])
        values = noisy(200, ratio, 0.05, seed=seed)
        found = decide_one(values[:20])
        if found.more_pairs_count is not None:
            rule = rule_for(1, margin_ratio=0.03, most_pairs=20 + found.more_pairs_count)
            later = decide_one(values[: 20 + found.more_pairs_count], rule)
            enough.append(later.answer is not Answer.UNDECIDED)

    assert len(enough) > 50
    assert sum(enough) / len(enough) > 0.6


# Fixed designs


def test_a_fixed_design_has_one_look() -> None:
    [found] = decide_once({key(): noisy(6, 1.2)})

    assert (found.answer, found.p_value) == (Answer.FASTER, 2**-5)


def test_comparisons_that_could_never_be_decided_are_no_burden_to_the_others() -> None:
    found = decide_once({key(1): noisy(6, 1.2), key(2): noisy(5, 1.2), key(3): []})

    assert [d.answer for d in found] == [Answer.FASTER, Answer.UNDECIDED, Answer.UNDECIDED]
    assert found[1].why == "5 pairs, 6 are needed for a 95% interval"
    assert found[2].why == "0 pairs, 6 are needed for a 95% interval"


def test_pairs_that_are_enough_alone_may_be_too_few_in_a_family() -> None:
    found = decide_once({key(n): noisy(6, 1.2) for n in range(3)})

    assert {d.why for d in found} == {"6 pairs, 7 are needed to decide one of 3 comparisons"}


def test_what_a_fixed_design_lacks_is_told_to_the_pair() -> None:
    found = decide_once({key(n): noisy(6, 1.2) for n in range(3)})

    assert [d.more_pairs_count for d in found] == [1, 1, 1]
