"""The benchmarks of the verdict: what they call wrong, and what their simulations are made of."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from scipy import stats

from bench.verdict import alike, coverage, kept, matrix_figures
from bench.verdict.noise import recorded
from bench.verdict.patience import design_of, draw, nine_of_ten
from bench.verdict.truth import Check, Place, Truth, check, tally, truths
from groundspeed.analyse import Answer
from groundspeed.stats.paired_ratio import paired_ratio

if TYPE_CHECKING:
    from pathlib import Path

PLACE = Place("simple-update", 8, 1, "b")


def truth(low: float, high: float) -> Truth:
    return Truth(ratio=math.sqrt(low * high), low=low, high=high, repeat_count=3)


# The truth


@pytest.mark.parametrize(
    ("answer", "low", "high", "said"),
    [
        (Answer.FASTER, 1.1, 1.3, Check.CONFIRMED),
        (Answer.FASTER, 0.9, 1.3, Check.OPEN),
        (Answer.FASTER, 0.7, 0.9, Check.CONTRADICTED),
        (Answer.SLOWER, 0.7, 0.9, Check.CONFIRMED),
        (Answer.SLOWER, 0.7, 1.1, Check.OPEN),
        (Answer.SLOWER, 1.1, 1.3, Check.CONTRADICTED),
        (Answer.EQUIVALENT, 0.98, 1.02, Check.CONFIRMED),
        (Answer.EQUIVALENT, 0.9, 1.02, Check.OPEN),
        (Answer.EQUIVALENT, 1.04, 1.08, Check.CONTRADICTED),
        (Answer.EQUIVALENT, 0.9, 0.95, Check.CONTRADICTED),
        # A small difference that is sure is no contradiction to "equivalent within 3%".
        (Answer.EQUIVALENT, 1.005, 1.02, Check.CONFIRMED),
    ],
)
def test_an_answer_is_contradicted_where_the_interval_leaves_it_no_room(
    answer: Answer, low: float, high: float, said: Check
) -> None:
    assert check(answer, truth(low, high), 0.03) is said


def test_a_truth_without_an_interval_tells_nothing() -> None:
    once = Truth(ratio=0.5, low=None, high=None, repeat_count=1)

    assert check(Answer.FASTER, once, 0.03) is Check.OPEN
    assert check(Answer.FASTER, None, 0.03) is Check.OPEN


def test_what_is_not_decided_cannot_be_held_against_anything() -> None:
    with pytest.raises(ValueError, match="not decided"):
        check(Answer.UNDECIDED, truth(0.5, 0.6), 0.03)


def test_the_tally_leaves_out_what_is_open_and_finds_what_is_wrong() -> None:
    places = [PLACE._replace(clients=n) for n in (1, 2, 3)]
    answers = dict(zip(places, (Answer.FASTER, Answer.UNDECIDED, Answer.SLOWER), strict=True))
    found = tally(answers, dict.fromkeys(places, truth(0.5, 0.6)), 0.03)

    assert found[Check.CONTRADICTED] == [places[0]]
    assert found[Check.CONFIRMED] == [places[2]]
    assert found[Check.OPEN] == []


SLICES = [(110.0, 100.0), (125.0, 100.0), (98.0, 100.0)]


def test_the_interval_is_that_of_students_t_with_the_scatter_of_the_slices() -> None:
    found = truths({PLACE: SLICES}, {PLACE: SLICES})[PLACE]

    logs = [math.log(a / b) for a, b in SLICES]
    low, high = stats.t.interval(0.95, 2, sum(logs) / 3, stats.sem(logs))
    assert found.low == pytest.approx(math.exp(low), rel=1e-3)
    assert found.high == pytest.approx(math.exp(high), rel=1e-3)


def test_one_long_pair_is_less_sure_than_three() -> None:
    once = truths({PLACE: [(120.0, 100.0)]}, {PLACE: SLICES})[PLACE]
    thrice = truths({PLACE: [(120.0, 100.0)] * 3}, {PLACE: SLICES})[PLACE]

    assert once.ratio == thrice.ratio == pytest.approx(1.2)
    assert None not in (once.low, thrice.low)
    assert (once.low or 0) < (thrice.low or 0) < 1.2


def test_without_slices_there_is_no_interval_and_without_long_pairs_no_truth() -> None:
    assert truths({PLACE: [(2.0, 1.0)]}, {})[PLACE].low is None
    assert truths({PLACE: []}, {PLACE: SLICES}) == {}


# Figures of the matrix


def early_of(answer: Answer, load_s: float = 100.0) -> dict[str, Any]:
    row = {**PLACE._asdict(), "answer": answer.value, "ratio": 1.2, "low": 1.1, "high": 1.3}
    slices = [(120.0, 100.0), (123.0, 100.0), (117.0, 100.0)]
    return {
        "load_s": load_s,
        "fixed_load_s": 1000.0,
        "wall_s": 200.0,
        "complete": True,
        "round_count": 13,
        "first_look_count": 13,
        "margin_ratio": 0.03,
        "family_count": 1,
        "slice_count": 78,
        "failed_slice_count": 0,
        "measure": {"slice": 1.0},
        "comparisons": [{**row, "why": "", "more_pairs_count": None, "pairs": slices}],
    }


def truth_of(*ratios: float) -> dict[str, Any]:
    cells = [
        {**PLACE._asdict(), "tps_per_s": [100 * ratio for ratio in ratios]},
        {**PLACE._replace(environment="a")._asdict(), "tps_per_s": [100.0] * len(ratios)},
    ]
    return {"duration_s": 10, "environments": ["a", "b"], "cells": cells}


def missed(early: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [f.name for f in matrix_figures.figures(early, found) if f.met is False]


def test_a_right_answer_in_a_tenth_of_the_load_misses_nothing() -> None:
    assert missed(early_of(Answer.FASTER), truth_of(1.2, 1.25, 1.18)) == []


def test_an_answer_that_the_truth_contradicts_is_a_miss() -> None:
    (name,) = missed(early_of(Answer.FASTER), truth_of(0.8, 0.82, 0.81))
    assert "contradicts" in name


def test_a_sixth_of_the_load_is_too_much() -> None:
    (name,) = missed(early_of(Answer.FASTER, load_s=167.0), truth_of(1.2, 1.25, 1.18))
    assert "load" in name


def test_an_undecided_comparison_has_to_say_why() -> None:
    (name,) = missed(early_of(Answer.UNDECIDED), truth_of(1.2, 1.25, 1.18))
    assert "say why" in name


def test_three_repeats_of_a_fixed_design_decide_nothing_and_nine_do() -> None:
    pairs = {PLACE: [(200.0 + n, 100.0) for n in range(9)]}
    (three,) = matrix_figures.fixed_decisions(pairs)

    assert three.answer is Answer.UNDECIDED
    assert three.pair_count == 3


def test_a_lost_trial_of_the_truth_loses_its_pair_alone() -> None:
    lost = truth_of(1.2, 1.3, 1.4)
    lost["cells"][1]["tps_per_s"][1] = None

    assert [a for a, _ in matrix_figures.truth_pairs(lost)[PLACE]] == [120.0, 140.0]


# A/A


def rows_with(wrong_count: int, gate_exit_code: int = 7) -> list[dict[str, Any]]:
    answers = [Answer.FASTER] * wrong_count + [Answer.UNDECIDED] * (60 - wrong_count)
    found = [
        {
            "workload": "tpcb-like",
            "clients": number,
            "answer": answer.value,
            "low": None,
            "high": None,
            "floor_ratio": 0.5,
            "pairs": [(1, 1)],
        }
        for number, answer in enumerate(answers)
    ]
    return [
        {"run": n, "comparisons": found[3 * n : 3 * n + 3], "gate_exit_code": gate_exit_code}
        for n in range(20)
    ]


def test_pairs_are_decided_again_with_and_without_the_floor() -> None:
    rows = rows_with(0)
    for row in rows[:2]:
        for number, comparison in enumerate(row["comparisons"]):
            comparison["pairs"] = [(140.0 + n / 10, 100.0 + number) for n in range(12)]
    floored, bare = (f for f in alike.figures(rows) if f.name.startswith("the same"))

    assert (floored.measured, floored.met) == ("0 of 60", True)
    assert (bare.measured, bare.met) == ("6 of 60", False)


@pytest.mark.parametrize(("wrong_count", "is_met"), [(0, True), (3, True), (4, False)])
def test_of_sixty_comparisons_three_may_be_wrong(wrong_count: int, *, is_met: bool) -> None:
    (all_,) = [f for f in alike.figures(rows_with(wrong_count)) if f.name.startswith("all")]

    assert all_.met is is_met
    assert all_.measured == f"{wrong_count} of 60"


def test_one_no_op_that_fails_the_gate_is_a_miss() -> None:
    rows = rows_with(0)
    rows[7]["gate_exit_code"] = 6

    assert [f.met for f in alike.figures(rows) if f.name.startswith("gate")] == [False]
    assert [f.met for f in alike.figures(rows_with(0)) if f.name.startswith("gate")] == [True]


# Files


def test_lines_outlive_one_that_was_torn(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    kept.append(path, {"run": 0})
    with path.open("a") as file:
        file.write('{"run": 1, "comp')

    assert kept.rows_of(path) == [{"run": 0}]
    # The next one begins where the whole lines end.
    kept.append(path, {"run": 1})
    assert kept.rows_of(path) == [{"run": 0}, {"run": 1}]
    assert kept.rows_of(tmp_path / "none") == []


def test_data_is_written_so_that_it_is_read_again(tmp_path: Path) -> None:
    data = {"a": 1, "rows": [{"x": [1, 2]}, {"x": []}], "none": [], "text": "é"}
    kept.write(tmp_path / "data.json", data)

    assert kept.read(tmp_path / "data.json") == data
    assert (tmp_path / "data.json").read_text().count("\n") > len(data)


# Simulations


def test_an_interval_that_is_too_narrow_is_a_miss() -> None:
    def narrow(rng: Random) -> coverage.Interval:
        return coverage.Interval(0.95, abs(rng.gauss(0, 1)) < 1.6)

    def honest(rng: Random) -> coverage.Interval:
        return coverage.Interval(0.95, abs(rng.gauss(0, 1)) < 1.96)

    def wide(rng: Random) -> coverage.Interval:
        return coverage.Interval(0.95, abs(rng.gauss(0, 1)) < 2.6)

    assert coverage.figure(coverage.Case("narrow", narrow), 4000).met is False
    assert coverage.figure(coverage.Case("honest", honest), 4000).met is True
    assert coverage.figure(coverage.Case("wide", wide), 4000).met is False
    assert coverage.figure(coverage.Case("wide", wide, wide=True), 4000).met is True


def test_every_kind_of_interval_is_simulated() -> None:
    for case in coverage.CASES:
        found = [case.simulate(Random(n)) for n in range(5)]
        assert any(i is not None for i in found), case.name


def test_a_simulated_run_has_the_rounds_and_twins_of_its_plan() -> None:
    design = design_of("simple-update", 1)
    rounds = design.rounds_in(1800)
    pairs, twins = draw(Random(1), design, 20, 2.0)

    assert 4 < design.round_s < 12
    assert rounds * design.round_s <= 1800 < (rounds + 2) * design.round_s
    assert len(pairs) == 20
    assert len(twins) == int(20 * design.twins)
    assert len(recorded("simple-update")(Random(1), 50)) == 50
    # The true ratio is on one side alone.
    assert paired_ratio(pairs).ratio > 1.5
    assert 0.5 < paired_ratio(twins).ratio < 1.5


def test_nine_of_ten_are_not_reached_where_two_of_ten_never_end() -> None:
    assert nine_of_ten([60.0] * 9 + [math.inf]) == "1 min"
    assert nine_of_ten([60.0] * 8 + [math.inf] * 2) == "never"
