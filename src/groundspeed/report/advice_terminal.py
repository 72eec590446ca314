"""Advice on a terminal: a sentence a finding, then for each purpose what to take and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groundspeed.report.scaling import NOTHING
from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from rich.console import Console

    from groundspeed.report.advice_shapes import AdviceView, ChoiceRow


def print_advice(advice: AdviceView, console: Console) -> None:
    """Print advice; fits 80 columns."""
    if advice.sentences:
        console.print(plain("Findings", "bold"))
        table = Table.grid(padding=(0, 1))
        for sentence in advice.sentences:
            table.add_row(plain("-"), plain(sentence))
        console.print(table)
        console.print()
    if advice.choices:
        console.print(plain("Which to choose", "bold"))
        columns = max(cell_len(row.purpose) for row in advice.choices)
        for row in advice.choices:
            _print_choice(row, columns, console)
        console.print()


def _print_choice(row: ChoiceRow, columns: int, console: Console) -> None:
    best = plain(row.best, "bold green" if row.is_decided else "bold yellow")
    line = plain(row.purpose)
    line.pad_right(columns - cell_len(row.purpose) + 2)
    line.append_text(best)
    if row.is_decided and row.runner_up != NOTHING:
        line.append_text(Text.assemble("  then ", plain(row.runner_up)))
    line.append_text(Text.assemble(plain(f"  by {row.by}", "dim")))
    console.print(line)
    console.print(Padding(plain(row.reason), (0, 0, 0, columns + 2)))
