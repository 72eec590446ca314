"""Every measured figure of an article with what it belongs to: labels, clients, what is measured.

A coordinate is what the row and the column say. A column of words that another one determines
(instance type beside environment) is no coordinate of its own; one that says the same in other
words is an alias.
"""

from __future__ import annotations

import re
from decimal import Decimal

import msgspec

from groundspeed.audit import quantities
from groundspeed.audit.document import Document, Table
from groundspeed.audit.figures import Figure
from groundspeed.audit.quantities import Kind, Measure, Reading
from groundspeed.audit.remark import Place

_SUMMARY = re.compile(
    r"\W*(?:overall |grand )?(?:avg|average|mean|total|sum|geo-?\s?mean|geometric mean|overall"
    r"|median|all)\b",
    re.IGNORECASE,
)
_KEY = (
    r"scale|size|nodes?\b|replicas?|vcpu|\bcpus?\b|cores|memory|\bram\b|\b[mgt]i?b\b|cost|price|\$"
    r"|\bruns?\b|^#|duration|repeat|iteration|shards|iodepth|queue|batch|warehouses|"
    r"pages|version|\brate\b"
)
_OPERATIONS = (
    r"\b(?:messages|msgs|requests|operations|queries|commits|events)\b(?:\s*(?:/|"
    r"per)\s*s(?:ec(?:ond)?)?\b)?"
)
_MEASURED = {Kind.THROUGHPUT, Kind.LATENCY}


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """One column: what it measures, its label without that, and its readings by row."""

    index: int
    header: str
    label: str
    measure: Measure | None
    clients: Decimal | None
    readings: tuple[Reading | None, ...]
    # Cells that are not empty and no dash.
    filled: int

    @property
    def numeric(self) -> bool:
        """Tell whether at least half of its cells are numbers."""
        return self.filled > 0 and 2 * sum(r is not None for r in self.readings) >= self.filled


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """A table understood: its columns, and which rows sum up others."""

    table: Table
    columns: tuple[Column, ...]
    summaries: frozenset[int]
    # Of a table that lists measures down: what each row measures.
    row_measures: tuple[Measure | None, ...]

    def measured(self) -> tuple[Column, ...]:
        """Give the columns that hold throughput or latency."""
        return tuple(c for c in self.columns if c.measure and c.measure.kind in _MEASURED)


class Datum(msgspec.Struct, frozen=True, kw_only=True):
    """One measured figure, in seconds or operations a second; `printed` as it stands there."""

    table: int
    row: int
    column: int
    place: Place
    measure: Measure
    figure: Figure
    printed: str
    names: frozenset[str]
    clients: Decimal | None

    @property
    def what(self) -> tuple[Kind, str, str]:
        """Say what may be compared with it."""
        unit = self.measure.unit if self.measure.kind is Kind.THROUGHPUT else ""
        return self.measure.kind, self.measure.qualifier, unit


class Cube(msgspec.Struct, frozen=True, kw_only=True):
    """All figures. `aliases` maps another name of a label to the label."""

    document: Document
    grids: tuple[Grid, ...]
    data: tuple[Datum, ...]
    aliases: dict[str, str]


def normal(text: str) -> str:
    """Bring a label to one form: lower case, single spaces, no punctuation but in numbers."""
    plain = re.sub(r"[^\w.+%µ]+", " ", text.lower().replace("_", " "))
    return " ".join(word.strip(".") for word in plain.split() if word.strip("."))


def build(document: Document) -> Cube:
    """Understand the tables of an article."""
    grids = tuple(_grid(table) for table in document.tables)
    data: list[Datum] = []
    aliases: dict[str, str] = {}
    for grid in grids:
        coordinates, more = _coordinates(grid)
        aliases |= more
        data += _data(grid, coordinates)
    return Cube(document=document, grids=grids, data=tuple(data), aliases=aliases)


