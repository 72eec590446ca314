"""Which trials make a pair: neighbours in a block, alike in all but what is compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.decisions import ComparisonKey, Pair
from groundspeed.record import Measured, Record
from groundspeed.stats.noise_floor import noise_floor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.plan import Cell


class RunTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A measured record and the run it is from: blocks of two runs may have one number."""

    run_id: str
    record: Record
    outcome: Measured


def measured_trials(records: Iterable[Record], run_id: str = "") -> tuple[RunTrial, ...]:
    """Pick the records with a measurement; of two measurements of one trial, the first."""
    first: dict[str, RunTrial] = {}
    for record in records:
        if isinstance(record.outcome, Measured):
            trial = RunTrial(run_id=run_id, record=record, outcome=record.outcome)
            first.setdefault(record.trial.trial_id, trial)
    return tuple(first.values())


def key_of(cell: Cell, baseline: str) -> ComparisonKey:
    """Name the comparison of a cell with the same one of the baseline."""
    return ComparisonKey(
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        baseline=baseline,
        environment=cell.environment,
    )


def halves_by_cell(
    trials: Sequence[RunTrial], baseline: str
) -> dict[Cell, tuple[tuple[RunTrial, RunTrial], ...]]:
    """Pair the trials of each environment with those of the baseline in the same block.

    Every cell that the baseline has too; without a common block, with no pair. Pairs are in the
    order of runs and blocks. Twins, which measure the noise floor, are no part of it.
    """
    blocks: dict[tuple[str, int, Cell], RunTrial] = {}
    for trial in trials:
        planned = trial.record.trial
        if not planned.twin:
            blocks.setdefault((trial.run_id, planned.block_index, planned.cell), trial)
    measured = {cell for _, _, cell in blocks}
    found: dict[Cell, list[tuple[RunTrial, RunTrial]]] = {}
    runs = list(dict.fromkeys(run_id for run_id, _, _ in blocks))
    # A trial that was tried again stays in its block.
    for run_id, block, cell in sorted(blocks, key=lambda place: (runs.index(place[0]), place[1])):
        twin = msgspec.structs.replace(cell, environment=baseline)
        if cell.environment == baseline or twin not in measured:
            continue
        halves = found.setdefault(cell, [])
        other = blocks.get((run_id, block, twin))
        if other is not None:
            halves.append((blocks[run_id, block, cell], other))
    return {cell: tuple(halves) for cell, halves in found.items()}


def twins_by_workload(trials: Iterable[RunTrial]) -> dict[str, tuple[Pair, ...]]:
    """Give the A/A pairs of each workload: TPS of a twin over that of the trial it is a twin of.

    Both are of one cell in one block, where they were shuffled as the sides of a comparison are.
    """
    singles: dict[tuple[str, int, Cell], RunTrial] = {}
    twins: dict[tuple[str, int, Cell], RunTrial] = {}
    for trial in trials:
        planned = trial.record.trial
        half = twins if planned.twin else singles
        half.setdefault((trial.run_id, planned.block_index, planned.cell), trial)
    found: dict[str, tuple[Pair, ...]] = {}
    for place, twin in twins.items():
        if place in singles:
            pair = (twin.outcome.tps_per_s, singles[place].outcome.tps_per_s)
            workload = place[2].workload
            found[workload] = found.get(workload, ()) + usable([pair])
    return found


def noise_floors(trials: Iterable[RunTrial]) -> dict[str, float]:
    """Find the noise floor of each workload, as a ratio less 1, where A/A pairs are enough."""
    found = {
        workload: noise_floor(twins, CONFIDENCE_RATIO)
        for workload, twins in twins_by_workload(trials).items()
    }
    return {workload: floor for workload, floor in found.items() if floor is not None}


def usable(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Leave out what has no ratio: a throughput of zero would be infinitely slower."""
    return tuple(pair for pair in pairs if all(math.isfinite(v) and v > 0 for v in pair))
