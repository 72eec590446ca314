"""Two sides compared, on a terminal."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table

from groundspeed.analyse.findings import Answer
from groundspeed.report.compare_view import CompareRow, CompareView, compare_view
from groundspeed.report.terminal_text import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from groundspeed.analyse.two_sides import Compared

_STYLES = {
    Answer.FASTER: "green",
    Answer.SLOWER: "red",
    Answer.EQUIVALENT: "cyan",
    Answer.UNDECIDED: "yellow",
}


_WIDE_COLUMNS = 100


def render(found: Sequence[Compared], console: Console) -> None:
    """Print each pair of sides; plain text where the console is no terminal."""
    for compared in found:
        _render(compare_view(compared), console)


def _render(page: CompareView, console: Console) -> None:
    console.print(plain(page.title, "bold"))
    for workload, group in groupby(page.rows, key=attrgetter("workload")):
        console.print(plain(workload, "bold"))
        _table(tuple(group), console)
        if page.has_whys:
            console.print()
    console.print(
        plain(f"Ratios with 95% intervals; {page.how}. A p99 above 1 is a longer latency.", "dim")
    )
    for line in page.means:
        console.print(plain(line))
    for line in (*page.reasons, *page.missing):
        console.print(plain(line, "dim"))
    console.print()
    if page.differences:
        console.print(plain("What differs", "bold"))
        table = Table.grid(padding=(0, 2))
        for fact, baseline, candidate in page.differences:
            table.add_row(plain(fact), plain(baseline), plain(candidate))
        console.print(Padding(table, (0, 0, 0, 2)))
        console.print()
    if page.doubts:
        console.print(plain("To doubt", "bold"))
        table = Table.grid(padding=(0, 1))
        for doubt in page.doubts:
            table.add_row(plain("-"), plain(doubt))
        console.print(table)
        console.print()


def _table(rows: Sequence[CompareRow], console: Console) -> None:
    # Below that the interval of p99 would cut the other numbers.
    wide = console.width >= _WIDE_COLUMNS
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("", no_wrap=True)
    for title in ("n", "TPS", "95% interval", "p99", *(["95% interval"] if wide else [])):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("throughput", overflow="fold")
    for row in rows:
        table.add_row(
            Padding(plain(row.cell), (0, 0, 0, 2)),
            plain(row.n),
            plain(row.tps, "bold"),
            plain(row.tps_interval),
            plain(row.p99),
            *([plain(row.p99_interval)] if wide else []),
            plain(row.answer_text, _STYLES[row.answer]),
        )
    console.print(table)
    for row in rows:
        if row.baseline_why or row.candidate_why:
            sides = f"{row.candidate_why or 'unknown'} against {row.baseline_why or 'unknown'}"
            console.print(Padding(plain(f"{row.cell}: {sides}", "dim"), (0, 0, 0, 2)))
