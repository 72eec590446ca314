"""Rounds of a plan that searches the highest rate within a latency bound: how many, how long.

The plan has the slots alone: at which rate a slot is measured takes the records before it, and is
not known here. See docs/capacity.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import SpecError
from groundspeed.plan import estimating, rounds
from groundspeed.plan.parts import CapacitySearch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed import spec
    from groundspeed.plan.parts import EnvironmentPlan, WorkloadPlan

# The closed loop, then slices: by simulation half of the searches whose slices turn from holding to
# breaking within one step have ended after 32 of them, nine in ten after 40 (docs/capacity.md).
_USUAL_ROUNDS = 1 + 36
# Six slices halve the range, and about six at each end are the fewest that can make an interval.
_FEWEST_ROUNDS = 1 + 18
# What is not found by then needs longer slices or a quieter machine, not more of them.
_MOST_ROUNDS = 1 + 120


def capacity_search(
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
) -> CapacitySearch | None:
    """Choose how many rounds a search has; None where the suite searches no rate.

    More than the time allows for all cells, as those that are found leave theirs to the others.
    Raises SpecError when the time is too short for the fewest slices that make an interval.
    """
    if suite.measure.until != "capacity" or suite.measure.bound is None:
        return None
    set_up_s = estimating.set_up_s(environments, suite.scale)
    at_most_s = suite.measure.at_most
    fewest_s = set_up_s + _FEWEST_ROUNDS * _round_s(suite, environments, workloads)
    if fewest_s > at_most_s:
        needed = estimating.minutes(fewest_s)
        raise SpecError(
            f"measure.at_most: {_FEWEST_ROUNDS} rounds take {needed}, more than"
            f" {estimating.minutes(at_most_s)}",
            f"no interval comes sooner: give at_most more than {needed}, or search less",
        )
    return CapacitySearch(
        bound_s=suite.measure.bound.p99,
        within_ratio=suite.measure.within,
        at_most_s=at_most_s,
        first_look_count=_USUAL_ROUNDS,
        round_count=_MOST_ROUNDS,
        set_up_s=set_up_s,
        between_s=estimating.SLICE_BETWEEN_S,
        # What makes a rate break is asked of every slice that does.
        watched_round_count=0 if suite.measure.probes == "off" else _MOST_ROUNDS,
    )


def _round_s(
    suite: spec.Suite, environments: Sequence[EnvironmentPlan], workloads: Sequence[WorkloadPlan]
) -> float:
    """Estimate the wall time of a round of all cells."""
    watching_s = 0.0 if suite.measure.probes == "off" else estimating.WATCHING_S
    return len(environments) * sum(
        watching_s
        + estimating.slice_wall_s(
            rounds.duration_s(suite, cell.workload, cell.clients) + suite.measure.warm_up,
            clients=cell.clients,
            scale=suite.scale,
            writes=cell.workload.writes,
        )
        for cell in rounds.combinations(suite, workloads)
    )
