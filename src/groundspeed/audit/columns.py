"""Columns whose label and values do not belong together: swapped, mixed up, or out of order."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

from groundspeed.audit.figures import show
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Check, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube, Datum

_SLACK = Decimal("0.05")
_LEAST_ROWS = 2
_LEAST_SERIES = 3
SWAPPED = "stand under each other's label"


def check(cube: Cube) -> list[Remark]:
    """Look for swapped latency columns, series under two labels and percentiles out of order."""
    return [*_swapped(cube), *_series(cube), *_percentiles(cube)]


def _mean_latencies(cube: Cube) -> list[Datum]:
    return [
        d
        for d in cube.data
        if d.measure.kind is Kind.LATENCY and d.measure.qualifier in {"", "mean"}
    ]


def _swapped(cube: Cube) -> list[Remark]:
    """Use Little's law: neither label fits its own latencies, each fits the other's."""
    rates = [d for d in cube.data if d.measure.kind is Kind.THROUGHPUT and d.clients is not None]
    times = _mean_latencies(cube)
    names = sorted({name for d in rates for name in d.names})
    made: list[Remark] = []
    for one, other in combinations(names, 2):
        crossed, straight, lines, first = 0, 0, [], None
        for rate in rates:
            for mine, theirs in ((one, other), (other, one)):
                own = _cell(times, rate, mine, mine)
                cross = _cell(times, rate, mine, theirs)
                if own is None or cross is None:
                    continue
                crossed += _fits(rate, cross, _SLACK) and not _fits(rate, own, _SLACK)
                straight += _fits(rate, own, _SLACK)
                first = first or own
                lines.append(_sum(rate, own, cross, theirs))
        if first is not None and not straight and crossed >= 2 * _LEAST_ROWS:
            made.append(_swapped_remark(first, one, other, lines))
    return made


def _cell(times: list[Datum], rate: Datum, mine: str, wanted: str) -> Datum | None:
    if mine not in rate.names:
        return None
    names = (rate.names - {mine}) | {wanted}
    found = [t for t in times if t.names == names and t.clients == rate.clients]
    return found[0] if len(found) == 1 else None


def _fits(rate: Datum, time: Datum, slack: Decimal) -> bool:
    assert rate.clients is not None  # noqa: S101 - chosen so by the caller
    span = rate.figure.span.times(time.figure.span)
    return span.low <= rate.clients * (1 + slack) and span.high >= rate.clients * (1 - slack)


def _sum(rate: Datum, own: Datum, cross: Datum, theirs: str) -> str:
    return (
        f"{show(rate.clients or Decimal(0))} clients: {rate.printed} x {own.printed} = "
        f"{show(rate.figure.value * own.figure.value)}, but x {cross.printed} (printed under "
        f"{theirs}) = {show(rate.figure.value * cross.figure.value)}"
    )


def _swapped_remark(first: Datum, one: str, other: str, lines: list[str]) -> Remark:
    return Remark(
        check=Check.COLUMNS,
        severity=Severity.ERROR,
        place=first.place,
        quote=f"{one} | {other}",
        message=f"the latencies of {one} and {other} {SWAPPED}",
        arithmetic=tuple(lines),
    )


def _series(cube: Cube) -> list[Remark]:
    """Find the same series of figures in two tables under two labels."""
    groups: dict[tuple[object, ...], dict[Decimal, Datum]] = {}
    for d in cube.data:
        if d.clients is not None:
            key = (d.table, d.column, d.names, d.what)
            groups.setdefault(key, {})[d.clients] = d
    made = []
    for (one, a), (other, b) in combinations(groups.items(), 2):
        if one[0] == other[0] or one[3] != other[3] or one[2] == other[2]:
            continue
        shared = sorted(a.keys() & b.keys())
        same = [c for c in shared if a[c].figure.value == b[c].figure.value]
        telling = [c for c in same if a[c].figure.digits_count >= 3]  # noqa: PLR2004 - two digits agree by chance
        if len(telling) < _LEAST_SERIES or len(same) < len(shared) or not _both_used(groups, a, b):
            continue
        made.append(_series_remark(a, b, same))
    return made


def _both_used(
    groups: dict[tuple[object, ...], dict[Decimal, Datum]],
    a: dict[Decimal, Datum],
    b: dict[Decimal, Datum],
) -> bool:
    """Ask that both tables know both labels: else one label may be another word for the other."""
    first, second = next(iter(a.values())), next(iter(b.values()))
    in_first = {key[2] for key in groups if key[0] == first.table}
    in_second = {key[2] for key in groups if key[0] == second.table}
    return second.names in in_first and first.names in in_second


def _series_remark(a: dict[Decimal, Datum], b: dict[Decimal, Datum], same: list[Decimal]) -> Remark:
    first, second = a[same[0]], b[same[0]]
    labels = [" ".join(sorted(d.names)) for d in (first, second)]
    values = ", ".join(a[c].printed for c in same)
    return Remark(
        check=Check.COLUMNS,
        severity=Severity.ERROR,
        place=second.place,
        quote=values,
        message=(
            f"these are the figures of {labels[0]} in table {first.table}, here under {labels[1]}"
        ),
        arithmetic=tuple(
            (
                f"{show(c)} clients: {a[c].printed} ({a[c].place.text}) = {b[c].printed} "
                f"({b[c].place.text})"
            )
            for c in same
        ),
    )


def _rank(datum: Datum) -> Decimal | None:
    name = datum.measure.qualifier
    if name in {"min", "max"}:
        return Decimal(0) if name == "min" else Decimal(100)
    return Decimal(name[1:]) if name.startswith("p") and name[1:] else None


def _percentiles(cube: Cube) -> list[Remark]:
    rows: dict[tuple[object, ...], list[tuple[Decimal, Datum]]] = {}
    for d in cube.data:
        rank = _rank(d) if d.measure.kind is Kind.LATENCY else None
        if rank is not None:
            rows.setdefault((d.table, d.names, d.clients), []).append((rank, d))
    made = []
    for ranked in rows.values():
        for (low, a), (high, b) in combinations(sorted(ranked, key=lambda pair: pair[0]), 2):
            # One cell lies in one row, or in one column where the table lists measures down.
            one_cell = a.row == b.row or a.column == b.column
            if one_cell and low < high and a.figure.span.low > b.figure.span.high:
                made.append(_order_remark(a, b))
    return made


def _order_remark(a: Datum, b: Datum) -> Remark:
    low, high = a.measure.qualifier, b.measure.qualifier
    return Remark(
        check=Check.COLUMNS,
        severity=Severity.ERROR,
        place=b.place,
        quote=f"{low} {a.printed}, {high} {b.printed}",
        message=f"{high} lies below {low} of the same cell, which no distribution can do",
        arithmetic=(f"{high} = {b.printed} < {low} = {a.printed}; {high} >= {low} always",),
    )
