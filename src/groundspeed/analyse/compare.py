"""Environments against the baseline, pair by pair inside the blocks of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.cells import reading_order
from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.findings import Answer, Comparison
from groundspeed.stats.paired_ratio import RatioInterval, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.doubts import FootnoteBook
    from groundspeed.plan import Cell

_NO_PAIR = RatioInterval(n=0, ratio=math.nan, low=None, high=None, confidence_ratio=None)
Pair = tuple[float, float]


def compare(settled: Settled, baseline: str, book: FootnoteBook) -> tuple[Comparison, ...]:
    """Compare each environment in each cell where the baseline has a measurement too.

    Pairs share run, block and every factor but the environment: what the machine did to one half
    it did to the other. Trials of different blocks are never paired.
    """
    blocks: dict[tuple[str, int, Cell], MeasuredTrial] = {}
    for trial in settled.measured:
        planned = trial.record.trial
        blocks.setdefault((trial.run.run_id, planned.block_index, planned.cell), trial)
    halves: dict[Cell, list[tuple[MeasuredTrial, MeasuredTrial | None]]] = {}
    for (run_id, block, cell), trial in blocks.items():
        if cell.environment != baseline:
            twin = msgspec.structs.replace(cell, environment=baseline)
            pair = (trial, blocks.get((run_id, block, twin)))
            halves.setdefault(cell, []).append(pair)
    measured = {cell for _, _, cell in blocks}
    return tuple(
        _comparison(
            settled, cell, baseline, [(a, b) for a, b in halves[cell] if b is not None], book
        )
        for cell in sorted(halves, key=lambda cell: reading_order(settled, cell))
        if msgspec.structs.replace(cell, environment=baseline) in measured
    )


def _comparison(
    settled: Settled,
    cell: Cell,
    baseline: str,
    halves: Sequence[tuple[MeasuredTrial, MeasuredTrial]],
    book: FootnoteBook,
) -> Comparison:
    twin = msgspec.structs.replace(cell, environment=baseline)
    names = f"{settled.label(cell.environment)} and {settled.label(baseline)}"
    tps = _usable([(a.outcome.tps_per_s, b.outcome.tps_per_s) for a, b in halves])
    p99 = _usable([(a.outcome.latency.p99_s, b.outcome.latency.p99_s) for a, b in halves])
    for metric, kept in (("throughput", tps), ("p99 latency", p99)):
        if len(kept) < len(halves):
            message = f"pairs with a {metric} of zero or none are left out of comparing {names}"
            book.add("pair-dropped", message, [cell, twin], count=len(halves) - len(kept))
    tps_ratio = paired_ratio(tps, CONFIDENCE_RATIO) if tps else _NO_PAIR
    p99_ratio = paired_ratio(p99, CONFIDENCE_RATIO) if p99 else _NO_PAIR
    answer, why = _answer(tps_ratio)
    return Comparison(
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        baseline=baseline,
        environment=cell.environment,
        pair_count=tps_ratio.n,
        tps_ratio=tps_ratio.ratio,
        tps_low=tps_ratio.low,
        tps_high=tps_ratio.high,
        p99_ratio=p99_ratio.ratio,
        p99_low=p99_ratio.low,
        p99_high=p99_ratio.high,
        confidence_ratio=tps_ratio.confidence_ratio,
        answer=answer,
        why=why,
        emulated=cell.environment in settled.emulated,
        baseline_emulated=baseline in settled.emulated,
    )


def _usable(pairs: Sequence[Pair]) -> list[Pair]:
    """Leave out what has no ratio: a throughput of zero would be infinitely slower."""
    return [pair for pair in pairs if all(math.isfinite(v) and v > 0 for v in pair)]


def _answer(ratio: RatioInterval) -> tuple[Answer, str]:
    if ratio.low is None or ratio.high is None:
        pairs = "1 pair" if ratio.n == 1 else f"{ratio.n} pairs"
        needed = f"{TRIALS_NEEDED} are needed for a {CONFIDENCE_RATIO:.0%} interval"
        return Answer.UNDECIDED, f"{pairs}, {needed}"
    if ratio.low > 1:
        return Answer.FASTER, ""
    if ratio.high < 1:
        return Answer.SLOWER, ""
    return Answer.UNDECIDED, "the interval includes 1"
