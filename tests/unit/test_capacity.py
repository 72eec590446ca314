"""Searching the highest rate from plan and records: slots and rates, ends, and what is told."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import deciding
from groundspeed.analyse import analyse
from groundspeed.analyse.advice import Purpose, advise
from groundspeed.analyse.capacity.searching import search_cells
from groundspeed.analyse.capacity.shapes import Capacity, CapacityState
from groundspeed.analyse.capacity.slices import outcome_of
from groundspeed.analyse.capacity.wording import bound_text, doubt, sentence
from groundspeed.analyse.diagnosis import Bottleneck
from groundspeed.record import Failed, Measured, Skipped
from tests import examples
from tests.searched import CLOSED_LOOP_PER_S, found, measured, plan_of, run_of, search, until

if TYPE_CHECKING:
    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Outcome, Record

LIMITS = {"one": 1200.0, "two": 400.0}


def slice_record(*, due: float = 1000.0, done: int = 5000, p99_s: float = 0.005) -> Record:
    trial = examples.make_trial(rate_per_s=due)
    outcome = measured(trial, p99_s, done / 5)
    assert isinstance(outcome, Measured)
    return examples.make_record(trial, msgspec.structs.replace(outcome, transaction_count=done))


def test_a_slice_holds_where_its_p99_does() -> None:
    for p99_s, holds in ((0.009, True), (0.01, True), (0.011, False)):
        found_ = outcome_of(slice_record(p99_s=p99_s), 0.01)
        assert found_ is not None
        assert found_.holds is holds


def test_a_queue_that_was_left_behind_is_late_too() -> None:
    """The server stood still for the last tenth: what was due then is in no log."""
    record = slice_record()
    assert isinstance(record.outcome, Measured)
    # 5 s of load, of which 4500 were begun.
    behind = msgspec.structs.replace(record.outcome, transaction_count=4500, tps_per_s=900.0)
    missing = outcome_of(msgspec.structs.replace(record, outcome=behind), 0.01)
    assert missing is not None
    assert not missing.holds
    assert missing.missed_ratio == pytest.approx((500 - 3 * math.sqrt(5000)) / 5000)


def test_the_time_to_connect_is_no_time_in_which_something_is_due() -> None:
    """4,500 transactions at 1,000/s: the half second before them was for connecting."""
    record = slice_record()
    assert isinstance(record.outcome, Measured)
    late = msgspec.structs.replace(record.outcome, transaction_count=4500, tps_per_s=1000.0)
    found_ = outcome_of(msgspec.structs.replace(record, outcome=late), 0.01)
    assert found_ is not None
    assert found_.holds
    assert found_.missed_ratio == 0


def test_failed_transactions_are_late() -> None:
    record = slice_record()
    assert isinstance(record.outcome, Measured)
    failed = msgspec.structs.replace(record.outcome, failed_count=100)
    found_ = outcome_of(msgspec.structs.replace(record, outcome=failed), 0.01)
    assert found_ is not None
    assert not found_.holds


def test_a_closed_loop_is_no_slice() -> None:
    assert outcome_of(examples.make_record(), 0.01) is None


def test_first_come_closed_loops_then_rates_of_their_own() -> None:
    made = plan_of()
    first = deciding.remaining(made, ())
    assert [trial.rate_per_s for trial in first] == [None, None]
    records = search(made, until(LIMITS), most=2)
    second = deciding.remaining(made, records)
    assert {trial.repeat_index for trial in second} == {1}
    assert all(20 < (trial.rate_per_s or 0) < CLOSED_LOOP_PER_S for trial in second)


def test_what_is_wanted_follows_from_plan_and_records_alone() -> None:
    """After a crash anywhere the same rates are measured as without it."""
    made, load = plan_of(), until(LIMITS)
    whole = search(made, load)
    for stop in (0, 1, 3, 10, 31, len(whole) - 1):
        todo = deciding.remaining(made, whole[:stop])
        assert todo[0] == whole[stop].trial
    assert deciding.remaining(made, whole) == ()


def test_each_cell_ends_when_it_is_found_and_the_other_goes_on() -> None:
    made = plan_of()
    # The second is as good as a coin at any rate.
    steady, coin = until(LIMITS), Random(2)

    def load(trial: Trial) -> Outcome:
        if trial.cell.environment == "two" and trial.rate_per_s is not None:
            return measured(trial, coin.choice((0.005, 0.02)), trial.rate_per_s)
        return steady(trial)

    records = search(made, load)
    rounds = {
        name: max(r.trial.repeat_index for r in records if r.trial.cell.environment == name)
        for name in ("one", "two")
    }
    assert rounds["one"] < 45
    assert rounds["two"] == 120
    assert deciding.environments_wanted(made, records[:-1]) == {"two"}


def test_the_time_ends_it() -> None:
    made = plan_of(at_most="4m")
    records = search(made, until(LIMITS))
    assert deciding.time_is_over(made, records)
    assert 240 <= deciding.spent_s(made, records) < 240 + 2 * 7


def test_an_environment_that_is_not_to_be_had_is_left_out() -> None:
    made = plan_of()

    def load(trial: Trial) -> Outcome:
        if trial.cell.environment == "two":
            return Skipped(reason="no room")
        return until(LIMITS)(trial)

    records = search(made, load)
    assert sum(r.trial.cell.environment == "two" for r in records) == 1
    capacities = analyse([run_of(made, records)]).capacities
    assert [c.state for c in capacities] == [CapacityState.FOUND, CapacityState.UNKNOWN]


def test_a_closed_loop_that_fails_is_tried_again_three_times() -> None:
    made = plan_of("one")
    records = search(made, lambda _: Failed(reason="no luck", retryable=True))
    assert [r.trial.rate_per_s for r in records] == [None] * 3
    lucky = [0]

    def load(trial: Trial) -> Outcome:
        lucky[0] += 1
        if lucky[0] < 3:
            return Failed(reason="no luck", retryable=True)
        return until(LIMITS)(trial)

    (capacity,) = analyse([run_of(made, search(made, load))]).capacities
    assert (capacity.state, capacity.failed_count) == (CapacityState.FOUND, 2)


def test_the_rate_is_found_to_within_what_was_asked() -> None:
    for within in ("10%", "20%"):
        for capacity in found(plan_of(within=within), until(LIMITS)).capacities:
            limit = LIMITS[capacity.environment]
            assert capacity.state is CapacityState.FOUND
            assert capacity.low_per_s is not None
            assert capacity.high_per_s is not None
            assert capacity.rate_per_s is not None
            assert capacity.low_per_s <= limit <= capacity.high_per_s
            assert capacity.low_per_s <= capacity.rate_per_s <= capacity.high_per_s
            step = float(within.strip("%")) / 200
            assert capacity.high_per_s / capacity.low_per_s < (1 + step) ** 2 * 1.01


def test_noise_makes_an_interval_wider_and_not_wrong() -> None:
    for capacity in found(plan_of(), until(LIMITS, noise=0.2)).capacities:
        assert capacity.low_per_s is not None
        assert capacity.high_per_s is not None
        assert capacity.low_per_s <= LIMITS[capacity.environment] <= capacity.high_per_s
        assert capacity.family_low_per_s is not None
        assert capacity.family_low_per_s <= capacity.low_per_s


@pytest.mark.parametrize(
    ("limit", "state", "says"),
    [
        (1.0, CapacityState.NEVER, "holds p99 <= 10 ms at no rate: even 40.0/s breaks"),
        (1e6, CapacityState.ABOVE, "the highest rate of the search"),
        (1200.0, CapacityState.FOUND, "breaks at "),
    ],
)
def test_every_end_has_its_sentence(limit: float, state: CapacityState, says: str) -> None:
    (capacity,) = found(plan_of("one"), until({"one": limit})).capacities
    assert capacity.state is state
    assert says in sentence(capacity)


def test_a_run_that_was_cut_short_says_what_it_knows() -> None:
    made = plan_of("one")
    for count, says in ((1, "not decided by 0 slices"), (4, "not decided by 3 slices")):
        records = search(made, until(LIMITS), most=count)
        (capacity,) = analyse([run_of(made, records)]).capacities
        assert capacity.state is CapacityState.OPEN
        assert says in sentence(capacity)
    whole = search(made, until(LIMITS))
    half = next(
        c
        for count in range(5, len(whole))
        for c in analyse([run_of(made, whole[:count])]).capacities
        if (c.low_per_s is None) != (c.high_per_s is None)
    )
    assert "decide" in sentence(half)


def test_slices_are_no_repeats_of_their_cell() -> None:
    findings = found(plan_of(), until(LIMITS))
    assert {cell.tps_per_s.n for cell in findings.cells} == {1}
    assert findings.comparisons == ()
    assert findings.measured_count == findings.planned_trial_count
    assert {f.measured_count for f in findings.environments} != {1}
    (verdict,) = findings.verdicts
    assert verdict.decided
    assert "one holds p99 <= 10 ms up to 1,1" in verdict.sentence


def test_the_best_environment_is_the_one_that_takes_more() -> None:
    (row,) = [
        c for c in advise(found(plan_of(), until(LIMITS))).choices if c.purpose is Purpose.LATENCY
    ]
    assert (row.best, row.runner_up) == ("one", "two")
    assert row.by == "highest rate with p99 <= 10 ms"
    assert "better than two in 1 of 1 cell, " in row.reason
    ratio = float(row.reason.rpartition(" cell, ")[2].partition("x")[0])
    assert 2.7 < ratio < 3.3


def test_alike_environments_are_not_ranked() -> None:
    findings = found(plan_of(), until({"one": 800.0, "two": 810.0}))
    (row,) = [c for c in advise(findings).choices if c.purpose is Purpose.LATENCY]
    assert row.best is None
    assert "are not apart" in row.reason


def test_one_that_holds_at_no_rate_loses() -> None:
    findings = found(plan_of(), until({"one": 800.0, "two": 1.0}))
    (row,) = [c for c in advise(findings).choices if c.purpose is Purpose.LATENCY]
    assert row.best == "one"
    assert "95% above " in row.reason


def capacity_of(plan: Plan) -> Capacity:
    return analyse([run_of(plan, search(plan, until(LIMITS)))]).capacities[0]


def test_what_the_load_tool_could_not_ask_is_flagged() -> None:
    capacity = capacity_of(plan_of("one"))
    assert doubt(capacity) == ""
    bound = msgspec.structs.replace(
        capacity, bottleneck=Bottleneck.CLIENT, agreeing_count=5, broken_count=6
    )
    assert "pgbench itself could not ask faster" in doubt(bound)
    assert "client-bound (5 of 6 slices that break)" in sentence(bound)
    few = msgspec.structs.replace(bound, agreeing_count=2)
    assert "perhaps client-bound" in sentence(few)


@pytest.mark.parametrize(("bound_s", "text"), [(0.01, "10 ms"), (0.0005, "0.5 ms"), (2.0, "2 s")])
def test_a_bound_reads_as_it_is_written(bound_s: float, text: str) -> None:
    assert bound_text(bound_s) == f"p99 <= {text}"


def test_cells_of_several_workloads_are_searched_apart() -> None:
    made = plan_of("one", workloads="[simple-update, select-only]", clients="[1, 8]")
    cells = search_cells(made, search(made, until(LIMITS), most=8))
    assert len(cells) == 4
    assert {found_.slice_count for found_ in cells.values()} == {1}
