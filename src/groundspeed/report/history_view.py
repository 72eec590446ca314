"""Cells over time in words and characters: a spark line a cell, a sentence a change."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.report.facts import label_of
from groundspeed.report.scaling import format_ratio, format_span, format_tps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.history import CellHistory, History, LevelChange

BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-~=+*#"
_DAY_LENGTH = 10
_MOST_FACTS = 4


class HistoryRow(msgspec.Struct, frozen=True, kw_only=True):
    """One cell: its spark line, with a mark beneath the first run of each new level."""

    workload: str
    cell: str
    spark: str
    marks: str
    summary: str
    changes: tuple[str, ...]


def history_rows(history: History, *, unicode: bool = True) -> tuple[HistoryRow, ...]:
    """Word each cell; bars are ASCII where the reader's terminal has no others."""
    return tuple(
        HistoryRow(
            workload=cell.workload,
            cell=cell_text(cell, history),
            spark=spark([p.tps_per_s.median for p in cell.points], unicode=unicode),
            marks=_marks(cell),
            summary=_summary(cell),
            changes=tuple(change_text(change, unicode=unicode) for change in cell.changes),
        )
        for cell in history.cells
    )


def cell_text(cell: CellHistory, history: History) -> str:
    """Name a cell within its workload, by its environment, its clients and what else varies."""
    emulated = (cell.environment,) if cell.emulated else ()
    text = f"{label_of(cell.environment, emulated)}, {cell.clients} client"
    text += "" if cell.clients == 1 else "s"
    if len({c.threads for c in history.cells}) > 1:
        text += f", {cell.threads} thread{'' if cell.threads == 1 else 's'}"
    return text + (f", scale {cell.scale}" if len({c.scale for c in history.cells}) > 1 else "")


def spark(values: Sequence[float], *, unicode: bool = True) -> str:
    """Draw values as bars, from the lowest to the highest; a level line where all are alike."""
    bars = BARS if unicode else ASCII_BARS
    low, high = min(values), max(values)
    if not math.isfinite(high - low) or high <= low:
        return bars[3] * len(values)
    steps = len(bars) - 1
    return "".join(bars[round((value - low) / (high - low) * steps)] for value in values)


def _marks(cell: CellHistory) -> str:
    changed = {change.index for change in cell.changes}
    return "".join("^" if i in changed else " " for i in range(len(cell.points))).rstrip()


def _summary(cell: CellHistory) -> str:
    medians = [p.tps_per_s.median for p in cell.points]
    runs = "1 run" if len(medians) == 1 else f"{len(medians)} runs"
    low, high = format_tps(min(medians)), format_tps(max(medians))
    return f"{format_tps(medians[-1])} TPS, {runs} {low} to {high}"


def change_text(change: LevelChange, *, unicode: bool = True) -> str:
    """Say when the level changed and by how much, and what was another then."""
    interval = format_span(change.low, change.high, format_ratio)
    arrow = "→" if unicode else "to"
    facts = change.became
    more = f" and {len(facts) - _MOST_FACTS} more" if len(facts) > _MOST_FACTS else ""
    became = f"; since then {', '.join(facts[:_MOST_FACTS])}{more}" if facts else ""
    return (
        f"{change.started_at[:_DAY_LENGTH]} {change.run_id}: {format_ratio(change.ratio)}"
        f" (95% {interval}), {format_tps(change.before_per_s)} {arrow}"
        f" {format_tps(change.after_per_s)} TPS{became}"
    )


def error_text(history: History) -> str:
    """Say how often changes are found where there are none."""
    cells = "1 cell" if len(history.cells) == 1 else f"{len(history.cells)} cells"
    return (
        f"With {history.error_ratio:.0%} chance at most a change is named in any of {cells}"
        " where there is none."
    )
