"""Trials as figures: what was measured of each, and which of them make pairs.

A trial that nobody watched has its figures all the same: in a run that stops when it is decided
most of them are not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from groundspeed.analyse.attempts import Settled

Pair = tuple[float, float]


class CellPlace(NamedTuple):
    """A cell without its environment."""

    workload: str
    clients: int
    threads: int
    scale: int


class TrialFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One measured trial: its cell, its block in its run, and what came out.

    Twins, which measure the noise floor, are none. NaN where a figure is not known.
    """

    run_id: str
    block_index: int
    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    duration_s: int
    tps_per_s: float
    p99_s: float

    @property
    def place(self) -> CellPlace:
        """Its cell without the environment."""
        return CellPlace(self.workload, self.clients, self.threads, self.scale)


class GeometricMeanOfRatios(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of an environment over the baseline's, as the geometric mean over cells of a workload.

    Each cell counts alike. The interval is at 95%, over rounds in which every cell has a pair; None
    below six of them, or before the first look of a run that stops when it is decided. Two runs
    have no rounds: then `round_count` is 0.
    """

    workload: str
    baseline: str
    environment: str
    cell_count: int
    round_count: int
    ratio: float
    low: float | None
    high: float | None


def trial_figures(settled: Settled) -> tuple[TrialFigures, ...]:
    """Take the figures of every measured trial, in the order of measurement."""
    return tuple(
        TrialFigures(
            run_id=measured.run.run_id,
            block_index=trial.block_index,
            environment=trial.cell.environment,
            workload=trial.cell.workload,
            clients=trial.cell.clients,
            threads=trial.cell.threads,
            scale=trial.cell.scale,
            duration_s=trial.duration_s,
            tps_per_s=measured.outcome.tps_per_s,
            p99_s=measured.outcome.latency.p99_s,
        )
        for measured in settled.measured
        for trial in (measured.record.trial,)
        if not trial.twin
    )


def pairs_between(
    figures: Iterable[TrialFigures],
    sides: tuple[str, str],
    workloads: Collection[str],
    value: Callable[[TrialFigures], float],
) -> dict[CellPlace, list[Pair]]:
    """Pair the trials of two environments inside blocks, in each cell that has a pair.

    What has no ratio is left out: values that are not finite or not above 0.
    """
    blocks: dict[tuple[str, int, CellPlace], dict[str, float]] = {}
    for trial in figures:
        if trial.environment in sides and trial.workload in workloads:
            block = blocks.setdefault((trial.run_id, trial.block_index, trial.place), {})
            block.setdefault(trial.environment, value(trial))
    pairs: dict[CellPlace, list[Pair]] = {}
    for (_, _, place), block in blocks.items():
        first, second = (block.get(side, math.nan) for side in sides)
        if all(math.isfinite(v) and v > 0 for v in (first, second)):
            pairs.setdefault(place, []).append((first, second))
    return pairs
