"""The life of a run and of a trial: provide, prepare, check, warm up, measure, verify, clean.

Yields a `Record` for every trial, whatever came of it, and goes on where an earlier process
stopped. It owns no machine and writes no file: targets and a store do. One attempt at one trial is
in `run.attempt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed import __version__
from groundspeed.errors import TargetError
from groundspeed.record import Failed, Provenance, Record, Skipped, StorageFacts
from groundspeed.run.attempt import Attempt
from groundspeed.run.crew import Crew, EnvironmentState, attempt_number, timestamp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import Plan, Trial
    from groundspeed.record import Outcome

__all__ = ["Crew", "execute", "remaining"]


def remaining(plan: Plan, records: Sequence[Record]) -> tuple[Trial, ...]:
    """Trials that still want a measurement, in order.

    A trial is done when it has a record that is no retryable failure.
    """
    done = {
        record.trial.trial_id
        for record in records
        if not (isinstance(record.outcome, Failed) and record.outcome.retryable)
    }
    return tuple(trial for trial in plan.trials if trial.trial_id not in done)


def execute(plan: Plan, crew: Crew) -> None:
    """Run what remains of a plan and leave nothing behind.

    Raises TargetError when an environment cannot be set up, StoreError when a record cannot be
    kept. A trial that fails is a record, not an exception.
    """
    todo = remaining(plan, crew.store.records())
    for trial in todo:
        if trial.cell.environment in crew.unavailable:
            reason = crew.unavailable[trial.cell.environment]
            _keep(crew, _untried(plan, trial, Skipped(reason=reason), crew))
    todo = tuple(t for t in todo if t.cell.environment not in crew.unavailable)
    wanted = dict.fromkeys(t.cell.environment for t in todo)
    try:
        states = {name: _set_up(plan, crew, name) for name in wanted}
        for number, trial in enumerate(todo, start=1):
            crew.listener.trial_started(
                trial,
                number=len(plan.trials) - len(todo) + number,
                left_s=_left_s(plan, todo[number - 1 :]),
            )
            attempt = Attempt(plan, crew, trial, states[trial.cell.environment])
            _keep(crew, attempt.run())
            # Only now: a Ctrl-C while the server stops must not cost what was measured.
            attempt.clean()
    finally:
        _tear_down(crew, list(wanted))


def _left_s(plan: Plan, todo: Sequence[Trial]) -> float:
    """Estimate what is left, from the plan; shown to people, never measured by."""
    overhead_s = (plan.estimate.wall_s - plan.estimate.load_s) / max(1, len(plan.trials))
    return sum(trial.duration_s + overhead_s for trial in todo)


def _set_up(plan: Plan, crew: Crew, name: str) -> EnvironmentState:
    target = crew.targets[name]
    state = EnvironmentState()
    crew.listener.note(f"{name}: setting up, scale {plan.trials[0].cell.scale}")
    target.provide()
    state.pgbench_version = target.program_version("pgbench")
    state.server = target.server_facts()
    state.storage = target.storage_facts()
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
