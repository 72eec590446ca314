"""A publication beside a run as Markdown: one table a workload."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report.markdown_text import escape, table

if TYPE_CHECKING:
    from groundspeed.report.beside_shapes import BesideView


def beside_parts(view: BesideView) -> list[str]:
    """Lay out a publication as parts of a document; none where the suite names none."""
    if not view.publication:
        return []
    parts = [f"## Beside {escape(view.publication)}", escape(f"{view.source}.")]
    titles = [
        *("environment", "answer", *(["clients"] if view.clients_vary else [])),
        *(f"{view.rate} here", "ratio here", "95% interval"),
        *("published", "published ratio", "here / published"),
    ]
    for each in view.tables:
        rows = [
            [
                escape(row.label),
                row.answer,
                *([str(row.clients)] if view.clients_vary else []),
                *(row.here, row.ratio, row.interval),
                *(row.published, row.published_ratio, row.off),
            ]
            for row in each.rows
        ]
        parts += [f"### {escape(each.workload)}", table(titles, 2, rows), escape(each.sentence)]
    return parts
