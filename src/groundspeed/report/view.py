"""Findings as tables and figures: already worded, ordered and numbered, laid out by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse import Answer
from groundspeed.analyse.advice import saving_sentence
from groundspeed.report.advice_view import advice_view
from groundspeed.report.beside_view import beside_view
from groundspeed.report.capacity_view import capacity_view
from groundspeed.report.cluster_view import cluster_view
from groundspeed.report.devices import device_table
from groundspeed.report.facts import fact_row, fact_table, label_of
from groundspeed.report.figure_view import figures, seconds_panels
from groundspeed.report.scaling import (
    NOTHING,
    format_bytes,
    format_ratio,
    format_seconds,
    format_span,
    format_tps,
    interval_text,
    range_text,
)
from groundspeed.report.scaling_view import scaling_figures
from groundspeed.report.shapes import (
    ComparisonRow,
    ComparisonTable,
    DeviceRow,
    DeviceTable,
    FactRow,
    FactTable,
    Figure,
    FigureMetric,
    Line,
    Note,
    Panel,
    Point,
    ReportView,
    ResultRow,
    ResultTable,
    SecondsPanel,
    SecondsSeries,
    Summary,
)
from groundspeed.report.timeline_view import timeline_groups
from groundspeed.report.why_view import Whys, guard_notes, why_rows

if TYPE_CHECKING:
    from groundspeed.analyse import (
        CellSummary,
        Comparison,
        Findings,
    )

__all__ = [
    "ComparisonRow",
    "ComparisonTable",
    "DeviceRow",
    "DeviceTable",
    "FactRow",
    "FactTable",
    "Figure",
    "FigureMetric",
    "Line",
    "Note",
    "Panel",
    "Point",
    "ReportView",
    "ResultRow",
    "ResultTable",
    "SecondsPanel",
    "SecondsSeries",
    "Summary",
    "format_bytes",
    "format_ratio",
    "format_seconds",
    "format_span",
    "format_tps",
    "interval_text",
    "range_text",
    "view",
]


def view(findings: Findings) -> ReportView:
    """Turn findings into tables and figures; order of environments as in the findings."""
    names = tuple(facts.environment for facts in findings.environments)
    whys = Whys(findings)
    return ReportView(
        summary=_summary(findings),
        environments=names,
        verdicts=tuple(v.sentence for v in findings.verdicts),
        guards=guard_notes(findings, whys),
        whys=why_rows(findings, whys),
        scalings=scaling_figures(findings),
        words=findings.words,
        comparisons=ComparisonTable(
            baseline=findings.baseline,
            baseline_label=label_of(findings.baseline, findings.emulated),
            rows=tuple(_comparison(c, whys) for c in findings.comparisons),
            threads_vary=len({c.threads for c in findings.comparisons}) > 1,
            scale_varies=len({c.scale for c in findings.comparisons}) > 1,
        ),
        results=ResultTable(
            rows=tuple(_result(c, whys) for c in findings.cells),
            threads_vary=len({c.threads for c in findings.cells}) > 1,
            scale_varies=len({c.scale for c in findings.cells}) > 1,
            has_intervals=any(c.tps_per_s.low is not None for c in findings.cells),
        ),
        devices=device_table(findings),
        figures=figures(findings, names),
        seconds=seconds_panels(findings.seconds, names),
        timelines=timeline_groups(findings),
        facts=fact_table(findings.environments, findings.emulated),
        differences=FactTable(
            environments=names,
            labels=tuple(label_of(name, findings.emulated) for name in names),
            rows=tuple(
                fact_row(d.fact, [dict(d.values).get(name, NOTHING) for name in names])
                for d in findings.differences
            ),
        ),
        notes=tuple(
            Note(number=number, code=f.code, text=f"{f.message} ({_trials(f.count)})")
            for number, f in enumerate(findings.footnotes, 1)
        ),
        cautions=tuple(
            Note(number=number, code=c.code, text=c.message)
            for number, c in enumerate(findings.cautions, 1)
        ),
        advice=advice_view(findings),
        beside=beside_view(findings),
        capacity=capacity_view(findings),
        cluster=cluster_view(findings),
        saving=saving_sentence(findings),
    )


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count:,} trials"


def _summary(findings: Findings) -> Summary:
    counts = [f"{findings.measured_count:,} of {_trials(findings.planned_trial_count)} measured"]
    if findings.failed_count:
        counts.append(f"{findings.failed_count:,} failed")
    if findings.skipped_count:
        counts.append(f"{findings.skipped_count:,} skipped")
    first, last = findings.first_started_at, findings.last_started_at
    period = NOTHING if first is None or last is None else first
    if first is not None and last is not None and first != last:
        period = f"{first} to {last}"
    return Summary(
        title=findings.suite_name,
        description=findings.description,
        run_ids=findings.run_ids,
        counts=", ".join(counts),
        period=period,
        baseline=findings.baseline,
    )


def _result(cell: CellSummary, whys: Whys) -> ResultRow:
    tps = cell.tps_per_s
    return ResultRow(
        environment=cell.environment,
        label=label_of(cell.environment, (cell.environment,) if cell.emulated else ()),
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        n=tps.n,
        tps=format_tps(tps.median),
        tps_interval=format_span(tps.low, tps.high, format_tps),
        tps_range=f"{format_tps(tps.minimum)} to {format_tps(tps.maximum)}",
        tps_sentence=interval_text(tps, format_tps),
        p50=format_seconds(cell.p50_s.median),
        p95=format_seconds(cell.p95_s.median),
        p99=format_seconds(cell.p99_s.median),
        p999=format_seconds(cell.p999_s.median),
        maximum=format_seconds(cell.max_s.maximum),
        failed_transactions=NOTHING
        if cell.failed_transaction_count is None
        else f"{cell.failed_transaction_count:,}",
        notes=tuple(index + 1 for index in cell.footnotes),
        bottleneck=whys.name(cell),
        guards=whys.marks(cell),
    )


def _comparison(comparison: Comparison, whys: Whys) -> ComparisonRow:
    answer = comparison.answer.value
    return ComparisonRow(
        workload=comparison.workload,
        clients=comparison.clients,
        threads=comparison.threads,
        scale=comparison.scale,
        baseline=comparison.baseline,
        environment=comparison.environment,
        label=label_of(
            comparison.environment, (comparison.environment,) if comparison.emulated else ()
        ),
        pairs=comparison.pair_count,
        tps_ratio=format_ratio(comparison.tps_ratio),
        tps_interval=format_span(comparison.tps_low, comparison.tps_high, format_ratio),
        p99_ratio=format_ratio(comparison.p99_ratio),
        p99_interval=format_span(comparison.p99_low, comparison.p99_high, format_ratio),
        answer=comparison.answer,
        answer_text=f"{answer}: {comparison.why}"
        if comparison.answer is Answer.UNDECIDED
        else answer,
        bottleneck=whys.name(comparison),
        guards=whys.marks(comparison, comparison.baseline),
    )
