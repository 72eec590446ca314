"""Columns of changes ("+99%", "1.8x") against the figures they are computed from.

Which figures those are, and from which base, is not asked of the header: every pair is tried, and
the one that explains most rows is taken. So a table has to contradict itself to be objected to.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from groundspeed.audit.figures import HUNDRED, Figure, Span, show
from groundspeed.audit.quantities import Kind, Reading
from groundspeed.audit.remark import Check, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Column, Cube, Grid

_Formula = tuple[str, Callable[[Span], Span]]
_PERCENT: tuple[_Formula, ...] = (
    ("({b} - {a}) / {a}", lambda r: r.scaled(HUNDRED, -HUNDRED)),
    ("({a} - {b}) / {a}", lambda r: r.scaled(-HUNDRED, HUNDRED)),
    ("|{b} - {a}| / {a}", lambda r: r.scaled(HUNDRED, -HUNDRED).size),
    ("{b} / {a}", lambda r: r.scaled(HUNDRED)),
)
_TIMES: tuple[_Formula, ...] = (("{b} / {a}", lambda r: r),)
_TWO = 2
_OVER_ROW = " over row "
_LEAST_ROWS_OF_BASE = 3


class _Way(msgspec.Struct, frozen=True, kw_only=True):
    """One way to compute the column: a formula and, for each row, what goes into it."""

    formula: str
    turn: Callable[[Span], Span]
    inputs: tuple[tuple[Figure, Figure] | None, ...]
    named: str

    def expected(self, row: int) -> Span | None:
        both = self.inputs[row]
        if both is None or both[0].span.low <= 0:
            return None
        return self.turn(both[1].span.over(both[0].span))

    def centre(self, row: int) -> Decimal:
        both = self.inputs[row]
        assert both is not None  # noqa: S101 - asked after expected()
        ratio = both[1].value / both[0].value
        return self.turn(Span(ratio, ratio)).low

    def fits(self, row: int, claimed: Figure) -> bool:
        span = self.expected(row)
        return span is not None and span.meets(claimed.span)

    def cut(self, row: int, claimed: Figure) -> bool:
        return self.expected(row) is not None and claimed.cut_from(self.centre(row))

    def sum(self, row: int, unit: str) -> str:
        both = self.inputs[row]
        assert both is not None  # noqa: S101 - asked after expected()
        shown = self.formula.format(a=both[0].text, b=both[1].text)
        return f"{shown} = {show(self.centre(row))}{unit}"


def check(cube: Cube) -> list[Remark]:
    """Check every column of changes in every table."""
    return [
        remark
        for grid in cube.grids
        for column in grid.columns
        if column.measure is not None and column.measure.kind is Kind.CHANGE
        for remark in _column(grid, column)
    ]


def _column(grid: Grid, column: Column) -> list[Remark]:
    claims = {
        row: reading
        for row, reading in enumerate(column.readings)
        if reading is not None and row not in grid.summaries
    }
    percent = _is_percent(column, list(claims.values()))
    if not claims or percent is None:
        return []
    ways = _ways(grid, column, _PERCENT if percent else _TIMES)
    best = _best(ways, claims, between_two=len(_sources(grid, column)) == _TWO)
    return [] if best is None else _misfits(grid, column, claims, best, ways)


def _is_percent(column: Column, readings: list[Reading]) -> bool | None:
    units = {reading.unit for reading in readings}
    if units <= {"%"} or (units == {""} and "%" in column.header):
        return True
    return False if units <= {"x", "\u00d7"} or units == {""} else None


def _sources(grid: Grid, column: Column) -> list[Column]:
    found = [c for c in grid.columns if c.measure is not None and c.measure.kind is not Kind.CHANGE]
    found = [c for c in found if c.measure is not None and c.measure.kind is not Kind.CLIENTS]
    if found:
        return found
    # Without a word on what is measured, two columns of numbers before the changes will do.
    plain = [
        c for c in grid.columns if c.measure is None and c.numeric and 0 < c.index < column.index
    ]
    return plain if len(plain) == _TWO else []


def _figures(column: Column, rows: int) -> list[Figure | None]:
    factor = column.measure.factor if column.measure is not None else Decimal(1)
    readings = [column.readings[row] for row in range(rows)]
    return [None if r is None or r.figure.value <= 0 else r.figure.scaled(factor) for r in readings]


def _ways(grid: Grid, column: Column, formulas: tuple[_Formula, ...]) -> list[_Way]:
    rows = len(grid.table.rows)
    sources = _sources(grid, column)
    made: list[_Way] = []
    for a in sources:
        for b in sources:
            alike = a.measure is None or b.measure is None or a.measure.kind is b.measure.kind
            if a.index != b.index and alike:
                inputs = list(zip(_figures(a, rows), _figures(b, rows), strict=True))
                made += _of(formulas, inputs, f"{b.header} over {a.header}")
    for source in sources:
        own = _figures(source, rows)
        for base in range(rows):
            if base in grid.summaries:
                continue
            pairs = [(own[base], own[r] if r != base else None) for r in range(rows)]
            made += _of(
                formulas, pairs, f"{source.header}{_OVER_ROW}{grid.table.rows[base][0].text}"
            )
    return made


def _of(
    formulas: tuple[_Formula, ...], pairs: list[tuple[Figure | None, Figure | None]], named: str
) -> list[_Way]:
    inputs = tuple((a, b) if a is not None and b is not None else None for a, b in pairs)
    return [_Way(formula=f, turn=turn, inputs=inputs, named=named) for f, turn in formulas]


def _best(ways: list[_Way], claims: dict[int, Reading], *, between_two: bool) -> _Way | None:
    """Choose what explains most rows; a truncated row counts a little less than a right one."""

    def score(way: _Way) -> Decimal:
        fits = sum(way.fits(row, claim.figure) for row, claim in claims.items())
        cuts = sum(
            way.cut(row, claim.figure) and not way.fits(row, claim.figure)
            for row, claim in claims.items()
        )
        return fits + cuts * Decimal("0.9")

    known = [way for way in ways if any(way.expected(row) is not None for row in claims)]
    if not known:
        return None
    best = max(known, key=score)
    across = _OVER_ROW not in best.named
    most = 2 * score(best) > len(claims) and score(best) > 1
    if most and (across or score(best) >= _LEAST_ROWS_OF_BASE - 1):
        return best
    # With two columns there is nothing else that the change could be of.
    return best if between_two and across and (best is not known[0] or score(best) == 0) else None


def _misfits(
    grid: Grid, column: Column, claims: dict[int, Reading], best: _Way, ways: list[_Way]
) -> list[Remark]:
    made = []
    for row, claim in claims.items():
        if best.expected(row) is None or best.fits(row, claim.figure):
            continue
        if _OVER_ROW in best.named and any(way.fits(row, claim.figure) for way in ways):
            # Rows may have bases of their own: a baseline for each client count.
            continue
        made.append(_remark(grid, column, row, claim, (best, ways)))
    return made


def _remark(
    grid: Grid, column: Column, row: int, claim: Reading, how: tuple[_Way, list[_Way]]
) -> Remark:
    best, ways = how
    unit = "%" if claim.unit == "%" or "%" in column.header else "x"
    lines = [f"{best.named}: {best.sum(row, unit)}; printed is {claim.figure.text}"]
    severity = Severity.ERROR
    message = (
        f"the change does not follow from the figures beside it: {show(best.centre(row))}{unit}"
    )
    if best.cut(row, claim.figure):
        severity = Severity.NOTE
        places = max(0, -int(Decimal(claim.figure.half * 2).adjusted()))
        rounded = round(best.centre(row), places)
        message = f"truncated, not rounded: it would round to {show(rounded)}{unit}"
        lines += _soft_cuts(grid, column, best, unit)
    else:
        other = _explained(ways, row, claim.figure)
        if other is not None:
            lines.append(f"it would be right as {other.named}: {other.sum(row, unit)}")
            message += "; it is computed in another way than the other rows"
    return Remark(
        check=Check.CHANGE,
        severity=severity,
        place=grid.table.place(row, column.index),
        quote=claim.figure.text,
        message=message,
        arithmetic=tuple(lines),
    )


def _soft_cuts(grid: Grid, column: Column, best: _Way, unit: str) -> list[str]:
    """Tell of other rows that look truncated, and that rounding of their inputs can explain too."""
    lines = []
    for row, claim in enumerate(column.readings):
        span = best.expected(row)
        if (
            claim is None
            or span is None
            or row in grid.summaries
            or not best.fits(row, claim.figure)
        ):
            continue
        centre = best.centre(row)
        if best.cut(row, claim.figure) and not Span(centre, centre).meets(claim.figure.span):
            lines.append(
                f"row {grid.table.rows[row][0].text} looks truncated as well: "
                f"{best.sum(row, unit)}, printed is {claim.figure.text}; its digits admit "
                f"{show(span.low)}{unit} to {show(span.high)}{unit}, so it may be rounded"
            )
    return lines


def _explained(ways: list[_Way], row: int, claim: Figure) -> _Way | None:
    return next((way for way in ways if _OVER_ROW not in way.named and way.fits(row, claim)), None)