def _without_measure(header: str) -> str:
    low = quantities.words(header)
    rules = [*quantities.RATES.values(), quantities.LATENCY, quantities.PERCENTILE]
    rules += list(quantities.QUALIFIERS.values())
    rules += [r"\(\s*(?:in\s+)?(?:%|k|x|[a-zµμ]{1,3})\s*\)", r"\bthroughput\b", r"\btransactions\b"]
    rules += [rf"\b{quantities.TIME_UNIT}\b", r"\(\s*\)", r"\d+[\s-]*(?:clients?|connections?)\b"]
    rules.append(_OPERATIONS)
    for rule in rules:
        low = re.sub(rule, " ", low)
    return normal(re.sub(r"^\W+|[^\w)]+$", "", low))


def _clients_of_header(header: str, caption: str) -> Decimal | None:
    found = re.search(
        r"\b(\d+)[\s-]*(?:clients?|connections?|conns?|threads?|users|sessions)\b",
        header,
        re.IGNORECASE,
    )
    bare = re.fullmatch(r"\s*[cC]?=?\s*(\d+)\s*", header)
    if found is None and bare is not None and quantities.clients_in(caption):
        found = bare
    return Decimal(found[1]) if found else None


def _grid(table: Table) -> Grid:
    rows = range(len(table.rows))
    names = [quantities.measure(row[0].text) for row in table.rows]
    down = _measures_down(table, names)
    columns = tuple(_column(table, index, down=down) for index in range(len(table.header)))
    return Grid(
        table=table,
        columns=columns,
        summaries=frozenset(r for r in rows if _SUMMARY.match(table.rows[r][0].text) and not down),
        row_measures=tuple(names) if down else (None,) * len(names),
    )


def _measures_down(table: Table, names: list[Measure | None]) -> bool:
    kinds = [name.kind for name in names if name is not None and name.kind in _MEASURED]
    across = [quantities.measure(cell.text) for cell in table.header[1:]]
    return 2 * len(kinds) >= len(names) and not any(m and m.kind in _MEASURED for m in across)


def _column(table: Table, index: int, *, down: bool) -> Column:
    header = table.header[index].text
    readings = tuple(quantities.read_cell(row[index].text, table.mark) for row in table.rows)
    measure = quantities.measure(header)
    filled = sum(bool(re.search(r"\w", row[index].text)) for row in table.rows)
    numeric = filled > 0 and 2 * sum(r is not None for r in readings) >= filled
    if measure is not None and measure.kind is Kind.CHANGE and not _changes(header, readings):
        measure = None
    if measure is None and numeric and index and not down:
        measure = _by_unit(readings) or _by_caption(header, table.caption)
    if measure is not None and measure.kind in _MEASURED and not numeric:
        measure = None
    return Column(
        index=index,
        header=header,
        label=_without_measure(header),
        measure=measure,
        clients=_clients_of_header(header, table.caption) if index else None,
        readings=readings,
        filled=filled,
    )


def _changes(header: str, readings: tuple[Reading | None, ...]) -> bool:
    """Tell a column of changes from one whose header only speaks of a comparison."""
    units = [r.unit for r in readings if r is not None]
    marked = sum(unit in {"%", "x", "\u00d7"} for unit in units)
    return 2 * marked > len(units) or bool(
        re.search(r"%|ratio|speed-?\s?up|\(x\)|\u00d7|factor|percent", header.lower())
    )


def _by_unit(readings: tuple[Reading | None, ...]) -> Measure | None:
    units = {r.unit for r in readings if r is not None}
    found = {quantities.unit_measure(unit) for unit in units if unit}
    kinds = {m.kind for m in found if m is not None}
    if None in found or len(kinds) != 1 or "" in units:
        return None
    first = next(iter(found))
    return first if len(found) == 1 or first is None else msgspec.structs.replace(first, unit="")


def _by_caption(header: str, caption: str) -> Measure | None:
    if re.search(_KEY, quantities.words(header)) or re.search(
        quantities.THREADS, quantities.words(header)
    ):
        return None
    found = quantities.measure(caption)
    return found if found is not None and found.kind in _MEASURED else None


