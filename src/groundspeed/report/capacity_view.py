"""Capacities in words and as figures: the highest rate of each cell that holds its bound."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from groundspeed.analyse.capacity.wording import because, bound_text, doubt, rate_text, sentence
from groundspeed.report.capacity_shapes import CapacityFigure, CapacityRow, CapacityView
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import NOTHING, format_seconds, format_tps

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.capacity.shapes import Capacity

_PERCENT = 100
_LEAST_MISSED_RATIO = 0.001


def capacity_view(findings: Findings) -> CapacityView:
    """Word every search and give its figure; workloads stand together."""
    found = findings.capacities
    if not found:
        return CapacityView()
    bounds = dict.fromkeys(bound_text(c.bound_s) for c in found)
    workloads = list(dict.fromkeys(c.workload for c in found))
    ordered = sorted(found, key=lambda c: workloads.index(c.workload))
    clients_vary = len({c.clients for c in found}) > 1
    threads_vary = len({c.threads for c in found}) > 1
    return CapacityView(
        title=f"Highest rate with {' or '.join(bounds)}",
        explanation="Latency of an open loop, counted from the moment a transaction was due: time"
        " in the queue is part of it. The ends of the 95% interval surely hold and surely break,"
        " whenever one looks. Rates were taken from one closed loop of each cell, which the other"
        " figures of this report are of.",
        rows=tuple(_row(c, findings) for c in ordered),
        figures=tuple(
            _figure(c, findings, clients=clients_vary, threads=threads_vary)
            for c in ordered
            if c.slices
        ),
        clients_vary=clients_vary,
        threads_vary=threads_vary,
    )


def _row(c: Capacity, findings: Findings) -> CapacityRow:
    failed = f", {c.failed_count} failed" if c.failed_count else ""
    known = c.closed_loop_per_s if math.isfinite(c.closed_loop_per_s) else None
    text = sentence(c)
    return CapacityRow(
        environment=c.environment,
        label=_label(c, findings),
        workload=c.workload,
        clients=c.clients,
        threads=c.threads,
        holds=NOTHING if c.rate_per_s is None or not c.is_bracketed else rate_text(c.rate_per_s),
        interval=_interval(c),
        breaks=NOTHING if c.high_per_s is None else rate_text(c.high_per_s),
        why=because(c).removeprefix(": ") or NOTHING,
        slices=f"{len(c.slices)}{failed}",
        closed_loop=NOTHING if known is None else rate_text(known),
        sentence=f"{text[:1].upper()}{text[1:]}.",
        doubt=doubt(c),
        is_bracketed=c.is_bracketed,
    )


def _label(c: Capacity, findings: Findings) -> str:
    label = label_of(c.environment, findings.emulated)
    runs = {other.run_id for other in findings.capacities}
    return f"{label}, {c.run_id}" if len(runs) > 1 else label


def _interval(c: Capacity) -> str:
    low = "?" if c.low_per_s is None else format_tps(c.low_per_s)
    high = "?" if c.high_per_s is None else format_tps(c.high_per_s)
    return NOTHING if low == high == "?" else f"[{low}, {high}]"


def _figure(c: Capacity, findings: Findings, *, clients: bool, threads: bool) -> CapacityFigure:
    by_rate: dict[float, list[float]] = {}
    for piece in c.slices:
        by_rate.setdefault(piece.rate_per_s, []).append(piece.p99_s)
    people = "1 client" if c.clients == 1 else f"{c.clients} clients"
    where = f", {people}" if clients else ""
    where += f" on {c.threads} thread{'' if c.threads == 1 else 's'}" if threads else ""
    return CapacityFigure(
        environment=c.environment,
        label=_label(c, findings),
        workload=c.workload,
        caption=f"{_label(c, findings)}{where}",
        sentence=_row(c, findings).sentence,
        bound_s=c.bound_s,
        bound_label=bound_text(c.bound_s),
        low_per_s=c.low_per_s,
        high_per_s=c.high_per_s,
        points=tuple(
            (s.rate_per_s, s.p99_s, s.holds, _told(s.rate_per_s, s.p99_s, s.missed_ratio))
            for s in c.slices
            if s.p99_s > 0
        ),
        line=tuple((rate, median(values)) for rate, values in sorted(by_rate.items())),
    )


def _told(rate_per_s: float, p99_s: float, missed_ratio: float) -> str:
    missed = (
        f", {missed_ratio * _PERCENT:.1f}% of what was due never begun or failed"
        if missed_ratio >= _LEAST_MISSED_RATIO
        else ""
    )
    return f"{rate_text(rate_per_s)}: p99 {format_seconds(p99_s)}{missed}"
