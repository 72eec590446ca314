"""Measured trials as guards look at them: by cell, in reading order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.cells import reading_order
from groundspeed.analyse.diagnosis import CellKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.plan import Cell
    from groundspeed.record.evidence import ServerSizes
    from groundspeed.record.machine import HostWork


def by_cell(settled: Settled) -> dict[Cell, list[MeasuredTrial]]:
    """Gather the measured trials of each cell; cells in reading order."""
    found: dict[Cell, list[MeasuredTrial]] = {}
    for trial in settled.measured:
        found.setdefault(trial.record.trial.cell, []).append(trial)
    return {c: found[c] for c in sorted(found, key=lambda cell: reading_order(settled, cell))}


def key_of(cell: Cell) -> CellKey:
    """Name a cell by its factors."""
    return CellKey(
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
    )


def keys_of(settled: Settled, cells: Iterable[Cell]) -> tuple[CellKey, ...]:
    """Name cells, each once, in reading order."""
    once = dict.fromkeys(cells)
    return tuple(
        key_of(cell) for cell in sorted(once, key=lambda cell: reading_order(settled, cell))
    )


def environments_of(settled: Settled, cells: Iterable[Cell]) -> tuple[str, ...]:
    """List the environments of cells in the order of the plan."""
    names = {cell.environment for cell in cells}
    return tuple(name for name in settled.environments if name in names)


def sizes_of(trial: MeasuredTrial) -> ServerSizes | None:
    """Give the sizes that probes saw; None without them."""
    evidence = trial.record.evidence
    if evidence is None or evidence.postgres is None:
        return None
    return evidence.postgres.sizes


def host_of(trial: MeasuredTrial) -> HostWork | None:
    """Give what probes saw of the machine; None without them."""
    return None if trial.record.evidence is None else trial.record.evidence.host
