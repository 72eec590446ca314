"""Findings on a terminal: the verdicts first, then what they rest on, then the doubts.

Everything is rich `Text`, never markup: a name such as "[red]" is a name.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec
from rich import box
from rich.cells import cell_len
from rich.padding import Padding
from rich.table import Table

from groundspeed.analyse import TRIALS_NEEDED, Answer
from groundspeed.report.advice_terminal import print_advice
from groundspeed.report.beside_terminal import print_beside
from groundspeed.report.capacity_terminal import print_capacities
from groundspeed.report.cluster_terminal import print_cluster
from groundspeed.report.evidence_terminal import (
    marks,
    print_guards,
    print_mentions,
    print_scalings,
    print_whys,
)
from groundspeed.report.scaling import NOTHING
from groundspeed.report.terminal_text import plain
from groundspeed.report.view import ComparisonRow, DeviceRow, ResultRow, view

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rich.console import Console, JustifyMethod

    from groundspeed.analyse import Findings
    from groundspeed.plan import Words
    from groundspeed.report.view import (
        ComparisonTable,
        DeviceTable,
        Note,
        ReportView,
        ResultTable,
    )

_STYLES = {
    Answer.FASTER: "green",
    Answer.SLOWER: "red",
    Answer.EQUIVALENT: "cyan",
    Answer.UNDECIDED: "yellow",
}
# Below this, throughput and latency are two tables: one would fold its numbers.
_WIDE_COLUMNS = 110
# Room that the names of environments keep when numbers are not folded, and between columns.
_NAME_COLUMNS = 12
_GAP_COLUMNS = 2
Row = ResultRow | ComparisonRow | DeviceRow


class _Column(msgspec.Struct, frozen=True):
    title: str
    text: Callable[[Row], str]
    style: Callable[[Row], str] = lambda _: ""
    numeric: bool = True


def render(findings: Findings, console: Console) -> None:
    """Print findings; fits 80 columns, and is plain text where the console is no terminal."""
    page = view(findings)
    _head(page, console)
    print_capacities(page.capacity, console)
    if page.comparisons.rows:
        _comparisons(page.comparisons, page.words, console)
    print_beside(page.beside, console)
    print_whys(page.whys, console)
    if page.results.rows:
        _results(page.results, page.words, console)
    if page.devices.rows:
        _devices(page.devices, page.words, console)
    print_scalings(page.scalings, console)
    print_cluster(page.cluster, console)
    _notes("Footnotes", page.notes, console, numbered=True)
    _notes("Cautions", page.cautions, console, numbered=False)
    print_advice(page.advice, console)


def _head(page: ReportView, console: Console) -> None:
    summary = page.summary
    console.print(plain(summary.title, "bold"))
    for line in summary.description.splitlines():
        console.print(plain(line))
    console.print(plain(summary.counts, "dim"))
    console.print()
    for sentence, mentions in zip(page.verdicts, page.guards.by_verdict, strict=True):
        console.print(plain(sentence, "bold"))
        print_mentions(mentions, console)
        console.print()
    if page.saving:
        console.print(plain(page.saving))
        console.print()
    if page.guards.general:
        print_guards(page.guards.general, console)
        console.print()


def _comparisons(table: ComparisonTable, words: Words, console: Console) -> None:
    columns = [
        *_factors(threads=table.threads_vary, scale=table.scale_varies),
        _Column("n", lambda r: str(_get(r, "pairs"))),
        _Column(words.rate, attrgetter("tps_ratio"), lambda _: "bold"),
    ]
    known = any(row.tps_interval != NOTHING for row in table.rows)
    if known:
        columns.append(_Column("95% interval", attrgetter("tps_interval")))
    columns.append(_Column("p99", attrgetter("p99_ratio")))
    if known and console.width >= _WIDE_COLUMNS:
        columns.append(_Column("95% interval", attrgetter("p99_interval")))
    columns.append(
        _Column(
            "throughput",
            _answer,
            lambda r: _STYLES[r.answer] if isinstance(r, ComparisonRow) else "",
            numeric=False,
        )
    )
    why = _Column("why", attrgetter("bottleneck"), numeric=False)
    named = any(row.bottleneck for row in table.rows)
    if named and _room(table.rows, [*columns, why], console) >= _label_columns(table.rows):
        columns.append(why)
    console.print(plain(f"Compared to {table.baseline_label}: ratios of n pairs of trials", "bold"))
    _print(table.rows, columns, console)
    console.print(
        plain(
            f"A {words.rate} ratio above 1 is more throughput than {table.baseline_label}, "
            "a p99 ratio above 1 a longer latency.",
            "dim",
        )
    )
    for reason in dict.fromkeys(
        row.answer_text for row in table.rows if row.answer is Answer.UNDECIDED
    ):
        console.print(plain(reason, "dim"))
    console.print()


def _results(table: ResultTable, words: Words, console: Console) -> None:
    factors = _factors(threads=table.threads_vary, scale=table.scale_varies)
    throughput = [
        _Column("n", lambda r: str(_get(r, "n"))),
        _Column(words.rate, attrgetter("tps"), lambda _: "bold"),
        _Column("range", attrgetter("tps_range")),
    ]
    if table.has_intervals:
        throughput.insert(2, _Column("95% interval", attrgetter("tps_interval")))
    latency = [_Column(title, attrgetter(title)) for title in ("p50", "p95", "p99")]
    failed: list[_Column] = []
    if any(row.failed_transactions not in {"0", NOTHING} for row in table.rows):
        failed.append(_Column("failed", attrgetter("failed_transactions")))
    notes: list[_Column] = []
    if any(row.notes or row.guards for row in table.rows):
        notes.append(_Column("notes", _note_numbers, numeric=False))
    bare = any(row.tps_interval == NOTHING for row in table.rows)
    needed = f"; a 95% interval takes {TRIALS_NEEDED}" if bare else ""
    if console.width >= _WIDE_COLUMNS:
        console.print(plain(f"Results, medians of n trials{needed}", "bold"))
        _print(table.rows, [*factors, *throughput, *latency, *failed, *notes], console)
        console.print()
        return
    console.print(plain(f"Throughput, median of n trials{needed}", "bold"))
    _print(table.rows, [*factors, *throughput, *notes], console)
    console.print()
    console.print(plain("Latency, medians of n trials", "bold"))
    _print(table.rows, [*factors, *latency, *failed], console)
    console.print()


def _devices(table: DeviceTable, words: Words, console: Console) -> None:
    factors = _factors(threads=table.threads_vary, scale=table.scale_varies)
    waits = [
        _Column("read", attrgetter("read_wait")),
        _Column("write", attrgetter("write_wait")),
        _Column("sync", attrgetter("sync_wait")),
        _Column("at limits", attrgetter("throttled_wait")),
    ]
    work = [
        _Column("IOPS r + w", attrgetter("iops")),
        _Column("bandwidth", attrgetter("bandwidth")),
        _Column("depth (most)", attrgetter("depth")),
        _Column("hits", attrgetter("hit_ratio")),
    ]
    if table.has_credits:
        work.append(_Column("credits", attrgetter("credits_left")))
    title = f"What the emulated device did: waits of all processes for one {words.one}"
    console.print(plain(title, "bold"))
    if console.width >= _WIDE_COLUMNS:
        _print(table.rows, [*factors, *waits, *work], console)
        console.print()
        return
    _print(table.rows, [*factors, *waits], console)
    console.print()
    console.print(plain("What the emulated device did: requests and page cache", "bold"))
    _print(table.rows, [*factors, *work], console)
    console.print()


def _get(row: Row, name: str) -> object:
    return getattr(row, name)


def _answer(row: Row) -> str:
    if not isinstance(row, ComparisonRow):
        return ""
    return f"{row.answer.value} {marks(row.guards)}".rstrip()


def _note_numbers(row: Row) -> str:
    if not isinstance(row, ResultRow):
        return ""
    return f"{','.join(str(n) for n in row.notes)} {marks(row.guards)}".strip()


def _factors(*, threads: bool, scale: bool) -> list[_Column]:
    """Name the factors that vary; one that is the same everywhere only takes room."""
    columns = [_Column("clients", lambda r: str(r.clients))]
    if threads:
        columns.append(_Column("threads", lambda r: str(r.threads)))
    if scale:
        columns.append(_Column("scale", lambda r: str(r.scale)))
    return columns


def _widths(rows: Sequence[Row], columns: Sequence[_Column]) -> list[int]:
    return [
        max(len(c.title), *(cell_len(c.text(row)) for row in rows)) + _GAP_COLUMNS for c in columns
    ]


def _room(rows: Sequence[Row], columns: Sequence[_Column], console: Console) -> int:
    """Return what these columns leave for the names of environments."""
    return console.width - sum(_widths(rows, columns))


def _label_columns(rows: Sequence[Row]) -> int:
    # Indented beneath the workload.
    return max(cell_len(row.label) for row in rows) + _GAP_COLUMNS + 2


def _print(rows: Sequence[Row], columns: Sequence[_Column], console: Console) -> None:
    """Print rows under the name of their workload; only the first column may fold."""
    boxed = console.is_terminal
    # Two columns between cells either way: the box brings one of them.
    table = Table(
        box=box.SIMPLE_HEAD if boxed else None,
        show_edge=False,
        padding=(0, _GAP_COLUMNS - boxed, 0, 0),
    )
    # Words fold at their spaces before names are torn apart.
    table.add_column("", overflow="fold", min_width=min(_label_columns(rows), _NAME_COLUMNS))
    # rich cuts off what may not fold, and half a number is a wrong number.
    numbers = [column for column in columns if column.numeric]
    fits = _room(rows, numbers, console) >= _NAME_COLUMNS
    for column in columns:
        justify: JustifyMethod = "right" if column.numeric else "left"
        table.add_column(
            column.title, justify=justify, no_wrap=fits and column.numeric, overflow="fold"
        )
    for workload, group in groupby(rows, key=attrgetter("workload")):
        table.add_row(plain(workload, "bold"))
        for row in group:
            table.add_row(
                Padding(plain(row.label), (0, 0, 0, 2)),
                *(plain(column.text(row), column.style(row)) for column in columns),
            )
        table.add_section()
    console.print(table)


def _notes(title: str, notes: Iterable[Note], console: Console, *, numbered: bool) -> None:
    table = Table.grid(padding=(0, 1))
    for note in notes:
        table.add_row(plain(str(note.number) if numbered else "-"), plain(note.text))
    if table.row_count:
        console.print(plain(title, "bold"))
        console.print(table)
        console.print()
