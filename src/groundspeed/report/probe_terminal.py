"""A probe on a terminal: its tables, then the doubts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table as RichTable

from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from groundspeed.report.probe_view import ProbeView, Table


_WIDE_COLUMNS = 110


def render(page: ProbeView, console: Console) -> None:
    """Print a view; plain text where the console is no terminal."""
    console.print(plain(page.title, "bold"))
    console.print(plain(page.about))
    console.print()
    for table in page.tables:
        _table(table, console)
    if page.cautions:
        console.print(plain("Cautions", "bold"))
        grid = RichTable.grid(padding=(0, 1))
        for caution in page.cautions:
            grid.add_row(plain("-"), plain(caution))
        console.print(grid)
        console.print()


def _table(table: Table, console: Console) -> None:
    console.print(plain(table.title, "bold"))
    laid = RichTable(box=None, show_edge=False, padding=(0, 2, 0, 0))
    for place, column in enumerate(table.columns):
        left = table.prose or not place
        laid.add_column(plain(column, "dim"), justify="left" if left else "right", overflow="fold")
    wide = console.width >= _WIDE_COLUMNS or not table.narrow_rows
    for row in table.rows if wide else table.narrow_rows:
        laid.add_row(*map(plain, row))
    console.print(laid)
    if table.note:
        console.print(plain(table.note, "dim"))
    console.print()
