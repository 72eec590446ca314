"""Two sides compared, as a Markdown table to paste into an issue or a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report.compare_view import CompareRow, compare_view
from groundspeed.report.markdown_text import escape, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.two_sides import Compared

_TEXT_COLUMNS = 2


def render(found: Sequence[Compared]) -> str:
    """Lay out each pair of sides; ends with a newline."""
    return "\n".join(_render(compared) for compared in found)


def _render(compared: Compared) -> str:
    page = compare_view(compared)
    titles = ["workload", "cell", "n", "TPS ratio", "p99 ratio", "throughput"]
    titles += ["why, candidate", "why, baseline"] if page.has_whys else []
    rows = [_row(row, has_whys=page.has_whys) for row in page.rows]
    parts = [
        f"### {escape(page.title)}",
        table(titles, _TEXT_COLUMNS, rows),
        f"Ratios with 95% intervals; {page.how}. A p99 ratio above 1 is a longer latency.",
    ]
    parts += [escape(mean) for mean in page.means]
    doubts = (*page.reasons, *page.missing, *page.doubts)
    if doubts:
        parts.append("\n".join(f"- {escape(doubt)}" for doubt in doubts))
    if page.differences:
        heads = ["differs in", escape(compared.baseline_label), escape(compared.candidate_label)]
        facts = [[escape(text) for text in difference] for difference in page.differences]
        parts.append(table(heads, len(heads), facts))
    return "\n\n".join(parts) + "\n"


def _row(row: CompareRow, *, has_whys: bool) -> list[str]:
    cells = [
        escape(row.workload),
        row.cell,
        row.n,
        f"{row.tps} {row.tps_interval}",
        f"{row.p99} {row.p99_interval}",
        f"**{row.answer_text}**",
    ]
    return [*cells, row.candidate_why, row.baseline_why] if has_whys else cells
