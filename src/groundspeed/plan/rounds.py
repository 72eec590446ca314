"""Rounds of a plan that stops when it is decided: how many, how long, what is measured twice.

What is decided is not known here: that takes records. See docs/sequential.md.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.errors import SpecError
from groundspeed.plan import estimating
from groundspeed.plan.parts import Sequential

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed import spec
    from groundspeed.plan.parts import EngineNeeds, EnvironmentPlan, WorkloadPlan

# pgbench -T takes whole seconds. One is enough for reads from memory; writes wait for a device
# whose mood changes within tenths of a second, and two average over more of it.
SLICE_READ_S = 1.0
SLICE_WRITE_S = 2.0
# A/A pairs of each workload by the first look; the fewest that tell a noise floor.
AA_PAIRS = 12
# pgbench counts its time from before its clients connect: 100 of them took 0.2 to 0.4 s on an idle
# machine, 2.6 s on a busy one, and of a slice of 1 s nothing was left: with 50 clients in one of
# four, with 25 in one of ten. So many for each second of a slice give it one second more.
_CONNECT_S, _MANY_CLIENTS_PER_S = 0.004, 50
# Of all comparisons together; half of it is spent at the first look, see stats.sequential.
ERROR_RATIO = 0.05
FIRST_SHARE_RATIO = 0.5
# Starting to watch takes a third of a second, in which a slice could be half measured. What holds a
# cell back shows in a few slices; those of one block are all watched, or none is.
_WATCHED_ROUNDS = 3
# Cells that are decided leave their time to the others, so there are more rounds than would fit.
_MOST_LOOKS_RATIO = 4


class Combination(NamedTuple):
    """What the environments of a block have in common."""

    workload: WorkloadPlan
    clients: int
    threads: int


def combinations(suite: spec.Suite, workloads: Sequence[WorkloadPlan]) -> tuple[Combination, ...]:
    """List every combination of workload, clients and threads that pgbench takes."""
    return tuple(
        Combination(workload, clients, threads)
        for workload in workloads
        for clients in suite.clients
        for threads in _threads(suite, clients)
    )


def _threads(suite: spec.Suite, clients: int) -> tuple[int, ...]:
    if isinstance(suite.threads, str):
        return (clients,)
    return tuple(threads for threads in suite.threads if threads <= clients)


def duration_s(suite: spec.Suite, workload: WorkloadPlan, clients: int) -> float:
    """Say how long a trial of a workload is."""
    if workload.duration_s is not None:
        return workload.duration_s
    if suite.measure.until is None:
        return suite.measure.duration
    if suite.measure.until == "capacity":
        return suite.measure.capacity_slice_s
    if suite.measure.slice == "auto":
        slice_s = SLICE_WRITE_S if workload.writes else SLICE_READ_S
        spare_s = 1.0 if clients >= _MANY_CLIENTS_PER_S * slice_s else 0.0
        return slice_s + spare_s + math.floor(clients * _CONNECT_S)
    return suite.measure.slice


def first_look(family_count: int) -> int:
    """Count the rounds before which nothing can be decided, even where all pairs agree.

    The smallest two-sided p-value of n pairs is 2**(1 - n); it has to reach the share of the error
    that one comparison of the family has at the first look. `stats.sequential` looks then.
    """
    return math.ceil(1 - math.log2(FIRST_SHARE_RATIO * ERROR_RATIO / family_count))


class Twins:
    """Which blocks measure the baseline twice: as evenly over rounds and cells as whole ones go."""

    def __init__(self, combinations: Sequence[Combination], sequential: Sequential | None) -> None:
        """Without `sequential` no block does."""
        self._sequential = sequential
        self._by_workload: dict[str, list[Combination]] = {}
        for combination in combinations:
            self._by_workload.setdefault(combination.workload.name, []).append(combination)

    def of_round(self, index: int) -> frozenset[Combination]:
        """Choose the combinations of one round."""
        if self._sequential is None:
            return frozenset()
        rounds = self._sequential.first_look_count
        chosen: set[Combination] = set()
        for cells in self._by_workload.values():
            begin, end = (AA_PAIRS * i // rounds for i in (index, index + 1))
            chosen |= {cells[i % len(cells)] for i in range(begin, end)}
        return frozenset(chosen)


def sequential(
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
    needs: EngineNeeds | None = None,
) -> Sequential | None:
    """Choose how many rounds a plan has; None where the suite does not stop when it is decided.

    More than the time allows for all cells, as those that are decided leave theirs to the others.
    Raises SpecError when not even the first look fits into the time.
    """
    if suite.measure.until != "decided":
        return None
    cells = combinations(suite, workloads)
    family_count = len(cells) * (len(environments) - 1)
    first = first_look(family_count)
    watched = 0 if suite.measure.probes == "off" else _WATCHED_ROUNDS
    set_up_s = estimating.set_up_s(environments, suite.scale, needs)
    at_most_s = suite.measure.at_most
    first_s = set_up_s + first * _round_s(suite, cells, len(environments), first)
    first_s += watched * len(cells) * len(environments) * estimating.WATCHING_S
    if first_s > at_most_s:
        needed = estimating.minutes(first_s)
        raise SpecError(
            f"measure.at_most: {first} rounds take {needed}, more than"
            f" {estimating.minutes(at_most_s)}",
            f"nothing can be decided sooner: give at_most more than {needed}, or compare less",
        )
    # As many as there is time for where nothing is decided: small differences take hundreds.
    whole = int((at_most_s - set_up_s) / _round_s(suite, cells, len(environments), first))
    return Sequential(
        margin_ratio=suite.measure.margin,
        at_most_s=at_most_s,
        first_look_count=first,
        round_count=max(_MOST_LOOKS_RATIO * first, whole),
        family_count=family_count,
        set_up_s=set_up_s,
        between_s=estimating.SLICE_BETWEEN_S,
        watched_round_count=watched,
    )


def _round_s(
    suite: spec.Suite, cells: Sequence[Combination], environment_count: int, rounds: int
) -> float:
    """Estimate the wall time of a round, with its share of twins."""
    block_s = {cell: _slice_s(suite, cell) for cell in cells}
    names = {cell.workload.name for cell in cells}
    twins_s = sum(
        AA_PAIRS / rounds * max(s for cell, s in block_s.items() if cell.workload.name == name)
        for name in names
    )
    return environment_count * sum(block_s.values()) + twins_s


def _slice_s(suite: spec.Suite, cell: Combination) -> float:
    return estimating.slice_wall_s(
        duration_s(suite, cell.workload, cell.clients) + suite.measure.warm_up,
        clients=cell.clients,
        scale=suite.scale,
        writes=cell.workload.writes,
    )
