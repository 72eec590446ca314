"""Cells over time as one HTML page that opens without a network, a script or another file."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import groundspeed
from groundspeed.report import history_svg
from groundspeed.report.history_view import cell_text, change_text, error_text
from groundspeed.report.page_templates import drawn, template

if TYPE_CHECKING:
    from groundspeed.analyse.history import CellHistory, History


def render(history: History) -> str:
    """Lay out a history; a panel a cell, the changes beneath it."""
    environments = list(dict.fromkeys(cell.environment for cell in history.cells))
    groups = [
        (workload, [_panel(cell, history, environments.index(cell.environment)) for cell in cells])
        for workload, cells in groupby(history.cells, key=attrgetter("workload"))
    ]
    return template("history.html.j2").render(
        history=history,
        groups=groups,
        error=error_text(history),
        change_count=sum(len(cell.changes) for cell in history.cells),
        version=groundspeed.__version__,
    )


def _panel(cell: CellHistory, history: History, style_index: int) -> dict[str, Any]:
    caption = cell_text(cell, history)
    title = f"{cell.workload}, {caption}: throughput over runs"
    return {
        "caption": caption,
        "drawing": drawn(history_svg.draw(cell, title, style_index)),
        "changes": [change_text(change) for change in cell.changes],
    }
