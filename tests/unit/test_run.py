"""The life of a run against truthful fakes: order, misfortunes, going on, and what is left."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import plan, run, spec
from groundspeed.errors import StoreError, TargetError
from groundspeed.record import Caution, Failed, Measured, Skipped
from tests import examples
from tests.fakes import (
    FakeClock,
    FakeTarget,
    FakeWatcher,
    MemoryStore,
    RecordingListener,
    failed_load,
    target_error,
    wrong_load,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import Plan, Trial
    from groundspeed.ports import LoadResult
    from groundspeed.record import Outcome, Record

PHASES = ["start", "check", "warm up", "measure", "verify"]


def plan_of(
    *environments: str,
    workloads: str = "[tpcb-like]",
    repeats: int = 1,
    clients: str = "[1]",
    warm_up: str = "500ms",
) -> Plan:
    entries = ", ".join(
        f"{name}: {{target: embedded, storage: {{directory: /example}}}}" for name in environments
    )
    suite = spec.load_suite(
        f"suite: example\nenvironments: {{{entries}}}\nworkloads: {workloads}\n"
        f"clients: {clients}\nscale: 3\n"
        f"measure: {{duration: 2s, warm_up: {warm_up}, repeats: {repeats}}}\n",
        source="example",
    )
    return plan.make_plan(
        suite, source="example", rng=Random(5), groundspeed_version="0", scripts={}
    )


class World:
    """All that a run meets, and one journal of what happened in it."""

    def __init__(self, made: Plan, store: MemoryStore | None = None) -> None:
        self.plan = made
        self.journal: list[str] = []
        self.clock = FakeClock()
        self.store = store or MemoryStore()
        self.listener = RecordingListener(self.journal)
        self.targets = {
            e.name: FakeTarget(e.name, self.journal, clock=self.clock) for e in made.environments
        }
        self.unavailable: dict[str, str] = {}
        self.watcher = FakeWatcher(self.journal)

    def script(self, name: str, **steps: Sequence[BaseException | LoadResult | None]) -> None:
        named = {call.replace("__", " "): step for call, step in steps.items()}
        self.targets[name] = FakeTarget(name, self.journal, clock=self.clock, script=named)

    def execute(self) -> None:
        crew = run.Crew(
            targets=self.targets,
            unavailable=self.unavailable,
            store=self.store,
            clock=self.clock,
            listener=self.listener,
            host=examples.make_host(),
            watcher=self.watcher,
        )
        run.execute(self.plan, crew)

    def outcomes(self) -> list[type[Outcome]]:
        return [type(record.outcome) for record in self.store.records()]

    def calls(self, name: str) -> list[str]:
        return [c.partition(".")[2] for c in self.journal if c.startswith(f"{name}.")]

    def assert_nothing_is_left(self) -> None:
        assert {target.life for target in self.targets.values()} == {"absent"}


def record_of(trial: Trial, outcome: Outcome, attempt: int = 1) -> Record:
    return examples.make_record(trial, outcome, attempt=attempt)


# -- order


def test_a_trial_lives_through_its_phases_in_order() -> None:
    world = World(plan_of("a"))
    world.execute()
    (trial,) = world.plan.trials
    assert world.journal == [
        *("a.provide", "a.prepare 3", "a.initialise"),
        f"trial {trial.trial_id}",
        *("phase start", "a.start"),
        *("phase check", "a.check", "a.checkpoint"),
        *("phase warm up", "a.warm_up"),
        *("phase measure", "a.reset_statistics", "a.measure", "progress 1"),
        "phase verify",
        *("phase clean", "a.reset", "a.stop"),
        "a.remove",
    ]
    (record,) = world.store.records()
    assert [phase.name for phase in record.phases] == PHASES
    assert isinstance(record.outcome, Measured)
    assert record.outcome.tps_per_s == 1000.0
    assert world.listener.ended == [record]
    world.assert_nothing_is_left()


def test_a_record_keeps_how_it_came_about() -> None:
    world = World(plan_of("a"))
    world.execute()
    (record,) = world.store.records()
    assert record.provenance.command[0] == "pgbench"
    assert "host=a" in record.provenance.command
    assert record.provenance.tool_version == "16.4"
    assert record.provenance.server is not None
    assert record.provenance.reset == "fake: nothing to reset"
    assert record.elapsed_s == pytest.approx(2.5)
    assert record.started_at.startswith("2023-11-14T")
    stem = f"{record.trial.trial_id}.1"
    assert set(world.store.raw) == {f"{stem}.stdout.txt", f"{stem}.stderr.txt"}
    assert list(world.store.seconds) == [(record.trial.trial_id, 1)]


def test_one_server_runs_at_a_time() -> None:
    world = World(plan_of("a", "b", "c", repeats=3))

    def alone(_: str) -> None:
        assert [t.life for t in world.targets.values()].count("running") == 1

    for target in world.targets.values():
        target.at_load = alone
    world.execute()
    assert world.outcomes() == [Measured] * 9


def test_trials_run_in_the_order_of_the_plan() -> None:
    world = World(plan_of("a", "b", repeats=3, clients="[1, 4]"))
    world.execute()
    assert [r.trial for r in world.store.records()] == list(world.plan.trials)
    assert world.listener.numbers == list(range(1, 13))
    assert all(x > y for x, y in itertools.pairwise(world.listener.left_s))


def test_every_environment_is_set_up_once_before_the_first_trial() -> None:
    world = World(plan_of("a", "b", repeats=2))
    world.execute()
    first_trial = next(i for i, c in enumerate(world.journal) if c.startswith("trial"))
    provided = [c for c in world.journal if c.endswith("provide")]
    assert sorted(provided) == ["a.provide", "b.provide"]
    assert {"a.initialise", "b.initialise"} <= set(world.journal[:first_trial])


# -- the same state for every write trial


def test_a_reset_comes_after_a_trial_that_writes_and_only_then() -> None:
    world = World(plan_of("a", "b", workloads="[select-only, tpcb-like]", repeats=3))
    world.execute()
    for name in ("a", "b"):
        trials = [t for t in world.plan.trials if t.cell.environment == name]
        expected = [False] + [t.cell.workload != "select-only" for t in trials[:-1]]
        assert _reset_before_each_start(world.calls(name)) == expected


def _reset_before_each_start(calls: list[str]) -> list[bool]:
    """For each start, whether the dataset was brought back since the start before."""
    lives = " ".join(calls).split("start")
    return ["reset " in life for life in lives[:-1]]


def test_read_trials_are_never_reset() -> None:
    world = World(plan_of("a", workloads="[select-only]", repeats=4))
    world.execute()
    assert "reset" not in world.calls("a")


def test_a_write_trial_that_failed_leaves_the_dataset_dirty() -> None:
    world = World(plan_of("a", repeats=2))
    world.script("a", measure=[failed_load()])
    world.execute()
    assert _reset_before_each_start(world.calls("a")) == [False, True]


def test_a_reset_that_failed_is_tried_again() -> None:
    world = World(plan_of("a", repeats=3))
    world.script("a", reset=[target_error("no room")])
    world.execute()
    assert world.outcomes() == [Measured, Measured, Measured]
    assert "a: no room" in world.listener.notes
    # Once in vain after the first trial, again before the second, and after the two that followed.
    assert world.calls("a").count("reset") == 4


# -- misfortunes


def test_a_skipped_environment_has_a_record_for_each_trial_and_no_target() -> None:
    world = World(plan_of("a", "b", repeats=2))
    del world.targets["b"]
    world.unavailable["b"] = "no such device"
    world.execute()
    skipped = [r for r in world.store.records() if isinstance(r.outcome, Skipped)]
    assert {r.trial.cell.environment for r in skipped} == {"b"}
    assert {r.outcome.reason for r in skipped if isinstance(r.outcome, Skipped)} == {
        "no such device"
    }
    assert len(skipped) == 2
    assert world.outcomes().count(Measured) == 2


@pytest.mark.parametrize(
    "call", ["start", "check", "checkpoint", "warm_up", "reset_statistics", "measure"]
)
def test_a_trial_that_fails_is_a_record_and_the_run_goes_on(call: str) -> None:
    world = World(plan_of("a", repeats=3))
    world.script("a", **{call: [None, target_error("it broke")]})
    world.execute()
    assert world.outcomes() == [Measured, Failed, Measured]
    failed = world.store.records()[1].outcome
    assert isinstance(failed, Failed)
    assert failed.retryable
    assert "it broke" in failed.reason
    world.assert_nothing_is_left()


def test_a_failed_load_keeps_its_raw_output() -> None:
    world = World(plan_of("a"))
    world.script("a", measure=[failed_load()])
    world.execute()
    (record,) = world.store.records()
    assert record.outcome == Failed(reason="pgbench failed: broken", retryable=True)
    assert world.store.raw[f"{record.trial.trial_id}.1.stderr.txt"] == "pgbench: error: broken\n"
    assert not world.store.seconds


def test_a_load_that_did_something_else_is_never_retried() -> None:
    world = World(plan_of("a"))
    trial = world.plan.trials[0]
    command = plan.Command(program="pgbench", arguments=())
    world.script("a", measure=[wrong_load(trial, command)])
    world.execute()
    (record,) = world.store.records()
    assert isinstance(record.outcome, Failed)
    assert not record.outcome.retryable
    assert run.remaining(world.plan, world.store.records()) == ()


def test_a_warm_up_that_broke_down_fails_its_trial() -> None:
    world = World(plan_of("a"))
    world.script("a", warm_up=[failed_load()])
    world.execute()
    (record,) = world.store.records()
    assert record.outcome == Failed(reason="warm-up: broken", retryable=True)
    assert [p.name for p in record.phases] == ["start", "check", "warm up"]


def test_no_warm_up_is_told() -> None:
    world = World(plan_of("a", warm_up="0s"))
    world.execute()
    (record,) = world.store.records()
    assert "warm_up" not in world.calls("a")
    assert "no-warm-up" in {c.code for c in record.cautions}


def test_a_server_that_died_is_blamed_with_its_last_words() -> None:
    world = World(plan_of("a", repeats=2))
    target = world.targets["a"]
    deaths = iter([True, False])

    def die(part: str) -> None:
        target.server_died = part == "measure" and next(deaths)

    target.at_load = die
    world.execute()
    assert world.outcomes() == [Failed, Measured]
    failed = world.store.records()[0].outcome
    assert isinstance(failed, Failed)
    assert failed.reason.startswith("the server died: PANIC: out of ideas")
    assert failed.retryable


@pytest.mark.parametrize("call", ["provide", "prepare__3", "initialise"])
def test_an_environment_that_cannot_be_set_up_ends_the_run(call: str) -> None:
    world = World(plan_of("a", "b"))
    world.script("b", **{call: [target_error("no room")]})
    with pytest.raises(TargetError, match="no room"):
        world.execute()
    assert world.store.records() == ()
    assert world.calls("a")[-1] == "remove"
    assert world.calls("b")[-1] == "remove"
    world.assert_nothing_is_left()


def test_what_cannot_be_removed_is_told_and_costs_no_result() -> None:
    world = World(plan_of("a", "b"))
    world.script("a", remove=[target_error("busy")])
    world.execute()
    assert world.outcomes() == [Measured, Measured]
    assert world.calls("b")[-1] == "remove"
    assert any("left behind: busy" in note for note in world.listener.notes)


def test_cautions_of_the_target_ride_on_the_record_once() -> None:
    told = Caution(code="odd", message="odd")
    world = World(plan_of("a"))
    world.targets["a"] = FakeTarget(
        "a", world.journal, clock=world.clock, check_cautions=(told, told)
    )
    world.execute()
    assert world.store.records()[0].cautions.count(told) == 1


@pytest.mark.parametrize("jump_s", [-3600.0, -1.5, 1.5, 86400.0])
def test_a_clock_that_jumps_is_told(jump_s: float) -> None:
    world = World(plan_of("a", repeats=2))
    jumps = iter([jump_s, 0.0])

    def set_clock(part: str) -> None:
        if part == "measure":
            world.clock.jump(next(jumps))

    world.targets["a"].at_load = set_clock
    world.execute()
    first, second = world.store.records()
    assert [c.code for c in first.cautions if c.code == "clock-jump"] == ["clock-jump"]
    assert any(f"{jump_s:+.1f} s" in c.message for c in first.cautions)
    assert "clock-jump" not in {c.code for c in second.cautions}
    assert first.elapsed_s == pytest.approx(2.5)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_full_disk_stops_the_run(room: int) -> None:
    world = World(plan_of("a", repeats=4), MemoryStore(room=room))
    with pytest.raises(StoreError, match="the disk is full"):
        world.execute()
    assert len(world.store.records()) == room
    assert world.calls("a").count("measure") == room + 1
    world.assert_nothing_is_left()


# -- going on


def test_only_what_has_no_result_remains() -> None:
    made = plan_of("a", repeats=5)
    outcomes: list[Outcome | None] = [
        examples.make_measured(),
        Skipped(reason="no device"),
        Failed(reason="wrong", retryable=False),
        Failed(reason="unlucky", retryable=True),
        None,
    ]
    records = [record_of(t, o) for t, o in zip(made.trials, outcomes, strict=True) if o]
    assert run.remaining(made, records) == made.trials[3:]


def test_a_retry_that_was_measured_is_done() -> None:
    made = plan_of("a")
    unlucky = record_of(made.trials[0], Failed(reason="unlucky", retryable=True))
    again = record_of(made.trials[0], examples.make_measured(), attempt=2)
    assert run.remaining(made, [unlucky]) == made.trials
    assert run.remaining(made, [unlucky, again]) == ()


def test_attempts_are_counted_over_processes() -> None:
    world = World(plan_of("a"))
    trial = world.plan.trials[0]
    for attempt in (1, 2):
        world.targets["a"] = FakeTarget("a", world.journal, script={"measure": [failed_load()]})
        world.execute()
        assert [r.attempt for r in world.store.records()] == list(range(1, attempt + 1))
    world.targets["a"] = FakeTarget("a", world.journal)
    world.execute()
    assert [r.attempt for r in world.store.records()] == [1, 2, 3]
    assert world.outcomes() == [Failed, Failed, Measured]
    assert f"{trial.trial_id}.3.stdout.txt" in world.store.raw


def test_a_finished_run_sets_nothing_up() -> None:
    world = World(plan_of("a", "b"))
    world.execute()
    before = list(world.journal)
    world.execute()
    assert world.journal == before


def test_going_on_sets_up_only_what_is_wanted() -> None:
    made = plan_of("a", "b", repeats=2)
    done = [record_of(t, examples.make_measured()) for t in made.trials if _is_of(t, "a")]
    world = World(made, MemoryStore(tuple(done)))
    world.execute()
    assert world.calls("a") == []
    assert world.listener.numbers == [3, 4]
    assert sorted(r.trial.trial_id for r in world.store.records()) == sorted(
        t.trial_id for t in made.trials
    )


def _is_of(trial: Trial, environment: str) -> bool:
    return trial.cell.environment == environment


# -- interruption


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_in_a_phase_keeps_what_was_measured_and_removes_the_rest(phase: str) -> None:
    world = World(plan_of("a", "b", repeats=2))
    seen = itertools.count()

    def press(name: str) -> None:
        if name == phase and next(seen) == 1:
            raise KeyboardInterrupt

    world.listener.at_phase = press
    with pytest.raises(KeyboardInterrupt):
        world.execute()
    assert [r.trial for r in world.store.records()] == list(world.plan.trials[:1])
    assert world.outcomes() == [Measured]
    world.assert_nothing_is_left()

    world.listener.at_phase = lambda _: None
    world.execute()
    assert [r.trial for r in world.store.records()] == list(world.plan.trials)
    assert {r.attempt for r in world.store.records()} == {1}


@pytest.mark.parametrize(
    "call", ["provide", "prepare__3", "initialise", "start", "warm_up", "measure"]
)
def test_ctrl_c_inside_a_call_leaves_no_record_of_its_trial(call: str) -> None:
    world = World(plan_of("a", "b"))
    world.script("b", **{call: [KeyboardInterrupt()]})
    with pytest.raises(KeyboardInterrupt):
        world.execute()
    assert all(r.trial.cell.environment == "a" for r in world.store.records())
    world.assert_nothing_is_left()


def test_ctrl_c_while_the_server_stops_keeps_its_trial() -> None:
    world = World(plan_of("a"))
    world.script("a", stop=[KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        world.execute()
    assert world.outcomes() == [Measured]
    world.assert_nothing_is_left()


def test_a_server_that_does_not_stop_well_costs_no_record() -> None:
    world = World(plan_of("a"))
    world.script("a", stop=[target_error("it hangs")])
    world.execute()
    assert world.outcomes() == [Measured]
    assert "a: it hangs" in world.listener.notes
    world.assert_nothing_is_left()


def test_ctrl_c_while_removing_keeps_every_record() -> None:
    world = World(plan_of("a", "b"))
    world.script("a", remove=[KeyboardInterrupt()])
    with pytest.raises(KeyboardInterrupt):
        world.execute()
    assert world.outcomes() == [Measured, Measured]


def test_a_plan_survives_its_file() -> None:
    made = plan_of("a", "b", repeats=2)
    assert plan.decode(plan.encode(made), source="plan.json") == made
    assert msgspec.structs.replace(made, format=1) == made
