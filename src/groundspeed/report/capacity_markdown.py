"""Capacities as Markdown: one table a workload."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from groundspeed.report.markdown_text import escape, table

if TYPE_CHECKING:
    from groundspeed.report.capacity_shapes import CapacityView

_TITLES = ("environment", "clients", "threads", "holds up to", "95% interval", "breaks at")
_MORE = ("slices", "closed loop", "because")


def capacity_parts(found: CapacityView) -> list[str]:
    """Lay out capacities as parts of a document; none where nothing was searched."""
    if not found.rows:
        return []
    parts = [f"## {escape(found.title)}", escape(found.explanation)]
    for workload, group in groupby(found.rows, key=attrgetter("workload")):
        rows = list(group)
        body = [
            [
                escape(row.label),
                str(row.clients),
                str(row.threads),
                f"**{row.holds}**" if row.is_bracketed else "not decided",
                row.interval,
                row.breaks,
                row.slices,
                row.closed_loop,
                escape(row.why),
            ]
            for row in rows
        ]
        parts += [f"### {escape(workload)}", table([*_TITLES, *_MORE], 1, body)]
        notes = [f"- {escape(r.label)}: {escape(r.sentence)}" for r in rows if not r.is_bracketed]
        notes += [f"- {escape(r.label)}: {escape(r.doubt)}" for r in rows if r.doubt]
        parts += ["\n".join(notes)] if notes else []
    return parts
