"""Capacities on a terminal: a row a cell, with what makes it break beneath."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.padding import Padding

from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from groundspeed.report.capacity_shapes import CapacityRow, CapacityView


def print_capacities(found: CapacityView, console: Console) -> None:
    """Print a sentence for each cell; fits 80 columns."""
    if not found.rows:
        return
    console.print(plain(found.title, "bold"))
    console.print(plain(found.explanation, "dim"))
    for workload, group in groupby(found.rows, key=attrgetter("workload")):
        console.print(plain(workload, "bold"))
        for row in group:
            _print_row(row, found, console)
    console.print()


def _print_row(row: CapacityRow, found: CapacityView, console: Console) -> None:
    line = plain(f"  {row.label}{place_text(row, found)}  ")
    if row.is_bracketed:
        line.append_text(plain(row.holds, "bold green"))
        line.append_text(plain(f"  95% {row.interval}", ""))
    else:
        line.append_text(plain("not decided", "bold yellow"))
    line.append_text(plain(f"  {row.slices} slices, closed loop {row.closed_loop}", "dim"))
    console.print(line)
    console.print(Padding(plain(row.sentence), (0, 0, 0, 6)))
    if row.doubt:
        console.print(Padding(plain(row.doubt, "yellow"), (0, 0, 0, 6)))


def place_text(row: CapacityRow, found: CapacityView) -> str:
    """Name the cell by what varies."""
    text = f", {row.clients} client{'' if row.clients == 1 else 's'}" if found.clients_vary else ""
    threads = f" on {row.threads} thread{'' if row.threads == 1 else 's'}"
    return text + (threads if found.threads_vary else "")
