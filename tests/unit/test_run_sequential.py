"""A run that stops when it is decided, on truthful fakes: what drops out, warm servers, ends."""

from __future__ import annotations

import itertools
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed import deciding, plan, run, spec
from groundspeed.record import Failed, Measured, Skipped
from groundspeed.run.upkeep import Upkeep
from tests import examples
from tests.fakes import (
    FakeClock,
    FakeTarget,
    FakeWatcher,
    MemoryStore,
    RecordingListener,
    evidence,
    failed_load,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import Plan, Trial

ENVIRONMENTS = ("base", "same", "noisy")


def plan_of(workloads: str = "[select-only]", *, at_most: str = "20m") -> Plan:
    entries = ", ".join(
        f"{name}: {{target: embedded, storage: {{directory: /example}}}}" for name in ENVIRONMENTS
    )
    suite = spec.load_suite(
        f"suite: example\nenvironments: {{{entries}}}\nworkloads: {workloads}\n"
        f"scale: 1\nmeasure: {{until: decided, at_most: {at_most}}}\n",
        source="example",
    )
    return plan.make_plan(
        suite, source="example", rng=Random(5), groundspeed_version="0", scripts={}
    )


def noisy(trial: Trial) -> float:
    """Now faster and now slower, never twice by as much: two values would agree on their middle."""
    index = trial.repeat_index
    octaves = 0.5 + (index // 2 * 0.618) % 1.0
    return 1000.0 * 2.0 ** (octaves if index % 2 else -octaves)


class World:
    """All that a run meets; its servers stay warm unless it says otherwise."""

    def __init__(self, made: Plan, *, is_warm: bool = True) -> None:
        self.plan = made
        self.journal: list[str] = []
        self.clock = FakeClock()
        self.store = MemoryStore()
        self.listener = RecordingListener(self.journal)
        self.is_warm = is_warm
        self.targets = {name: self.target(name) for name in ENVIRONMENTS}
        self.targets["noisy"] = self.target("noisy", speed=noisy)
        self.unavailable: dict[str, str] = {}
        self.watcher = FakeWatcher(self.journal)

    def target(
        self, name: str, *, speed: Callable[[Trial], float] = lambda _: 1000.0
    ) -> FakeTarget:
        return FakeTarget(name, self.journal, clock=self.clock, is_warm=self.is_warm, speed=speed)

    def execute(self) -> None:
        crew = run.Crew(
            targets=self.targets,
            unavailable=self.unavailable,
            store=self.store,
            clock=self.clock,
            listener=self.listener,
            host=examples.make_host(),
            watcher=self.watcher,
            is_warm=self.is_warm,
        )
        run.execute(self.plan, crew)

    def rounds_of(self, environment: str) -> int:
        return len(
            {
                r.trial.repeat_index
                for r in self.store.records()
                if r.trial.cell.environment == environment
            }
        )

    def calls(self, name: str) -> list[str]:
        return [c.partition(".")[2] for c in self.journal if c.startswith(f"{name}.")]

    def notes(self) -> list[str]:
        return [note for note in self.listener.notes if "setting up" not in note]

    def assert_nothing_is_left(self) -> None:
        assert {target.life for target in self.targets.values()} == {"absent"}


def test_what_is_decided_drops_out_and_the_rest_goes_on_to_the_end() -> None:
    world = World(plan_of())
    assert world.plan.sequential is not None
    world.execute()
    first, last = world.plan.sequential.first_look_count, world.plan.sequential.round_count
    assert world.rounds_of("same") == first
    assert world.rounds_of("noisy") == world.rounds_of("base") == last
    assert {type(r.outcome) for r in world.store.records()} == {Measured}
    world.assert_nothing_is_left()


def test_the_listener_is_told_after_each_look() -> None:
    world = World(plan_of())
    world.execute()
    looks = deciding.rule_of(world.plan).looks
    first, *_, last = world.notes()
    assert len(world.notes()) == len(looks)
    assert first == f"1 of 2 comparisons are decided after {looks[0]} rounds, 1 go on"
    assert last.startswith(f"1 of 2 comparisons are decided after {looks[-1]} rounds, 1 stay ")
    assert last.endswith("these were all rounds of the plan")


def test_a_run_ends_as_soon_as_all_is_decided() -> None:
    world = World(plan_of())
    world.targets["noisy"] = world.target("noisy")
    world.execute()
    assert world.plan.sequential is not None
    first = world.plan.sequential.first_look_count
    assert world.rounds_of("base") == first
    assert world.notes() == [f"2 of 2 comparisons are decided after {first} rounds"]
    numbers = world.listener.numbers
    assert numbers == list(range(1, len(world.store.records()) + 1))


def test_the_time_ends_a_run_between_blocks_and_for_good() -> None:
    world = World(plan_of(at_most="2m"))
    # Whatever its plan thought: trials take ten times as long.
    for target in world.targets.values():
        target.at_load = lambda _: world.clock.pass_time(5.0)
    world.execute()
    assert world.plan.sequential is not None
    spent_s = deciding.spent_s(world.plan, world.store.records())
    assert spent_s >= world.plan.sequential.at_most_s
    blocks = {r.trial.block_index for r in world.store.records()}
    whole = [t for t in world.plan.trials if t.block_index in blocks]
    assert len(whole) == len(world.store.records())
    assert "stay undecided: the 2 min are used up" in world.notes()[-1] or (
        world.notes()[-1].startswith("0 of 2 comparisons are decided")
    )
    before = list(world.journal)
    world.execute()
    assert world.journal == before


def test_a_cut_run_goes_on_as_if_it_never_was_cut() -> None:
    whole, cut = World(plan_of()), World(plan_of())
    whole.execute()
    for after in (10, 25, 1):
        left = iter(range(after))

        def press(name: str, left: object = left) -> None:
            if name == "measure" and next(left, None) is None:  # type: ignore[call-overload]
                raise KeyboardInterrupt

        cut.listener.at_phase = press
        with pytest.raises(KeyboardInterrupt):
            cut.execute()
        cut.assert_nothing_is_left()
    cut.listener.at_phase = lambda _: None
    cut.execute()
    assert [r.trial for r in cut.store.records()] == [r.trial for r in whole.store.records()]


def test_an_environment_that_is_not_to_be_had_has_one_record_for_each_cell() -> None:
    world = World(plan_of("[select-only, tpcb-like]"))
    del world.targets["noisy"]
    world.unavailable["noisy"] = "no such device"
    world.execute()
    skipped = [r for r in world.store.records() if isinstance(r.outcome, Skipped)]
    assert sorted(r.trial.cell.workload for r in skipped) == ["select-only", "tpcb-like"]
    assert run.remaining(world.plan, world.store.records()) == ()


def test_only_the_first_rounds_are_watched() -> None:
    world = World(plan_of())
    world.watcher = FakeWatcher(world.journal, evidence=evidence())
    world.execute()
    assert world.plan.sequential is not None
    watched = world.plan.sequential.watched_round_count
    assert {r.trial.repeat_index for r in world.store.records() if r.evidence is not None} == set(
        range(watched)
    )
    trials = [t for t in world.plan.trials if t.repeat_index < watched]
    assert len(world.watcher.watches) == len(trials)
    assert {watch.life for watch in world.watcher.watches} == {"closed"}


# -- warm servers


def test_a_warm_server_starts_once_and_is_never_reset_by_reading() -> None:
    world = World(plan_of())
    world.execute()
    calls = world.calls("same")
    assert calls.count("checkpoint") == 1
    assert "reset" not in calls
    assert calls.count("stop") == calls.count("measure")
    records = world.store.records()
    assert {str(r.provenance.reset).partition(":")[0] for r in records} == {"slices"}


def test_slices_that_write_are_one_long_trial_between_two_resets() -> None:
    """About 60 s of load, as a trial of the fixed design has, and a checkpoint at each end."""
    world = World(plan_of("[tpcb-like]"))
    world.execute()
    calls = world.calls("noisy")
    lives = [life.split().count("measure") for life in " ".join(calls).split("reset ")]
    slice_s = 2
    assert lives[0] * slice_s == plan.UPKEEP_LOAD_S
    after_reset = [b for a, b in itertools.pairwise(calls) if a == "reset"]
    assert set(after_reset) == {"checkpoint"}
    assert calls.count("checkpoint") == 1 + calls.count("reset")


def test_only_the_first_slice_of_a_cell_is_warmed_up_to_tell_its_rate() -> None:
    """On a server that is warm there is nothing else to it."""
    world = World(plan_of("[select-only, tpcb-like]"))
    world.execute()
    for name in ENVIRONMENTS:
        calls = world.calls(name)
        assert calls.count("warm_up") == 2
    assert "no-warm-up" not in {c.code for r in world.store.records() for c in r.cautions}


def test_servers_that_are_not_warm_are_told_to_have_had_no_warm_up() -> None:
    world = World(plan_of(), is_warm=False)
    world.execute()
    assert "warm_up" not in world.calls("base")
    assert all("no-warm-up" in {c.code for c in r.cautions} for r in world.store.records())


def test_after_a_failure_the_dataset_is_brought_back_at_once() -> None:
    world = World(plan_of("[tpcb-like]"))
    script = {"measure": [None, failed_load()]}
    world.targets["same"] = FakeTarget(
        "same", world.journal, clock=world.clock, script=script, is_warm=True
    )
    world.execute()
    calls = world.calls("same")
    second = [i for i, call in enumerate(calls) if call == "measure"][1]
    assert calls[second + 1 : second + 4] == ["reset", "checkpoint", "stop"]
    outcomes = [r.outcome for r in world.store.records() if isinstance(r.outcome, Failed)]
    assert len(outcomes) == 1


def test_without_memory_servers_start_and_stop_as_in_a_fixed_plan() -> None:
    world = World(plan_of("[tpcb-like]"), is_warm=False)
    world.execute()
    calls = world.calls("same")
    assert calls.count("reset") == calls.count("checkpoint") == calls.count("measure")
    for name in ("start", "stop"):
        assert calls.count(name) == calls.count("measure")


def test_upkeep_is_due_before_a_server_makes_a_checkpoint_by_itself() -> None:
    upkeep = Upkeep(is_warm=True)
    assert upkeep.is_due
    upkeep.done(100.0)
    assert not upkeep.is_due
    upkeep.loaded(2.0, 300.0)
    assert not upkeep.is_due
    upkeep.loaded(0.0, 341.0)
    assert upkeep.is_due
    upkeep.done(341.0)
    upkeep.doubt()
    assert upkeep.is_due
