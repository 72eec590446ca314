"""A publication beside a run on a terminal: two lines an environment, names and then numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len

from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from groundspeed.report.beside_shapes import BesideRowText, BesideView

_TITLES = ("ratio here", "95% interval", "published", "here / published")
_INDENT = "    "


def print_beside(view: BesideView, console: Console) -> None:
    """Print a publication beside the run; fits 80 columns."""
    if not view.publication:
        return
    console.print(plain(f"Beside {view.publication}: ratios to {view.baseline}", "bold"))
    console.print(plain(view.source, "dim"))
    ratios = [_TITLES, *(_ratios(row) for table in view.tables for row in table.rows)]
    widths = [max(cell_len(row[n]) for row in ratios) for n in range(len(_TITLES))]
    if view.tables:
        console.print(plain(_line(_TITLES, widths), "dim"))
    for table in view.tables:
        console.print(plain(table.sentence, "bold"))
        for row in table.rows:
            clients = f", {row.clients} clients" if view.clients_vary else ""
            figures = f"{row.here} {view.rate} (published {row.published})"
            console.print(plain(f"  {row.label}{clients}: {figures}, {row.answer}"))
            console.print(plain(_line(_ratios(row), widths)))
    console.print()


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        f"{' ' * (width - cell_len(text))}{text}" for text, width in zip(texts, widths, strict=True)
    )
    return _INDENT + "  ".join(padded)


def _ratios(row: BesideRowText) -> tuple[str, ...]:
    return (row.ratio, row.interval, row.published_ratio, row.off)
