"""Which trials are still wanted, as far as records decide it: pure, and the same after a resume."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import deciding, spec, store
from groundspeed import plan as plans
from groundspeed.record import Failed, Skipped
from tests import examples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Record

SUITE = """\
suite: s
environments:
  base: {target: embedded, storage: {directory: /a}}
  same: {target: embedded, storage: {directory: /b}}
  noisy: {target: embedded, storage: {directory: /c}}
workloads: [select-only, tpcb-like]
clients: [1, 4]
scale: 1
measure: {until: decided, at_most: 20m}
"""


def make(*overrides: str) -> Plan:
    suite = spec.load_suite(SUITE, source="s", overrides=overrides)
    return plans.make_plan(suite, source="s", rng=Random(1), groundspeed_version="0", scripts={})


def sequential(plan: Plan) -> plans.Sequential:
    assert plan.sequential is not None
    return plan.sequential


def speeds(trial: Trial) -> float:
    """The noisy one is now faster and now slower, never twice by as much."""
    if trial.cell.environment != "noisy":
        return 1000.0
    octaves = 0.5 + (trial.repeat_index // 2 * 0.618) % 1.0
    return 1000.0 * 2.0 ** (octaves if trial.repeat_index % 2 else -octaves)


def record_of(trial: Trial, tps_per_s: float, *, elapsed_s: float = 1.5) -> Record:
    record = examples.make_record(trial, examples.make_measured(tps_per_s))
    return msgspec.structs.replace(record, elapsed_s=elapsed_s)


def measured(
    trials: Iterable[Trial], speed: Callable[[Trial], float] = speeds, *, elapsed_s: float = 1.5
) -> list[Record]:
    return [record_of(trial, speed(trial), elapsed_s=elapsed_s) for trial in trials]


def run_to_the_end(plan: Plan, speed: Callable[[Trial], float] = speeds) -> list[Record]:
    records: list[Record] = []
    while todo := deciding.remaining(plan, records):
        records += measured(todo, speed)
    return records


def test_until_the_first_look_everything_is_wanted() -> None:
    plan = make()
    first = sequential(plan).first_look_count
    early = tuple(t for t in plan.trials if t.repeat_index < first)
    assert deciding.remaining(plan, []) == early
    assert deciding.remaining(plan, measured(early[:17])) == early[17:]


def test_what_is_decided_drops_out_and_its_baseline_stays_while_others_need_it() -> None:
    plan = make()
    first = sequential(plan).first_look_count
    records = measured(t for t in plan.trials if t.repeat_index < first)
    wanted = deciding.remaining(plan, records)
    assert {t.cell.environment for t in wanted} == {"base", "noisy"}
    assert min(t.repeat_index for t in wanted) == first
    assert max(t.repeat_index for t in wanted) + 1 == deciding.rule_of(plan).looks[1]
    assert any(t.twin for t in wanted)


def test_a_cell_without_an_open_comparison_needs_no_baseline() -> None:
    plan = make()

    def speed(trial: Trial) -> float:
        return speeds(trial) if trial.cell.clients == 4 else 1000.0

    first = sequential(plan).first_look_count
    records = measured((t for t in plan.trials if t.repeat_index < first), speed)
    assert {t.cell.clients for t in deciding.remaining(plan, records)} == {4}


def test_where_all_is_decided_nothing_is_wanted() -> None:
    plan = make()
    records = run_to_the_end(plan, lambda _: 1000.0)
    assert {r.trial.repeat_index for r in records} == set(range(sequential(plan).first_look_count))
    at_look = deciding.standing(plan, records, sequential(plan).first_look_count)
    assert (at_look.decided_count, at_look.comparison_count) == (8, 8)


def test_what_stays_open_ends_with_the_last_round() -> None:
    plan = make()
    records = run_to_the_end(plan)
    noisy = [r for r in records if r.trial.cell.environment == "noisy"]
    assert max(r.trial.repeat_index for r in noisy) + 1 == sequential(plan).round_count
    assert deciding.remaining(plan, records) == ()
    assert len(deciding.standing(plan, records, sequential(plan).round_count).opened) == 4


@pytest.mark.parametrize("seed", range(5))
def test_whoever_goes_on_wants_the_same(seed: int) -> None:
    """However often a run is cut, its records alone say what is left."""
    plan, rng = make(), Random(seed)
    whole = run_to_the_end(plan)
    records: list[Record] = []
    while todo := deciding.remaining(plan, records):
        records += measured(todo[: rng.randint(1, len(todo))])
    assert [r.trial.trial_id for r in records] == [r.trial.trial_id for r in whole]


def test_a_decision_once_made_is_kept() -> None:
    """Later rounds of others raise what a comparison has to reach; it was told decided."""
    plan = make()
    records = run_to_the_end(plan)
    looks = deciding.rule_of(plan).looks
    opened = [deciding.standing(plan, records, look).opened for look in looks]
    assert all(after <= before for before, after in itertools.pairwise(opened))


def test_a_failed_trial_leaves_its_pair_out() -> None:
    plan = make()
    first = sequential(plan).first_look_count
    trials = [t for t in plan.trials if t.repeat_index < first]
    lost = next(t for t in trials if t.cell.environment == "same" and not t.twin)
    records = measured(t for t in trials if t is not lost)
    records.append(examples.make_record(lost, Failed(reason="wrong", retryable=False)))
    at_look = deciding.standing(plan, records, first)
    counts = {
        (d.workload, d.clients): d.pair_count for d in at_look.decisions if d.environment == "same"
    }
    assert counts.pop((lost.cell.workload, lost.cell.clients)) == first - 1
    assert set(counts.values()) == {first}


def test_a_failure_that_may_pass_is_wanted_again_unless_it_was_given_up() -> None:
    plan = make()
    trial = plan.trials[0]
    records = [examples.make_record(trial, Failed(reason="unlucky", retryable=True))]
    assert deciding.remaining(plan, records)[0] == trial
    assert trial not in deciding.remaining(plan, records, {trial.trial_id})


def test_an_environment_that_is_not_to_be_had_is_told_once_for_each_cell() -> None:
    plan = make()
    told = [
        examples.make_record(t, Skipped(reason="no device"))
        for t in plan.trials
        if t.cell.environment == "noisy" and t.repeat_index == 0
    ]
    wanted = deciding.remaining(plan, told)
    assert {t.cell.environment for t in wanted} == {"base", "same"}
    records = [*told, *measured(wanted)]
    assert deciding.remaining(plan, records) == ()
    assert deciding.standing(plan, records, sequential(plan).first_look_count).given_up_count == 4


def test_without_the_first_environment_the_next_one_is_the_baseline() -> None:
    plan = make()
    first = sequential(plan).first_look_count
    records = measured(
        t for t in plan.trials if t.cell.environment != "base" and t.repeat_index < first
    )
    at_look = deciding.standing(plan, records, first)
    assert {(d.baseline, d.environment) for d in at_look.decisions} == {("same", "noisy")}


def test_a_run_whose_time_is_over_is_done() -> None:
    """A fifth over its time, while nothing was looked at yet."""
    plan = make()
    trials = deciding.remaining(plan, [])
    asked = sequential(plan)
    each_s = (1.2 * asked.at_most_s - asked.set_up_s) / len(trials) - asked.between_s
    almost = measured(trials[:-1], elapsed_s=each_s)
    assert deciding.spent_s(plan, almost) > asked.at_most_s
    assert deciding.remaining(plan, almost) == trials[-1:]
    assert not deciding.time_is_over(plan, almost)
    over = measured(trials[:-1], elapsed_s=1.01 * len(trials) / (len(trials) - 1) * each_s)
    assert deciding.time_is_over(plan, over)
    assert deciding.remaining(plan, over) == ()


def test_after_the_first_look_a_run_has_its_time_and_no_more() -> None:
    plan = make()
    trials = deciding.remaining(plan, [])
    asked = sequential(plan)
    each_s = (asked.at_most_s - asked.set_up_s) / len(trials) - asked.between_s
    late = measured(trials, elapsed_s=1.1 * each_s)
    assert not deciding.time_is_over(plan, late)
    assert deciding.remaining(plan, late) == ()
    early = measured(trials, elapsed_s=0.5 * each_s)
    further = deciding.remaining(plan, early)
    rest_s = asked.at_most_s - deciding.spent_s(plan, early)
    assert deciding.time_is_over(plan, [*early, record_of(further[0], 1.0, elapsed_s=rest_s)])


def test_time_that_does_not_reach_to_the_next_look_goes_to_some_cells() -> None:
    plan = make()
    asked, looks = sequential(plan), deciding.rule_of(plan).looks
    trials = deciding.remaining(plan, [])
    # What is left is enough for the open half of two cells, and not of four, until the next look.
    rounds = looks[1] - looks[0]
    each_s = asked.at_most_s / (len(trials) + 2 * 2.7 * rounds)
    records = measured(trials, elapsed_s=each_s - asked.between_s)
    wanted = deciding.remaining(plan, records)
    cells = {(t.cell.workload, t.cell.clients) for t in wanted}
    assert 0 < len(cells) < 4
    assert {t.repeat_index for t in wanted} == set(range(looks[0], looks[1]))


def test_environments_of_later_looks_are_wanted_too() -> None:
    plan = make()
    assert deciding.environments_wanted(plan, []) == {"base", "same", "noisy"}
    # One trial is left before the look, and what comes after it is not known.
    almost = measured(deciding.remaining(plan, [])[:-1])
    assert deciding.environments_wanted(plan, almost) == {"base", "same", "noisy"}
    after = measured(deciding.remaining(plan, []))
    assert deciding.environments_wanted(plan, after) == {"base", "noisy"}
    assert deciding.environments_wanted(plan, run_to_the_end(plan)) == frozenset()


def test_a_run_directory_is_complete_although_trials_were_left_out(tmp_path: Path) -> None:
    plan = make()
    records = run_to_the_end(plan, lambda _: 1000.0)
    run_dir = store.create_run(tmp_path, plan, "run")
    kept = store.RunStore(run_dir)
    for record in records[:-1]:
        kept.append(record)
    # The last trial before the look is missing, and nobody knows what comes after it.
    (info,) = store.list_runs(tmp_path)
    assert (info.planned_count, info.measured_count) == (len(records), len(records) - 1)
    kept.append(records[-1])
    kept.close()
    (info,) = store.list_runs(tmp_path)
    assert (info.state, info.planned_count) == ("complete", len(records))
    read = store.read_run(run_dir)
    assert read.planned_trial_count == len(records) < len(plan.trials)
    assert read.rule == deciding.rule_of(plan)


def test_of_a_fixed_plan_all_that_has_no_result_is_wanted() -> None:
    plan = make("measure={repeats: 2}")
    assert deciding.remaining(plan, []) == plan.trials
    assert deciding.remaining(plan, measured(plan.trials)) == ()
    assert deciding.environments_wanted(plan, []) == {"base", "same", "noisy"}
    with pytest.raises(ValueError, match="only a plan that stops"):
        deciding.spent_s(plan, [])


@pytest.mark.parametrize(("gap_s", "counted_s"), [(60.0, 60.0), (9000.0, 120.0), (-5.0, 0.04)])
def test_what_lies_between_trials_counts_as_it_was(gap_s: float, counted_s: float) -> None:
    """A dataset that is brought back takes its time; a night between two processes does not."""
    plan = make()
    records = measured(plan.trials[:2], elapsed_s=2.0)
    begun = datetime.fromisoformat(records[0].started_at)
    later = (begun + timedelta(seconds=2.0 + gap_s)).isoformat(timespec="milliseconds")
    records[1] = msgspec.structs.replace(records[1], started_at=later)

    asked = sequential(plan)
    spent_s = deciding.spent_s(plan, records) - asked.set_up_s
    assert spent_s == pytest.approx(2 * 2.0 + counted_s + asked.between_s)
