"""Where servers in Kubernetes ran, as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report.markdown_text import escape, table
from groundspeed.report.scaling import NOTHING

if TYPE_CHECKING:
    from groundspeed.report.cluster_shapes import ClusterView

_TITLES = ("environment", "node", "pod", "volumes", "made by")


def cluster_parts(view: ClusterView) -> list[str]:
    """Lay out where servers ran as parts of a document; none outside of Kubernetes."""
    if not view.rows:
        return []
    rows = [
        [
            escape(text) or NOTHING
            for text in (row.label, row.node, row.pod, "; ".join(row.volumes), row.made_by)
        ]
        for row in view.rows
    ]
    load = f" The load was made on {view.load}." if view.load else ""
    return [
        "## Where the servers ran",
        escape(f"{view.version}.{load}"),
        table(_TITLES, len(_TITLES), rows),
    ]
