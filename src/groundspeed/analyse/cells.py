"""Trials become cells: a median over repeats for each metric, with its interval and footnotes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse.circumstances import hidden_factors
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.findings import CellSummary, Estimate
from groundspeed.plan import words_of
from groundspeed.stats.median import median_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.doubts import FootnoteBook
    from groundspeed.plan import Cell


def estimate(values: Sequence[float]) -> Estimate:
    """Summarise one metric over trials; values that are not finite are left out."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        nan = math.nan
        return Estimate(
            n=0, median=nan, low=None, high=None, confidence_ratio=None, minimum=nan, maximum=nan
        )
    interval = median_interval(finite, CONFIDENCE_RATIO)
    return Estimate(
        n=interval.n,
        median=interval.median,
        low=interval.low,
        high=interval.high,
        confidence_ratio=interval.confidence_ratio,
        minimum=min(finite),
        maximum=max(finite),
    )


def reading_order(settled: Settled, cell: Cell) -> tuple[int, int, int, int, int]:
    """Order cells so that those to be compared stand together; for `sorted`."""
    return (
        settled.workloads.index(cell.workload),
        cell.scale,
        cell.threads,
        cell.clients,
        settled.environments.index(cell.environment),
    )


def summarise(settled: Settled, book: FootnoteBook) -> tuple[CellSummary, ...]:
    """Summarise every cell that has a measurement; adds the footnotes of their circumstances."""
    groups: dict[Cell, list[MeasuredTrial]] = {}
    for trial in settled.measured:
        # A twin is there for the noise floor; counted here too, its cell would have more repeats.
        if not trial.record.trial.twin:
            groups.setdefault(trial.record.trial.cell, []).append(trial)
    cells = sorted(groups, key=lambda cell: reading_order(settled, cell))
    for cell in cells:
        _footnotes(cell, groups[cell], book)
    return tuple(_summary(settled, cell, groups[cell], book) for cell in cells)


def _footnotes(cell: Cell, trials: Sequence[MeasuredTrial], book: FootnoteBook) -> None:
    for message in hidden_factors([t.record for t in trials]):
        book.add("hidden-factor", message, [cell], count=len(trials))
    # What the source of an import does not tell is absent, and told by a caution of its own.
    own = [t for t in trials if t.record.provenance.imported is None]
    odd = sum(not all(map(math.isfinite, _metrics(t).values())) for t in own)
    if odd:
        one = words_of(own[0].run.engine).one
        message = f"values that are not numbers (no {one} succeeded) are left out"
        book.add("not-finite", message, [cell], count=odd)


def _metrics(trial: MeasuredTrial) -> dict[str, float]:
    latency = trial.outcome.latency
    return {
        "tps_per_s": trial.outcome.tps_per_s,
        "mean_s": latency.mean_s,
        "p50_s": latency.p50_s,
        "p95_s": latency.p95_s,
        "p99_s": latency.p99_s,
        "p999_s": latency.p999_s,
        "max_s": latency.max_s,
    }


def _summary(
    settled: Settled, cell: Cell, trials: Sequence[MeasuredTrial], book: FootnoteBook
) -> CellSummary:
    rows = [_metrics(trial) for trial in trials]
    return CellSummary(
        run_ids=tuple(dict.fromkeys(t.run.run_id for t in trials)),
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        **{name: estimate([row[name] for row in rows]) for name in rows[0]},
        failed_transaction_count=_failed(trials),
        trial_ids=tuple(settled.name(t) for t in trials),
        footnotes=book.of_cell(cell),
        emulated=cell.environment in settled.emulated,
    )


def _failed(trials: Sequence[MeasuredTrial]) -> int | None:
    """Count the transactions that failed; None where the source of an import does not tell."""
    counts = [t.outcome.failed_count for t in trials]
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
