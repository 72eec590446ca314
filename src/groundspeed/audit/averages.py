"""Averages and totals against what they sum up; and averages of unlike cells."""

from __future__ import annotations

import re
from decimal import Decimal

from groundspeed.audit.cube import Column, Cube, Grid, normal
from groundspeed.audit.figures import Figure, Span, show
from groundspeed.audit.quantities import Kind, Reading
from groundspeed.audit.remark import Check, Remark, Severity

_AVERAGE = r"\b(?:avg|average|mean)\b"
_TOTAL = r"\b(?:total|sum)\b"
_GEOMETRIC = r"geo-?\s?mean|geometric"
_RUN = r"^(?:run|trial|iteration|iter|repeat|test|pass|round|#)\s*#?\s*\d+\b|^r\d+$"
# Cells that differ by less are alike: their mean speaks for each of them.
_ALIKE = Decimal("1.5")
_LEAST = 2


def check(cube: Cube) -> list[Remark]:
    """Check rows and columns that call themselves average, mean, total or sum."""
    made: list[Remark] = []
    for grid in cube.grids:
        for row in sorted(grid.summaries):
            made += _summary_row(grid, row)
        made += _run_columns(grid)
    return made + _overall(cube)


def mean(values: list[Figure]) -> Span:
    """Give all arithmetic means that the printed values admit."""
    return Span(
        sum((v.span.low for v in values), Decimal(0)) / len(values),
        sum((v.span.high for v in values), Decimal(0)) / len(values),
    )