def _coordinates(grid: Grid) -> tuple[list[int], dict[str, str]]:
    """Choose the columns of words that are coordinates; and names that mean the same."""
    rows = [r for r in range(len(grid.table.rows)) if r not in grid.summaries]
    chosen: list[int] = []
    aliases: dict[str, str] = {}
    for column in grid.columns:
        if column.measure is not None or (column.numeric and column.index):
            continue
        texts = [normal(grid.table.rows[r][column.index].text) for r in rows]
        if column.numeric or not any(texts):
            continue
        if _determined(grid, rows, texts, chosen, aliases):
            continue
        chosen.append(column.index)
    return chosen, aliases


def _determined(
    grid: Grid, rows: list[int], texts: list[str], chosen: list[int], aliases: dict[str, str]
) -> bool:
    for index in chosen:
        first = [normal(grid.table.rows[r][index].text) for r in rows]
        pairs = set(zip(first, texts, strict=True))
        if len(pairs) == len(set(first)):
            if len(pairs) == len(set(texts)):
                aliases |= {text: name for name, text in pairs if text and text != name}
            return True
    return False


def _data(grid: Grid, coordinates: list[int]) -> list[Datum]:
    made: list[Datum] = []
    for row in range(len(grid.table.rows)):
        if row in grid.summaries:
            continue
        names = {normal(grid.table.rows[row][index].text) for index in coordinates}
        if grid.row_measures[row] is not None:
            names = {_without_measure(grid.table.rows[row][0].text)}
        names |= _other_keys(grid, row)
        for column in grid.columns:
            datum = _datum(grid, row, column, frozenset(names - {""}))
            if datum is not None:
                made.append(datum)
    return made


def _other_keys(grid: Grid, row: int) -> set[str]:
    """Take numbers that are no measurement as coordinates: scale, threads, block size."""
    keys: set[str] = set()
    for column in grid.columns:
        reading = column.readings[row]
        keyed = column.index == 0 or re.search(
            rf"{_KEY}|{quantities.THREADS}", quantities.words(column.header)
        )
        if column.measure is None and reading is not None and keyed:
            keys.add(f"{normal(column.header)} {normal(reading.figure.text)}")
    return keys


def _datum(grid: Grid, row: int, column: Column, names: frozenset[str]) -> Datum | None:
    reading = column.readings[row]
    measure = column.measure or grid.row_measures[row]
    if column.index == 0 or reading is None or measure is None or measure.kind not in _MEASURED:
        return None
    own = quantities.unit_measure(reading.unit) if reading.unit else None
    if own is not None and own.kind is not measure.kind:
        return None
    factor = own.factor if own is not None else measure.factor
    if own is not None and own.kind is Kind.THROUGHPUT:
        measure = msgspec.structs.replace(measure, unit=own.unit)
    if reading.figure.value <= 0 or reading.figure.value <= reading.figure.half:
        return None
    label = normal(column.header) if grid.row_measures[row] is not None else column.label
    return Datum(
        table=grid.table.number,
        row=row,
        column=column.index,
        place=grid.table.place(row, column.index),
        measure=measure,
        figure=reading.figure.scaled(factor),
        printed=_printed(reading, measure),
        names=names | ({label} if label and column.clients is None else set()),
        clients=column.clients if column.clients is not None else _clients(grid, row),
    )


def _printed(reading: Reading, measure: Measure) -> str:
    unit = "" if reading.unit else measure.unit or ("ms" if measure.kind is Kind.LATENCY else "")
    shown = unit.upper() if measure.kind is Kind.THROUGHPUT else unit
    return f"{reading.figure.text} {shown}".strip()


def _clients(grid: Grid, row: int) -> Decimal | None:
    """Read how many clients a row has; threads count where no other column says."""
    for rule in (quantities.clients_in, lambda text: bool(re.search(quantities.THREADS, text))):
        for column in grid.columns:
            reading = column.readings[row]
            if reading is not None and rule(quantities.words(column.header)):
                return reading.figure.value
            words = re.fullmatch(
                r"(\d+)\s+(?:clients?|connections?|threads?|users)",
                grid.table.rows[row][column.index].text.strip(),
            )
            if words:
                return Decimal(words[1])
    return None
