"""The life of a run and of a trial: provide, prepare, check, warm up, measure, verify, clean.

Yields a `Record` for every trial, whatever came of it, and goes on where an earlier process
stopped. It owns no machine and writes no file: targets and a store do. One attempt at one trial is
in `run.attempt`; which trials are wanted, in `deciding`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed import __version__
from groundspeed.deciding import environments_wanted, remaining, time_is_over
from groundspeed.errors import TargetError
from groundspeed.plan import POSTGRES, blocks
from groundspeed.record import Provenance, Record, Skipped, StorageFacts
from groundspeed.run import rounds
from groundspeed.run.attempt import Attempt
from groundspeed.run.crew import Crew, EnvironmentState, attempt_number, timestamp
from groundspeed.run.upkeep import Upkeep
from groundspeed.tools import engines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Outcome

__all__ = ["Crew", "environments_wanted", "execute", "remaining"]


def execute(plan: Plan, crew: Crew) -> None:
    """Run what remains of a plan and leave nothing behind.

    Raises TargetError when an environment cannot be set up, StoreError when a record cannot be
    kept. A trial that fails is a record, not an exception.
    """
    _skip_unavailable(plan, crew)
    given_up = {t.trial_id for t in plan.trials if t.cell.environment in crew.unavailable}
    todo = remaining(plan, crew.store.records(), given_up)
    wanted = _in_order_of_trials(plan, crew, todo)
    try:
        states = {name: _set_up(plan, crew, name) for name in wanted}
        while todo:
            _measure(plan, crew, todo, states)
            given_up.update(trial.trial_id for trial in todo)
            following = remaining(plan, crew.store.records(), given_up)
            rounds.tell(plan, crew, todo, following)
            todo = following
    finally:
        _tear_down(crew, wanted)


def _in_order_of_trials(plan: Plan, crew: Crew, todo: Sequence[Trial]) -> list[str]:
    """Name the environments to set up: those of the trials at hand first."""
    if not todo:
        return []
    later = environments_wanted(plan, crew.store.records()) - set(crew.unavailable)
    return list(dict.fromkeys([*(t.cell.environment for t in todo), *sorted(later)]))


def _skip_unavailable(plan: Plan, crew: Crew) -> None:
    """Keep a record of each trial that has no target; where rounds stop early, of each cell."""
    told = set()
    for trial in remaining(plan, crew.store.records()):
        reason = crew.unavailable.get(trial.cell.environment)
        if reason is None or (plan.stopping is not None and trial.cell in told):
            continue
        told.add(trial.cell)
        _keep(crew, _untried(plan, trial, Skipped(reason=reason), crew))


def _measure(
    plan: Plan, crew: Crew, todo: Sequence[Trial], states: Mapping[str, EnvironmentState]
) -> None:
    behind_count, begun_count = rounds.behind(plan, crew, todo), 0
    for block in blocks(todo):
        # Between blocks: half of one is no pair.
        if plan.stopping is not None and time_is_over(plan, crew.store.records()):
            return
        for trial in block:
            left_s = rounds.left_s(plan, crew, todo[begun_count:])
            begun_count += 1
            crew.listener.trial_started(trial, number=behind_count + begun_count, left_s=left_s)
            attempt = Attempt(plan, crew, trial, states[trial.cell.environment])
            _keep(crew, attempt.run())
            # Only now: a Ctrl-C while the server stops must not cost what was measured.
            attempt.clean()


def _set_up(plan: Plan, crew: Crew, name: str) -> EnvironmentState:
    target = crew.targets[name]
    state = EnvironmentState(Upkeep(is_warm=crew.is_warm))
    size = f", scale {plan.trials[0].cell.scale}" if plan.engine == POSTGRES else ""
    crew.listener.note(f"{name}: setting up{size}")
    target.provide()
    state.tool_version = target.program_version(engines.load_tool(plan.engine).program)
    state.server = target.server_facts()
    state.storage = target.storage_facts()
    state.look_at_cluster(crew, target)
    target.prepare(plan.trials[0].cell.scale)
    return state


def _tear_down(crew: Crew, names: Sequence[str]) -> None:
    for name in names:
        try:
            crew.targets[name].remove()
        except TargetError as error:
            # Its lease stays, so the next command tries again; a run's result does not hang on it.
            crew.listener.note(f"{name}: left behind: {error.message}; {error.hint}")


def _keep(crew: Crew, record: Record) -> None:
    crew.store.append(record)
    crew.listener.trial_ended(record)


def _untried(plan: Plan, trial: Trial, outcome: Outcome, crew: Crew) -> Record:
    asked = plan.environment(trial.cell.environment).storage
    storage = None
    if asked is not None and asked.emulate is not None:
        # So that a report labels it as emulated although no device was ever made.
        storage = StorageFacts(label=asked.emulate, emulated=True)
    return Record(
        trial=trial,
        attempt=attempt_number(crew, trial),
        started_at=timestamp(crew.clock.wall_s()),
        elapsed_s=0.0,
        outcome=outcome,
        provenance=Provenance(groundspeed_version=__version__, host=crew.host, storage=storage),
    )
