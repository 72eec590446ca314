"""Tries of durability as a table on a terminal, in Markdown, and as data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.losses import loss_rows
from groundspeed.report.losses_view import HEADER, losses_view
from groundspeed.report.markdown_text import escape
from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from groundspeed.record.losses import LossRecord

_STYLES = {"kept": "green", "BROKEN": "red"}
# Of the columns behind the environment, which is a line of its own: those that are numbers.
_NUMBERS = {"lost / acknowledged", "oldest"}


def render(name: str, records: Sequence[LossRecord], console: Console) -> None:
    """Print the table; plain text where the console is no terminal."""
    page = losses_view(name, records)
    console.print(plain(page.title, "bold"))
    widths = [max(map(len, column)) for column in zip(HEADER, *page.rows, strict=True)][1:]
    console.print(plain("  " + _line(HEADER[1:], widths), "dim"))
    for environment, about in page.environments:
        console.print(plain(f"{environment}: {about}"))
        for row in page.rows:
            if row[0] == environment:
                console.print(
                    plain("  " + _line(row[1:-1], widths) + "  "),
                    plain(row[-1], _STYLES.get(row[-1], "yellow")),
                    sep="",
                )
    for note in page.notes:
        console.print(plain(note, "dim"))


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(
        f"{cell:>{width}}" if title in _NUMBERS else f"{cell:<{width}}"
        for title, cell, width in zip(HEADER[1:], cells, widths, strict=False)
    ).rstrip()


def to_markdown(name: str, records: Sequence[LossRecord]) -> str:
    """Write the table to paste."""
    page = losses_view(name, records)
    lines = [f"**{escape(page.title)}**", "", _row(HEADER), _row(("---",) * len(HEADER))]
    lines += [_row(tuple(map(escape, row))) for row in page.rows]
    told = [*(f"{name}: {about}" for name, about in page.environments), *page.notes]
    return "\n".join([*lines, "", *(f"{escape(note)}\n" for note in told)])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def to_json(name: str, records: Sequence[LossRecord]) -> str:
    """Write rows and all tries as JSON."""
    document = {"suite": name, "rows": loss_rows(records), "tries": records}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
