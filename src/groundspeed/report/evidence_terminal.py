"""Evidence on a terminal: what held environments back, what may fool a reader, how it scales."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from groundspeed.report.evidence_shapes import (
        GuardMention,
        GuardNote,
        ScalingFigure,
        WhyRow,
    )

_GUARD_STYLE = "yellow"
# A longer name gets a line of its own: what follows should stand in one column.
_MOST_LABEL_COLUMNS = 30


def marks(numbers: Sequence[int]) -> str:
    """Write the marks of guards at a cell: "!1,2", or nothing."""
    return f"!{','.join(map(str, numbers))}" if numbers else ""


def print_mentions(mentions: Sequence[GuardMention], console: Console) -> None:
    """Print what guards say beneath a verdict; what was told already is pointed at."""
    print_guards([m.note for m in mentions if not m.again], console)
    if again := [m.note.number for m in mentions if m.again]:
        console.print(plain(f"{marks(again)} as above", _GUARD_STYLE))


def print_guards(notes: Sequence[GuardNote], console: Console) -> None:
    """Print what guards say, a mark and a sentence each."""
    table = Table.grid(padding=(0, 1))
    for note in notes:
        table.add_row(plain(f"!{note.number}", _GUARD_STYLE), plain(note.text, _GUARD_STYLE))
    if table.row_count:
        console.print(table)


def print_whys(rows: Sequence[WhyRow], console: Console) -> None:
    """Print what held each environment back, with the first clue beneath; fits 80 columns."""
    if not rows:
        return
    console.print(plain("Why: what held the environments back", "bold"))
    label_columns = min(max(cell_len(row.label) for row in rows), _MOST_LABEL_COLUMNS)
    cells_columns = max(cell_len(row.cells) for row in rows)
    for workload, group in groupby(rows, key=attrgetter("workload")):
        console.print(plain(workload, "bold"))
        for row in group:
            _print_why(row, label_columns, cells_columns, console)
    console.print(plain("groundspeed why RUN_DIR tells the story of a trial", "dim"))
    console.print()


def _print_why(row: WhyRow, label_columns: int, cells_columns: int, console: Console) -> None:
    agreement = f" ({row.agreement})" if row.agreement else ""
    name = Text.assemble(
        plain(row.name, "bold"), plain(agreement, "dim"), plain(_after(row), _GUARD_STYLE)
    )
    label, cells = plain(row.label), plain(row.cells)
    if cell_len(row.label) > label_columns:
        console.print(Padding(label, (0, 0, 0, 2)))
        label = Text()
    line = Text("  ").append_text(label)
    line.pad_right(max(0, label_columns - label.cell_len) + 2)
    line.append_text(cells)
    line.pad_right(cells_columns - cells.cell_len + 2)
    if line.cell_len + name.cell_len > console.width:
        console.print(line)
        console.print(Padding(name, (0, 0, 0, 6)))
    else:
        console.print(line.append_text(name))
    if row.clues:
        console.print(Padding(plain(row.clues[0]), (0, 0, 0, 6)))


def _after(row: WhyRow) -> str:
    return f" {marks(row.guards)}" if row.guards else ""


def print_scalings(figures: Sequence[ScalingFigure], console: Console) -> None:
    """Print a sentence on how each environment scales; those that say the same share one."""
    if not figures:
        return
    sentences: dict[str, list[str]] = {}
    for figure in figures:
        sentences.setdefault(figure.sentence, []).append(figure.title)
    console.print(plain("Scaling with the number of clients", "bold"))
    for sentence, titles in sentences.items():
        console.print(plain("; ".join(titles)))
        console.print(Padding(plain(sentence), (0, 0, 0, 2)))
    console.print()
