"""Where servers in Kubernetes ran, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table

from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from groundspeed.report.cluster_shapes import ClusterRow, ClusterView

# The longest word; what follows stands in one column for all environments.
_WORD_COLUMNS = len("made by")


def print_cluster(view: ClusterView, console: Console) -> None:
    """Print a word and a line for each thing that is known of a server; fits 80 columns."""
    if not view.rows:
        return
    console.print(plain(f"Where the servers ran: {view.version}", "bold"))
    for row in view.rows:
        console.print(plain(row.label))
        table = Table.grid(padding=(0, 1))
        table.add_column(min_width=_WORD_COLUMNS)
        table.add_column()
        for word, text in _lines(row):
            table.add_row(plain(word, "dim"), plain(text))
        console.print(Padding(table, (0, 0, 0, 2)))
    if view.load:
        console.print(plain(f"The load was made on {view.load}."))
    console.print()


def _lines(row: ClusterRow) -> Iterator[tuple[str, str]]:
    if row.node:
        yield "node", row.node
    if row.pod:
        yield "pod", row.pod
    for place, volume in enumerate(row.volumes):
        yield "log" if place else "volume", volume
    if row.made_by:
        yield "made by", row.made_by
