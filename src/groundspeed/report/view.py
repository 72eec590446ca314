"""Findings as tables and figures: already worded, ordered and numbered, laid out by others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse import Answer
from groundspeed.report.devices import device_table
from groundspeed.report.facts import fact_row, fact_table, label_of
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

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse import (
        CellSummary,
        Comparison,
        Estimate,
        Findings,
        SecondsLine,
    )
    from groundspeed.record import SecondRow

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

THROUGHPUT = FigureMetric(key="tps", label="Throughput, transactions/s", unit="transactions/s")
P99 = FigureMetric(key="p99", label="p99 latency", unit="s")


def view(findings: Findings) -> ReportView:
    """Turn findings into tables and figures; order of environments as in the findings."""
    names = tuple(facts.environment for facts in findings.environments)
    return ReportView(
        summary=_summary(findings),
        environments=names,
        verdicts=tuple(v.sentence for v in findings.verdicts),
        comparisons=ComparisonTable(
            baseline=findings.baseline,
            baseline_label=label_of(findings.baseline, findings.emulated),
            rows=tuple(_comparison(c) for c in findings.comparisons),
            threads_vary=len({c.threads for c in findings.comparisons}) > 1,
            scale_varies=len({c.scale for c in findings.comparisons}) > 1,
        ),
        results=ResultTable(
            rows=tuple(_result(c) for c in findings.cells),
            threads_vary=len({c.threads for c in findings.cells}) > 1,
            scale_varies=len({c.scale for c in findings.cells}) > 1,
            has_intervals=any(c.tps_per_s.low is not None for c in findings.cells),
        ),
        devices=device_table(findings),
        figures=(
            _figure("Throughput by number of clients", THROUGHPUT, findings, names),
            _figure("p99 latency by number of clients", P99, findings, names),
        )
        if findings.cells
        else (),
        seconds=_seconds(findings.seconds, names),
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


def _result(cell: CellSummary) -> ResultRow:
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
        failed_transactions=f"{cell.failed_transaction_count:,}",
        notes=tuple(index + 1 for index in cell.footnotes),
    )


def _comparison(comparison: Comparison) -> ComparisonRow:
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
    )


def _figure(title: str, metric: FigureMetric, findings: Findings, names: Sequence[str]) -> Figure:
    groups: dict[tuple[str, int, int], dict[str, list[CellSummary]]] = {}
    for cell in findings.cells:
        group = groups.setdefault((cell.workload, cell.threads, cell.scale), {})
        group.setdefault(cell.environment, []).append(cell)
    threads_vary = len({threads for _, threads, _ in groups}) > 1
    scale_varies = len({scale for _, _, scale in groups}) > 1
    return Figure(
        title=title,
        metric=metric,
        panels=tuple(
            Panel(
                title=workload
                + (f", {threads} thread{'' if threads == 1 else 's'}" if threads_vary else "")
                + (f", scale {scale:,}" if scale_varies else ""),
                workload=workload,
                threads=threads,
                scale=scale,
                lines=_lines(group, metric, names),
            )
            for (workload, threads, scale), group in groups.items()
        ),
    )


def _lines(
    group: dict[str, list[CellSummary]], metric: FigureMetric, names: Sequence[str]
) -> tuple[Line, ...]:
    lines: list[Line] = []
    for index, name in enumerate(names):
        points = [_point(cell, metric) for cell in group.get(name, [])]
        # A picture has no place for what is no number; the table shows a dash.
        drawn = tuple(p for p in points if math.isfinite(p.median))
        if drawn:
            lines.append(Line(environment=name, environment_index=index, points=drawn))
    return tuple(lines)


def _point(cell: CellSummary, metric: FigureMetric) -> Point:
    estimate: Estimate = cell.tps_per_s if metric is THROUGHPUT else cell.p99_s
    scale: Callable[[float], str] = format_tps if metric is THROUGHPUT else format_seconds
    return Point(
        clients=cell.clients,
        n=estimate.n,
        median=estimate.median,
        low=estimate.low,
        high=estimate.high,
        minimum=estimate.minimum,
        maximum=estimate.maximum,
        text=interval_text(estimate, scale),
    )


def _seconds(lines: Sequence[SecondsLine], names: Sequence[str]) -> tuple[SecondsPanel, ...]:
    groups: dict[tuple[str, int, int], list[SecondsLine]] = {}
    for line in lines:
        # One second is a dot: it says no more than the table.
        if len(line.rows) > 1:
            groups.setdefault((line.workload, line.threads, line.clients), []).append(line)
    panels: list[SecondsPanel] = []
    # Sorted: trials ran in a shuffled order.
    for (workload, threads, clients), group in sorted(groups.items()):
        who = "1 client" if clients == 1 else f"{clients:,} clients"
        on = f" on {threads} thread{'' if threads == 1 else 's'}"
        panels.append(
            SecondsPanel(
                title=f"{workload}, {who}{on}",
                workload=workload,
                clients=clients,
                threads=threads,
                series=tuple(
                    _series(line, names)
                    for line in sorted(
                        group, key=lambda x: (names.index(x.environment), x.repeat_index)
                    )
                ),
            )
        )
    return tuple(panels)


def _series(line: SecondsLine, names: Sequence[str]) -> SecondsSeries:
    return SecondsSeries(
        environment=line.environment,
        environment_index=names.index(line.environment),
        trial_id=line.trial_id,
        repeat_index=line.repeat_index,
        second=tuple(row.index for row in line.rows),
        tps_per_s=tuple(row.count / line.log_sampling_ratio for row in line.rows),
        p99_s=tuple(_p99_s(row) for row in line.rows),
    )


def _p99_s(row: SecondRow) -> float | None:
    # A second without an answer has no latency, which is not a latency of zero.
    return None if row.p99_us is None or not row.count else row.p99_us / 1e6
