"""Findings as Markdown for an issue or a pull request: tables as GitHub reads them.

Names are the user's own and are escaped, so that a pipe ends no cell and a tag stays text.
"""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from groundspeed.analyse import TRIALS_NEEDED
from groundspeed.report.advice_markdown import advice_parts
from groundspeed.report.beside_markdown import beside_parts
from groundspeed.report.capacity_markdown import capacity_parts
from groundspeed.report.cluster_markdown import cluster_parts
from groundspeed.report.markdown_text import escape
from groundspeed.report.markdown_text import table as lay_out
from groundspeed.report.view import DeviceRow, view

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.analyse import Findings
    from groundspeed.plan import Words
    from groundspeed.report.evidence_shapes import (
        GuardMention,
        GuardNote,
        ScalingFigure,
        WhyRow,
    )
    from groundspeed.report.view import (
        ComparisonRow,
        ComparisonTable,
        DeviceTable,
        FactTable,
        Note,
        ReportView,
        ResultRow,
        ResultTable,
    )

__all__ = ["escape", "render"]

# Where a row shows which guards touch it.
_MARKED = ("answer_text", "notes")


def render(findings: Findings) -> str:
    """Lay out findings as GitHub-flavoured Markdown, ending with a newline."""
    page = view(findings)
    parts = [
        _head(page),
        *capacity_parts(page.capacity),
        _comparisons(page.comparisons, page.words),
        *beside_parts(page.beside),
        _whys(page.whys),
        _results(page.results, page.words),
        _devices(page.devices, page.words),
        _scalings(page.scalings),
        *cluster_parts(page.cluster),
        _facts("What differs between the environments", page.differences),
        _notes("Footnotes", page.notes, "1."),
        _notes("Cautions", page.cautions, "-"),
        *advice_parts(page.advice),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(page: ReportView) -> str:
    summary = page.summary
    lines = [f"# {escape(summary.title)}"]
    if summary.description.strip():
        lines.append(escape(summary.description))
    items: list[str] = []
    for sentence, mentions in zip(page.verdicts, page.guards.by_verdict, strict=True):
        items += [f"- **{escape(sentence)}**", *_mentions(mentions)]
    items += [f"- {_guard(note)}" for note in page.guards.general]
    if items:
        lines.append("\n".join(items))
    if page.saving:
        lines.append(escape(page.saving))
    runs = ", ".join(escape(run_id) for run_id in summary.run_ids)
    lines.append(f"{escape(summary.counts)}. {escape(summary.period)}. Run {runs}.")
    return "\n\n".join(lines)


def _mentions(mentions: Sequence[GuardMention]) -> list[str]:
    """Lay out what guards say beneath a verdict; what was told already is pointed at."""
    lines = [f"  - {_guard(m.note)}" for m in mentions if not m.again]
    if again := [m.note.number for m in mentions if m.again]:
        lines.append(f"  - {_marks(again)} as above")
    return lines


def _guard(note: GuardNote) -> str:
    return f"**!{note.number}** {escape(note.text)}"


def _marks(numbers: Sequence[int]) -> str:
    return f"**!{','.join(map(str, numbers))}**" if numbers else ""


def _factors(table: ComparisonTable | ResultTable | DeviceTable) -> dict[str, str]:
    """Name the factors that vary as (title, attribute)."""
    factors = {"clients": "clients"}
    if table.threads_vary:
        factors["threads"] = "threads"
    if table.scale_varies:
        factors["scale"] = "scale"
    return factors


def _by_workload(
    rows: Sequence[ComparisonRow | ResultRow | DeviceRow], columns: dict[str, str]
) -> Iterable[str]:
    for workload, group in groupby(rows, key=attrgetter("workload")):
        body = [
            [escape(row.label), *(_value(row, name) for name in columns.values())] for row in group
        ]
        yield f"### {escape(workload)}"
        yield lay_out(["environment", *columns], 1, body)


def _value(row: ComparisonRow | ResultRow | DeviceRow, name: str) -> str:
    value = getattr(row, name)
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    if name in _MARKED and not isinstance(row, DeviceRow):
        return f"{text} {_marks(row.guards)}".strip()
    return text


def _comparisons(table: ComparisonTable, words: Words) -> str:
    if not table.rows:
        return ""
    columns = {
        **_factors(table),
        "pairs": "pairs",
        f"{words.rate} ratio": "tps_ratio",
        "95% interval": "tps_interval",
        "p99 ratio": "p99_ratio",
        "95% interval of p99": "p99_interval",
        "throughput": "answer_text",
    }
    if any(row.bottleneck for row in table.rows):
        columns["why"] = "bottleneck"
    title = f"## Compared to {escape(table.baseline_label)}"
    return "\n\n".join([title, *_by_workload(table.rows, columns)])


def _results(table: ResultTable, words: Words) -> str:
    if not table.rows:
        return ""
    columns = {
        **_factors(table),
        "n": "n",
        words.rate: "tps",
        "95% interval": "tps_interval",
        "range": "tps_range",
        "p50": "p50",
        "p95": "p95",
        "p99": "p99",
        f"failed {words.many}": "failed_transactions",
        "notes": "notes",
    }
    if any(row.bottleneck for row in table.rows):
        columns["why"] = "bottleneck"
    return "\n\n".join(
        [
            "## Results",
            f"Medians of n trials; a 95% interval takes {TRIALS_NEEDED} of them.",
            *_by_workload(table.rows, columns),
        ]
    )


def _whys(rows: Sequence[WhyRow]) -> str:
    if not rows:
        return ""
    titles = ["environment", "cells", "bottleneck", "seen", "what would change it"]
    parts = ["## Why"]
    for workload, group in groupby(rows, key=attrgetter("workload")):
        body = [
            [
                escape(row.label),
                row.cells,
                " ".join(part for part in (_bottleneck(row), _marks(row.guards)) if part),
                "; ".join(map(escape, row.clues)),
                escape(row.remedy),
            ]
            for row in group
        ]
        parts += [f"### {escape(workload)}", lay_out(titles, len(titles), body)]
    return "\n\n".join(parts)


def _bottleneck(row: WhyRow) -> str:
    further = "; ".join(
        part for part in (row.agreement, f"next: {row.others}" if row.others else "") if part
    )
    return f"**{row.name}**{f' ({further})' if further else ''}"


def _scalings(figures: Sequence[ScalingFigure]) -> str:
    if not figures:
        return ""
    lines = [f"- **{escape(figure.title)}**: {escape(figure.sentence)}" for figure in figures]
    return "## Scaling with the number of clients\n\n" + "\n".join(lines)


def _devices(table: DeviceTable, words: Words) -> str:
    if not table.rows:
        return ""
    columns = {
        **_factors(table),
        "read wait": "read_wait",
        "write wait": "write_wait",
        "sync wait": "sync_wait",
        "at limits": "throttled_wait",
        "IOPS, reads + writes": "iops",
        "bandwidth": "bandwidth",
        "depth (most)": "depth",
        "cache hits": "hit_ratio",
    }
    if table.has_credits:
        columns["credits left"] = "credits_left"
    return "\n\n".join(
        [
            "## What the emulated device did",
            f"Medians of the trials; waits are those of all server processes, for one {words.one}.",
            *_by_workload(table.rows, columns),
        ]
    )


def _facts(title: str, table: FactTable) -> str:
    if not table.rows:
        return ""
    titles = ["fact", *(escape(name) for name in table.labels)]
    rows = [[escape(row.fact), *(escape(value) for value in row.values)] for row in table.rows]
    return f"## {title}\n\n{lay_out(titles, len(titles), rows)}"


def _notes(title: str, notes: Sequence[Note], mark: str) -> str:
    if not notes:
        return ""
    lines = (f"{f'{n.number}.' if mark == '1.' else mark} {escape(n.text)}" for n in notes)
    return f"## {title}\n\n" + "\n".join(lines)
