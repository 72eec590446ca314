"""Plans that search the highest rate: what a suite may ask, rounds, and the time they take."""

from __future__ import annotations

import pytest

from groundspeed import plan as plans
from groundspeed import presets, spec
from groundspeed.errors import SpecError
from tests.searched import plan_of

SUITE = """\
suite: s
environments:
  one: {target: embedded, storage: {directory: /a}}
"""


def complaint(measure: str, more: str = "") -> tuple[str, str]:
    with pytest.raises(SpecError) as caught:
        spec.load_suite(f"{SUITE}measure: {measure}\n{more}", source="s.yaml")
    return caught.value.message, caught.value.hint


def capacity(plan: plans.Plan) -> plans.CapacitySearch:
    assert plan.search is not None
    return plan.search


def test_one_environment_is_enough() -> None:
    suite = spec.load_suite(
        f"{SUITE}measure: {{until: capacity, bound: {{p99: 10ms}}}}\n", source="s.yaml"
    )
    assert suite.measure.bound is not None
    assert suite.measure.bound.p99 == 0.01
    assert (suite.measure.within, suite.measure.warm_up) == (0.1, 0.0)


@pytest.mark.parametrize(
    ("measure", "what", "hint"),
    [
        ("{until: capacity}", "needs a bound", "bound: {p99: 10ms}"),
        ("{until: capacity, bound: 10ms}", "of which percentile", "{p99: 10ms}"),
        ("{until: capacity, bound: {p99: 10}}", "needs a unit", ""),
        ("{until: capacity, bound: {}}", "measure.bound.p99: missing", ""),
        ("{until: capacity, bound: {p99: 1ms, p9: 1ms}}", "bound.p9: no such key", "'p99'"),
        ("{until: capacity, bound: {p99: 1ms}, margin: 3%}", "takes margin only", "leave"),
        ("{until: capacity, bound: {p99: 1ms}, repeats: 3}", "takes no repeats", "at_most"),
        ("{until: capacity, bound: {p99: 1ms}, within: 1%}", "from 5% to 50%", ""),
        ("{until: decided, bound: {p99: 1ms}}", "takes bound only", "leave it out"),
        ("{bound: {p99: 1ms}}", "takes bound only", "until: capacity"),
        ("{within: 10%}", "takes within only", "until: capacity"),
        ("{until: capacity, bound: {p99: 1s}, slice: 5s}", "too short for its bound", "20s"),
    ],
)
def test_what_it_cannot_be_asked(measure: str, what: str, hint: str) -> None:
    message, advice = complaint(measure)
    assert what in message
    assert hint in advice


@pytest.mark.parametrize("option", ["rate: 5/s", "latency_limit: 5ms"])
def test_the_rate_is_what_is_searched(option: str) -> None:
    message, _ = complaint("{until: capacity, bound: {p99: 10ms}}", f"pgbench: {{{option}}}\n")
    assert option.partition(":")[0] in message


@pytest.mark.parametrize(("bound", "slice_s"), [("10ms", 5), ("250ms", 5), ("1s", 20)])
def test_a_slice_is_as_long_as_its_bound_needs(bound: str, slice_s: int) -> None:
    assert {trial.duration_s for trial in plan_of(bound=bound).trials} == {slice_s}


def test_a_round_has_a_slot_for_each_cell_and_names_no_rate() -> None:
    plan = plan_of("one", "two", workloads="[simple-update, select-only]", clients="[1, 8]")
    asked = capacity(plan)
    assert len(plan.trials) == asked.round_count * 2 * 2 * 2
    assert {trial.rate_per_s for trial in plan.trials} == {None}
    assert not any(trial.twin for trial in plan.trials)
    for block in plans.blocks(plan.trials):
        assert {trial.cell.environment for trial in block} == {"one", "two"}
    assert plans.decode(plans.encode(plan), source="plan.json") == plan


def test_the_time_is_foretold_and_bounded() -> None:
    plan = plan_of(at_most="10m")
    assert plan.estimate.wall_s == 600.0
    assert plan.estimate.first_look_s is not None
    # 37 rounds of two slices of five seconds, and what each takes beside its load.
    assert 370 < plan.estimate.first_look_s < 450


def test_a_time_in_which_nothing_can_be_found_is_refused() -> None:
    with pytest.raises(SpecError, match="19 rounds take 4 min, more than 60 s") as caught:
        plan_of(at_most="60s")
    assert "at_most" in caught.value.hint


def test_the_preset_is_one() -> None:
    suite = spec.load_suite(presets.read("capacity-quick"), source="capacity-quick")
    assert suite.measure.until == "capacity"
    assert suite.measure.at_most <= 600
