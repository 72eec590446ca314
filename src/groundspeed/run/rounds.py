"""What a run says of how far it is: trials behind it, time left, and what is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.deciding import rule_of, spent_s, standing, time_is_over
from groundspeed.run.seeking import tell_search

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.deciding import Standing
    from groundspeed.plan import Plan, Trial
    from groundspeed.run.crew import Crew

_MINUTE_S = 60


def behind(plan: Plan, crew: Crew, todo: Sequence[Trial]) -> int:
    """Count the trials before those at hand, in this process and earlier ones."""
    if plan.stopping is None:
        return len(plan.trials) - len(todo)
    return len({record.trial.trial_id for record in crew.store.records()})


def left_s(plan: Plan, crew: Crew, todo: Sequence[Trial]) -> float:
    """Estimate what is left, shown to people and never measured by.

    An upper bound where it stops when it is decided.
    """
    if plan.stopping is not None:
        return max(0.0, plan.stopping.at_most_s - spent_s(plan, crew.store.records()))
    overhead_s = (plan.estimate.wall_s - plan.estimate.load_s) / max(1, len(plan.trials))
    return sum(trial.duration_s + overhead_s for trial in todo)


def tell(plan: Plan, crew: Crew, done: Sequence[Trial], following: Sequence[Trial]) -> None:
    """Say after a look what is decided or found; nothing where it never stops early."""
    if plan.search is not None:
        tell_search(plan, crew, following)
    if plan.sequential is None:
        return
    records = crew.store.records()
    last = max(trial.repeat_index for trial in done) + 1
    look = next(look for look in rule_of(plan).looks if look >= last)
    reached = max((r.trial.repeat_index for r in records), default=-1) + 1
    at_look = standing(plan, records, look)
    crew.listener.note(
        f"{at_look.decided_count} of {_comparisons(at_look.comparison_count)} decided after"
        f" {reached} rounds{_rest(plan, at_look, over=time_is_over(plan, records), on=following)}"
    )


def _rest(plan: Plan, at_look: Standing, *, over: bool, on: Sequence[Trial]) -> str:
    opened = len(at_look.opened)
    if not opened:
        return ""
    if not on:
        assert plan.sequential is not None  # noqa: S101 - asked for by the caller
        minutes = plan.sequential.at_most_s / _MINUTE_S
        why = f"the {minutes:g} min are used up" if over else "there is no time for another look"
        if not over and at_look.round_count >= plan.sequential.round_count:
            why = "these were all rounds of the plan"
        return f", {opened} stay undecided: {why}"
    wanted = {(t.cell.environment, t.cell.workload, t.cell.clients, t.cell.threads) for t in on}
    going = sum(
        (key.environment, key.workload, key.clients, key.threads) in wanted
        for key in at_look.opened
    )
    late = f", {opened - going} have no time for another look" if going < opened else ""
    return f", {going} go on{late}"


def _comparisons(count: int) -> str:
    return "1 comparison is" if count == 1 else f"{count} comparisons are"
