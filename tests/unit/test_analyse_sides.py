from __future__ import annotations

import math

import msgspec
import pytest

from groundspeed.analyse import Answer
from groundspeed.analyse.sides import Place, Side, share_records, shared
from groundspeed.analyse.two_sides import compare_sides, values_a_side
from groundspeed.errors import UsageError
from tests.examples import example_run, make_run
from tests.sided import around, one_run, run_of, two_runs


def test_trials_of_one_run_are_paired_by_block() -> None:
    baseline, candidate = one_run({1: [1.1, 1.2], 8: [1.3, 1.4]})
    found = shared(baseline, candidate)
    assert [cell.place for cell in found.cells] == [
        Place("tpcb-like", 1, 1, 10),
        Place("tpcb-like", 8, 1, 10),
    ]
    pairs = found.cells[0].tps_per_s.pairs
    assert pairs is not None
    assert [a / b for a, b in pairs] == pytest.approx([1.1, 1.2])


def test_trials_of_two_runs_are_not() -> None:
    found = shared(*two_runs({1: [1000.0] * 3, 2: [5.0]}, {1: [900.0] * 4, 4: [7.0]}))
    (cell,) = found.cells
    assert cell.tps_per_s.pairs is None
    assert (len(cell.tps_per_s.baseline), len(cell.tps_per_s.candidate)) == (3, 4)
    assert [place.clients for place in found.only_baseline] == [2]
    assert [place.clients for place in found.only_candidate] == [4]


def test_a_trial_without_a_transaction_has_no_ratio() -> None:
    found = shared(*two_runs({1: [1000.0, 0.0]}, {1: [900.0, math.nan]}))
    samples = found.cells[0].tps_per_s
    assert (samples.baseline, samples.candidate) == ((1000.0,), (900.0,))


def test_sides_without_a_common_cell_are_refused() -> None:
    with pytest.raises(UsageError, match="old:a and new:a have no cell in common"):
        shared(*two_runs({1: [1.0]}, {2: [1.0]}))


def test_environments_of_one_run_get_the_answers_of_its_report() -> None:
    (found,) = compare_sides([one_run({1: [1.2, 1.21, 1.19, 1.22, 1.2, 1.18]})])
    (cell,) = found.cells
    assert (found.is_paired, cell.is_paired, cell.answer) == (True, True, Answer.FASTER)
    assert cell.tps.low is not None
    assert 1.18 <= cell.tps.low <= cell.tps.ratio <= 1.22


def test_other_environments_of_the_run_do_not_weigh_in() -> None:
    run = example_run()
    first, second = run.environments[:2]
    sides = (
        Side(name=first, run=run, environment=first),
        Side(name=second, run=run, environment=second),
    )
    (found,) = compare_sides([sides])
    assert len(found.cells) == 4
    assert all(run.environments[2] not in d.fact for d in found.differences)


def test_two_runs_say_that_another_time_is_in_the_ratio() -> None:
    before, after = around(1000.0, 8, seed=1), around(1200.0, 8, seed=2)
    (found,) = compare_sides([two_runs({1: before}, {1: after})])
    (cell,) = found.cells
    assert (found.is_paired, cell.answer) == (False, Answer.FASTER)
    assert cell.tps.ratio == pytest.approx(1.2, rel=0.02)
    assert cell.p_value == pytest.approx(2 / math.comb(16, 8))
    assert found.cautions[0].code == "other-time"
    assert "2026-01-01T03:00 and 2026-01-08T03:00" in found.cautions[0].message


def test_two_runs_that_are_alike_are_equivalent() -> None:
    before, after = (around(1000.0, 20, spread=0.003, seed=seed) for seed in (1, 2))
    (found,) = compare_sides([two_runs({1: before}, {1: after})])
    assert found.cells[0].answer is Answer.EQUIVALENT


def test_too_few_values_are_said_in_the_words_of_benchstat() -> None:
    (found,) = compare_sides([two_runs({1: [1000.0, 1001.0, 1002.0]}, {1: [2.0, 3.0, 4.0]})])
    assert found.cells[0].answer is Answer.UNDECIDED
    assert found.cells[0].why.startswith("need >= 4 samples to detect a difference at alpha level")


def test_of_many_cells_a_few_differences_are_not_certain() -> None:
    # Five and five values, all of one side above: p = 2 / 252, too much for twenty cells.
    low, high = [1000.0 + i for i in range(5)], [1100.0 + i for i in range(5)]
    many = dict.fromkeys(range(1, 21), low)
    (found,) = compare_sides([two_runs(many, {**many, 1: high})])
    answers = {cell.clients: cell for cell in found.cells}
    assert answers[1].answer is Answer.UNDECIDED
    assert "need >= " in answers[1].why


@pytest.mark.parametrize(("error", "needed"), [(0.05, 4), (0.1, 3), (0.01, 5), (0.001, 7)])
def test_values_that_a_level_takes(error: float, needed: int) -> None:
    assert values_a_side(error) == needed


def test_a_copy_is_told() -> None:
    run = run_of({1: [1000.0] * 6}, run_id="one")
    copy = msgspec.structs.replace(run, run_id="copy")
    sides = (
        Side(name="one:a", run=run, environment="a"),
        Side(name="copy:a", run=copy, environment="a"),
    )
    assert share_records(*sides)
    (found,) = compare_sides([sides])
    assert [c.code for c in found.cautions if c.code == "same-records"] == ["same-records"]
    assert found.cells[0].tps.ratio == 1.0


def test_what_differs_between_two_runs_is_listed() -> None:
    baseline, candidate = two_runs({1: [1000.0] * 6}, {1: [900.0] * 6})
    record = candidate.run.records[0]
    newer = msgspec.structs.replace(record.provenance, tool_version="pgbench (PostgreSQL) 18.0")
    records = tuple(msgspec.structs.replace(r, provenance=newer) for r in candidate.run.records)
    changed = make_run(records, run_id="new")
    (found,) = compare_sides([(baseline, msgspec.structs.replace(candidate, run=changed))])
    assert [d.fact for d in found.differences] == ["pgbench"]
