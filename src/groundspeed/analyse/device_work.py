"""What emulated devices did, cell by cell: the evidence for why an environment is slow.

Waits are divided by transactions, because two environments that differ in throughput differ in
everything a second; each figure is the median over the trials of a cell.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from groundspeed.analyse.cells import reading_order
from groundspeed.analyse.findings import DeviceWork

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.plan import Cell
    from groundspeed.record import StorageWork


def device_work(settled: Settled) -> tuple[DeviceWork, ...]:
    """Summarise the emulated devices, a row for each cell that had one; in reading order."""
    groups: dict[Cell, list[tuple[MeasuredTrial, StorageWork]]] = {}
    for trial in settled.measured:
        work = trial.record.storage_work
        if work is not None:
            groups.setdefault(trial.record.trial.cell, []).append((trial, work))
    cells = sorted(groups, key=lambda cell: reading_order(settled, cell))
    return tuple(_summary(cell, groups[cell]) for cell in cells)


def _summary(cell: Cell, trials: Sequence[tuple[MeasuredTrial, StorageWork]]) -> DeviceWork:
    def middle(value: Callable[[StorageWork], float]) -> float:
        return _median([value(work) for _, work in trials])

    def each(value: Callable[[StorageWork], float]) -> float:
        return _median(
            [_ratio(value(work), t.outcome.transaction_count or 0) for t, work in trials]
        )

    return DeviceWork(
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        n=len(trials),
        read_wait_s=each(lambda w: w.read_waited_s),
        write_wait_s=each(lambda w: w.write_waited_s),
        sync_wait_s=each(lambda w: w.sync_waited_s),
        throttled_wait_s=each(lambda w: w.throttled_s),
        reads_per_s=middle(lambda w: w.read_request_count / w.elapsed_s),
        writes_per_s=middle(lambda w: w.write_request_count / w.elapsed_s),
        syncs_per_s=middle(lambda w: w.sync_call_count / w.elapsed_s),
        read_bytes_per_s=middle(lambda w: w.read_request_bytes / w.elapsed_s),
        write_bytes_per_s=middle(lambda w: w.write_request_bytes / w.elapsed_s),
        hit_ratio=middle(lambda w: _ratio(w.hit_page_count, w.hit_page_count + w.miss_page_count)),
        mean_depth_count=middle(lambda w: w.mean_depth_count),
        max_depth_count=max(w.max_depth_count for _, w in trials),
        late_ratio=middle(_late_ratio),
        credits_left_ratio=min(
            (_ratio(c.left, c.capacity) for _, w in trials for c in w.credits if c.capacity > 0),
            default=None,
        ),
    )


def _late_ratio(work: StorageWork) -> float:
    return _ratio(work.late_s, work.read_waited_s + work.write_waited_s + work.sync_waited_s)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _median(values: Sequence[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return median(finite) if finite else math.nan
