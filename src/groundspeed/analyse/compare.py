"""Environments against the baseline, pair by pair inside the blocks of a run."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.cells import reading_order
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.decisions import MARGIN_RATIO, Pair, decide, decide_once
from groundspeed.analyse.findings import Comparison
from groundspeed.analyse.pairs import (
    RunTrial,
    halves_by_cell,
    key_of,
    noise_floors,
    usable,
)
from groundspeed.stats.paired_ratio import RatioInterval, paired_ratio
from groundspeed.stats.sequential import always_valid_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import Settled
    from groundspeed.analyse.decisions import Decision, Rule
    from groundspeed.analyse.doubts import FootnoteBook
    from groundspeed.plan import Cell

_NO_PAIR = RatioInterval(n=0, ratio=math.nan, low=None, high=None, confidence_ratio=None)
_Halves = dict["Cell", tuple[tuple[RunTrial, RunTrial], ...]]


def compare(
    settled: Settled,
    baseline: str,
    book: FootnoteBook,
    *,
    margin_ratio: float = MARGIN_RATIO,
) -> tuple[Comparison, ...]:
    """Compare each environment in each cell where the baseline has a measurement too.

    Pairs share run, block and every factor but the environment: what the machine did to one half
    it did to the other. Trials of different blocks are never paired. Where a run stopped when it
    was decided, its rule answers; else the design was fixed and there is one look, with
    `margin_ratio` for what is equivalent. The answers allow for the number of comparisons.
    """
    trials = [
        RunTrial(run_id=t.run.run_id, record=t.record, outcome=t.outcome)
        for t in settled.measured
        # What was imported shares a block with nothing.
        if t.record.provenance.imported is None
    ]
    halves = halves_by_cell(trials, baseline)
    cells = sorted(halves, key=lambda cell: reading_order(settled, cell))
    tps = {cell: _kept(settled, cell, baseline, halves, book) for cell in cells}
    pairs = {key_of(cell, baseline): tps[cell] for cell in cells}
    floors = noise_floors(trials)
    rule = _rule(settled, len(pairs))
    if rule is None:
        decisions = decide_once(pairs, margin_ratio=margin_ratio, floors=floors)
    else:
        decisions = decide(pairs, rule, floors)
    margin = margin_ratio if rule is None else rule.margin_ratio
    return tuple(
        msgspec.structs.replace(
            _comparison(settled, decision, tps[cell], _p99(halves[cell]), rule),
            margin_ratio=margin,
            floor_ratio=floors.get(cell.workload),
        )
        for cell, decision in zip(cells, decisions, strict=True)
    )


def _rule(settled: Settled, comparison_count: int) -> Rule | None:
    """Give the rule of the first run that has one; its family is at least what is compared."""
    rule = next((run.rule for run in settled.runs if run.rule is not None), None)
    if rule is None:
        return None
    count = max(rule.family_count, comparison_count)
    return msgspec.structs.replace(rule, family_count=count)


def _p99(halves: Sequence[tuple[RunTrial, RunTrial]]) -> tuple[Pair, ...]:
    return usable((a.outcome.latency.p99_s, b.outcome.latency.p99_s) for a, b in halves)


def _kept(
    settled: Settled, cell: Cell, baseline: str, halves: _Halves, book: FootnoteBook
) -> tuple[Pair, ...]:
    """Take the pairs of throughput; what has no ratio is told in a footnote, that of p99 too."""
    twin_cells = [cell, *(t.record.trial.cell for _, t in halves[cell][:1])]
    names = f"{settled.label(cell.environment)} and {settled.label(baseline)}"
    tps = usable((a.outcome.tps_per_s, b.outcome.tps_per_s) for a, b in halves[cell])
    for metric, kept in (("throughput", tps), ("p99 latency", _p99(halves[cell]))):
        dropped = len(halves[cell]) - len(kept)
        if dropped:
            message = f"pairs with a {metric} of zero or none are left out of comparing {names}"
            book.add("pair-dropped", message, twin_cells, count=dropped)
    return tps


def _comparison(
    settled: Settled,
    decision: Decision,
    tps: Sequence[Pair],
    p99: Sequence[Pair],
    rule: Rule | None,
) -> Comparison:
    by_itself = paired_ratio(tps, CONFIDENCE_RATIO) if tps else _NO_PAIR
    p99_ratio = paired_ratio(p99, CONFIDENCE_RATIO) if p99 else _NO_PAIR
    if rule is not None:
        # Pairs that stopped by their throughput were stopped by their latency too.
        low, high = always_valid_interval(p99, rule, rule.error_ratio)
        p99_ratio = msgspec.structs.replace(p99_ratio, low=low, high=high)
    fixed = rule is None
    return Comparison(
        workload=decision.workload,
        clients=decision.clients,
        threads=decision.threads,
        scale=decision.scale,
        baseline=decision.baseline,
        environment=decision.environment,
        pair_count=decision.pair_count,
        tps_ratio=decision.ratio,
        tps_low=by_itself.low if fixed else decision.low,
        tps_high=by_itself.high if fixed else decision.high,
        p99_ratio=p99_ratio.ratio,
        p99_low=p99_ratio.low,
        p99_high=p99_ratio.high,
        confidence_ratio=by_itself.confidence_ratio if rule is None else 1 - rule.error_ratio,
        answer=decision.answer,
        why=decision.why,
        emulated=decision.environment in settled.emulated,
        baseline_emulated=decision.baseline in settled.emulated,
        adjusted=True,
        p_value=decision.p_value,
        more_pairs_count=decision.more_pairs_count,
    )
