"""Cells over time on a terminal."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding

from groundspeed.report.history_view import error_text, history_rows
from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from groundspeed.analyse.history import History
    from groundspeed.report.history_view import HistoryRow


_INDENT = 4


def render(history: History, console: Console, *, unicode: bool) -> None:
    """Print a spark line a cell, oldest run first, and a line for each change of level."""
    rows = history_rows(history, unicode=unicode)
    runs = "1 run" if len(history.run_ids) == 1 else f"{len(history.run_ids)} runs"
    console.print(plain(f"{history.suite_name}: {runs}, oldest first", "bold"))
    columns = max((cell_len(row.cell) for row in rows), default=0)
    for workload, group in groupby(rows, key=attrgetter("workload")):
        console.print(plain(workload, "bold"))
        for row in group:
            _print(row, columns, console)
    if not any(row.changes for row in rows):
        console.print(plain("No change of level was found.", "bold"))
    console.print(plain(error_text(history), "dim"))
    for caution in history.cautions:
        console.print(plain(f"- {caution.message}", "dim"))


def _print(row: HistoryRow, columns: int, console: Console) -> None:
    name = plain(f"  {row.cell}")
    name.pad_right(columns - cell_len(row.cell) + 2)
    if name.cell_len + len(row.spark) + len(row.summary) + 2 > console.width:
        # A long history gets lines of its own.
        console.print(name)
        _bars(row, _INDENT, console)
        console.print(Padding(plain(row.summary), (0, 0, 0, _INDENT)))
    else:
        indent = name.cell_len
        console.print(name.append_text(plain(f"{row.spark}  {row.summary}")))
        if row.marks:
            console.print(plain(" " * indent + row.marks, "yellow"))
    for change in row.changes:
        console.print(Padding(plain(change, "yellow"), (0, 0, 0, _INDENT)))


def _bars(row: HistoryRow, indent: int, console: Console) -> None:
    """Print bars in as many lines as they take, each with its marks beneath."""
    room = max(console.width - indent, 1)
    for start in range(0, len(row.spark), room):
        console.print(plain(" " * indent + row.spark[start : start + room]))
        if marks := row.marks[start : start + room].rstrip():
            console.print(plain(" " * indent + marks, "yellow"))