def _others(values: list[Figure]) -> dict[str, Decimal]:
    """Compute what else is called an average."""
    numbers = sorted(v.value for v in values)
    made = {"the median": (numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2}
    if numbers[0] > 0:
        product = sum((n.ln() for n in numbers), Decimal(0)) / len(numbers)
        made["the geometric mean"] = product.exp()
        made["the harmonic mean"] = len(numbers) / sum((1 / n for n in numbers), Decimal(0))
    return made


def _summary_row(grid: Grid, row: int) -> list[Remark]:
    label = grid.table.rows[row][0].text.lower()
    kind = "total" if re.search(_TOTAL, label) else "average"
    if re.search(_GEOMETRIC, label) or not re.search(f"{_AVERAGE}|{_TOTAL}", label):
        return []
    first = max((s for s in grid.summaries if s < row), default=-1) + 1
    above = [r for r in range(first, row) if r not in grid.summaries]
    made: list[Remark] = []
    for column in grid.columns[1:]:
        claim = column.readings[row]
        values = [r.figure for at in above if (r := column.readings[at]) is not None]
        change = column.measure is not None and column.measure.kind is Kind.CHANGE
        if claim is None or len(values) != len(above) or len(values) < _LEAST or change:
            continue
        made += _judged(grid, (row, column), claim, values, kind)
    return made + _unlike_row(grid, row, above, kind)


def _judged(
    grid: Grid, cell: tuple[int, Column], claim: Reading, values: list[Figure], kind: str
) -> list[Remark]:
    row, column = cell
    count = len(values) if kind == "total" else 1
    span = mean(values).scaled(Decimal(count))
    # Averages are often computed before rounding; their own printed digits bound that.
    if span.meets(claim.figure.span):
        return []
    centre = sum((v.value for v in values), Decimal(0)) / len(values) * count
    shown = " + ".join(v.text for v in values)
    divided = shown if kind == "total" else f"({shown}) / {len(values)}"
    lines = [f"{divided} = {show(centre, 5)}; printed is {claim.figure.text}"]
    severity, message = Severity.ERROR, f"the {kind} is not that of the rows above it"
    if claim.figure.cut_from(centre):
        severity, message = Severity.NOTE, "truncated, not rounded"
    elif kind == "average":
        for name, other in _others(values).items():
            if claim.figure.span.meets(Span(other, other)):
                severity, message = Severity.DOUBT, f"called an average, it is {name}"
                lines.append(f"{name} of the same is {show(other, 5)}")
                break
    return [
        Remark(
            check=Check.AVERAGE,
            severity=severity,
            place=grid.table.place(row, column.index),
            quote=claim.figure.text,
            message=message,
            arithmetic=tuple(lines),
        )
    ]


def _unlike_row(grid: Grid, row: int, above: list[int], kind: str) -> list[Remark]:
    """Doubt a mean over client counts or workloads that differ much."""
    keys = [grid.table.rows[at][0].text for at in above]
    if kind != "average" or len(set(keys)) != len(keys) or not _unlike_axis(grid):
        return []
    for column in grid.measured():
        values = [r.figure for at in above if (r := column.readings[at]) is not None]
        claim = column.readings[row]
        if claim is None or len(values) < _LEAST or not mean(values).meets(claim.figure.span):
            continue
        low, high = min(values, key=_value), max(values, key=_value)
        if low.value <= 0 or high.value / low.value < _ALIKE:
            continue
        return [
            Remark(
                check=Check.UNLIKE,
                severity=Severity.DOUBT,
                place=grid.table.place(row, column.index),
                quote=f"{grid.table.rows[row][0].text}: {claim.figure.text}",
                message=(
                    f"an average over unlike cells ({grid.table.header[0].text}: "
                    f"{', '.join(keys)}) weighs the largest of them most and describes none"
                ),
                arithmetic=(
                    (
                        f"the cells go from {low.text} to {high.text}, "
                        f"{high.text} / {low.text} = {show(high.value / low.value, 3)} times"
                    ),
                ),
            )
        ]
    return []


def _value(figure: Figure) -> Decimal:
    return figure.value


def _unlike_axis(grid: Grid) -> bool:
    header = grid.table.header[0].text.lower()
    first = grid.columns[0]
    if first.measure is not None and first.measure.kind is Kind.CLIENTS:
        return True
    return bool(
        re.search(r"threads|workload|query|queries|benchmark|test\b|operation|script", header)
    )


def _run_columns(grid: Grid) -> list[Remark]:
    runs = [c for c in grid.columns if re.search(_RUN, c.header.strip().lower())]
    means = [c for c in grid.columns if re.search(_AVERAGE, c.header.lower()) and c not in runs]
    if len(runs) < _LEAST or len(means) != 1:
        return []
    made: list[Remark] = []
    for row in range(len(grid.table.rows)):
        values = [r.figure for c in runs if (r := c.readings[row]) is not None]
        claim = means[0].readings[row]
        if claim is not None and len(values) == len(runs):
            made += [
                Remark(
                    check=r.check,
                    severity=r.severity,
                    place=r.place,
                    quote=r.quote,
                    message=r.message.replace("rows above it", "runs beside it"),
                    arithmetic=r.arithmetic,
                )
                for r in _judged(grid, (row, means[0]), claim, values, "average")
            ]
    return made


def _overall(cube: Cube) -> list[Remark]:
    """Doubt a column of overall averages where the cells of its labels are printed and unlike."""
    made = []
    for grid in cube.grids:
        for column in grid.columns:
            named = re.search(r"overall.*(?:avg|average|mean)", column.header.lower())
            if not named or column.measure is None:
                continue
            rows = {row: _spread(cube, grid, row, column) for row in range(len(grid.table.rows))}
            lines = tuple(line for line in rows.values() if line is not None)
            first = next((row for row, line in rows.items() if line is not None), None)
            if first is not None:
                made.append(_overall_remark(grid, first, column, lines))
    return made


def _spread(cube: Cube, grid: Grid, row: int, column: Column) -> str | None:
    """Word how unlike the printed cells of a label are; None where they are few or alike."""
    text = grid.table.rows[row][0].text
    name = cube.aliases.get(normal(text), normal(text))
    cells = [
        d.figure
        for d in cube.data
        if name in d.names
        and column.measure is not None
        and d.what[0] is column.measure.kind
        and d.table != grid.table.number
    ]
    if len(cells) < 2 * _LEAST or column.readings[row] is None:
        return None
    low, high = min(cells, key=_value), max(cells, key=_value)
    if high.value / low.value < _ALIKE * 2:
        return None
    times = show(high.value / low.value, 3)
    return (
        f"{text}: its {len(cells)} printed cells go from {low.text} to {high.text}, "
        f"{high.text} / {low.text} = {times} times"
    )


def _overall_remark(grid: Grid, row: int, column: Column, lines: tuple[str, ...]) -> Remark:
    reading = column.readings[row]
    shown = "" if reading is None else reading.figure.text
    return Remark(
        check=Check.UNLIKE,
        severity=Severity.DOUBT,
        place=grid.table.place(row, column.index),
        quote=f"{grid.table.rows[row][0].text}: {shown}",
        message="an overall average of unlike cells describes none of them",
        arithmetic=lines,
    )
