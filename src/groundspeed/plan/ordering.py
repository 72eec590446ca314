"""The order of trials: blocks, shuffled within each repeat, environments shuffled within each."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.plan import rounds
from groundspeed.plan.naming import slugs
from groundspeed.plan.parts import Cell, Sequential, Trial

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from groundspeed import spec
    from groundspeed.plan.parts import CapacitySearch, EnvironmentPlan, WorkloadPlan
    from groundspeed.plan.rounds import Combination


class _Place(NamedTuple):
    """Where a trial stands in its plan, and what it shares with the others of its block."""

    block_index: int
    repeat_index: int
    where: str
    duration_s: int
    random_seed: int


def trials(
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
    stopping: Sequential | CapacitySearch | None,
    rng: Random,
) -> tuple[Trial, ...]:
    """Put every combination into a block, once in each repeat or round, in shuffled order.

    Blocks are shuffled within a repeat, not over all repeats: an interrupted run then has seen
    every cell about equally often.
    """
    repeats = suite.measure.repeats if stopping is None else stopping.round_count
    combinations = rounds.combinations(suite, workloads)
    # Only comparisons have a noise floor; a search compares slices with its bound.
    twins = rounds.Twins(combinations, stopping if isinstance(stopping, Sequential) else None)
    stems = dict(zip((w.name for w in workloads), slugs([w.name for w in workloads]), strict=True))
    found: list[Trial] = []
    block_index = 0
    for repeat_index in range(repeats):
        doubled = twins.of_round(repeat_index)
        for combination in rng.sample(combinations, len(combinations)):
            workload, clients, threads = combination
            place = _Place(
                block_index=block_index,
                repeat_index=repeat_index,
                where=f"{stems[workload.name]}-c{clients}-j{threads}",
                duration_s=round(rounds.duration_s(suite, workload, clients)),
                random_seed=rng.getrandbits(31),
            )
            sides = _sides(environments, doubled=combination in doubled)
            for environment, twin in rng.sample(sides, len(sides)):
                found.append(_trial(suite, environment, combination, place, twin=twin))
            block_index += 1
    return tuple(found)


def _sides(
    environments: Sequence[EnvironmentPlan], *, doubled: bool
) -> list[tuple[EnvironmentPlan, bool]]:
    """List whom a block measures; shuffled with the others, twins are as far apart as any pair."""
    sides = [(environment, False) for environment in environments]
    return [*sides, (environments[0], True)] if doubled else sides


def _trial(
    suite: spec.Suite,
    environment: EnvironmentPlan,
    combination: Combination,
    place: _Place,
    *,
    twin: bool,
) -> Trial:
    workload, clients, threads = combination
    trial_id = f"{environment.slug}.{place.where}.r{place.repeat_index + 1}"
    return Trial(
        trial_id=f"{trial_id}-twin" if twin else trial_id,
        block_index=place.block_index,
        repeat_index=place.repeat_index,
        cell=Cell(
            environment=environment.name,
            workload=workload.name,
            clients=clients,
            threads=threads,
            scale=suite.scale,
        ),
        duration_s=place.duration_s,
        warm_up_s=suite.measure.warm_up,
        protocol=suite.pgbench.protocol,
        rate_per_s=suite.pgbench.rate,
        latency_limit_s=suite.pgbench.latency_limit,
        max_tries=suite.pgbench.max_tries,
        progress_s=round(suite.pgbench.progress),
        random_seed=place.random_seed,
        twin=twin,
    )


def blocks(of: Sequence[Trial]) -> Iterator[tuple[Trial, ...]]:
    """Give trials that stand in order block by block."""
    block: list[Trial] = []
    for trial in of:
        if block and trial.block_index != block[0].block_index:
            yield tuple(block)
            block = []
        block.append(trial)
    if block:
        yield tuple(block)
