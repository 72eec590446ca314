"""Cells and seconds become figures as numbers: which lines, in which panels, under which names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.report.scaling import format_seconds, format_tps, interval_text
from groundspeed.report.shapes import (
    Figure,
    FigureMetric,
    Line,
    Panel,
    Point,
    SecondsPanel,
    SecondsSeries,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse import CellSummary, Estimate, Findings, SecondsLine
    from groundspeed.record import SecondRow

_P99 = FigureMetric(key="p99", label="p99 latency", unit="s")


def figures(findings: Findings, names: Sequence[str]) -> tuple[Figure, ...]:
    """Give throughput and p99 against clients; none where nothing was measured."""
    if not findings.cells:
        return ()
    return (
        _figure("Throughput by number of clients", _throughput(findings), findings, names),
        _figure("p99 latency by number of clients", _P99, findings, names),
    )


def _throughput(findings: Findings) -> FigureMetric:
    unit = findings.words.per_s
    return FigureMetric(key="tps", label=f"Throughput, {unit}", unit=unit)


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
    estimate: Estimate = cell.p99_s if metric is _P99 else cell.tps_per_s
    scale: Callable[[float], str] = format_seconds if metric is _P99 else format_tps
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


def seconds_panels(lines: Sequence[SecondsLine], names: Sequence[str]) -> tuple[SecondsPanel, ...]:
    """Group the trials second by second: a panel for each workload, clients and threads."""
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
        p99_s=tuple(p99_of(row) for row in line.rows),
    )


def p99_of(row: SecondRow) -> float | None:
    """Give the p99 of a second; seconds."""
    # A second without an answer has no latency, which is not a latency of zero.
    return None if row.p99_us is None or not row.count else row.p99_us / 1e6
