"""Reads CSV and JSON: rows of values, without a page around them."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING, Any

from groundspeed.audit.document import Cell
from groundspeed.audit.reading.blocks import Block, What
from groundspeed.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

_SAMPLE = 4096
_NAMES = ("environment", "name", "label", "system", "configuration", "config")
_LEAST_WORDS = 3


def csv_blocks(text: str) -> list[Block]:
    """Read a CSV with comma, semicolon or tab; lines that start with # are sentences."""
    lines = text.splitlines()
    notes = [
        Block(what=What.PROSE, text=line.lstrip("# "), line=at)
        for at, line in enumerate(lines, start=1)
        if line.startswith("#") and line.strip("# ")
    ]
    numbered = [
        (at, line)
        for at, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    if not numbered:
        return notes
    head = numbered[0][1]
    delimiter = max(";\t,", key=head.count)
    made = csv.reader([line for _, line in numbered], delimiter=delimiter)
    width = len(head.split(delimiter))
    rows = [
        tuple(Cell(text=value.strip(), line=at) for value in [*values, *[""] * width][:width])
        for (at, _), values in zip(numbered, made, strict=False)
    ]
    if len(rows) < 2 or width < 2:  # noqa: PLR2004 - a header and a row
        return notes
    return [*notes, Block(what=What.TABLE, rows=tuple(rows), line=numbered[0][0])]


def json_blocks(text: str) -> list[Block]:
    """Read lists of objects as tables, nested ones joined with what stands over them.

    Numbers keep their digits. Raises UsageError where the text is no JSON.
    """
    try:
        whole = json.loads(text, parse_float=_Digits, parse_int=_Digits)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}", "name another file, or convert it to CSV") from None
    made: list[Block] = []
    _walk(whole, "", {}, made)
    return made


class _Digits(str):
    """A number of a JSON file as it is written."""

    __slots__ = ()


def _walk(value: Any, path: str, over: dict[str, str], made: list[Block]) -> None:  # noqa: ANN401 - whatever JSON holds
    if isinstance(value, dict) and _alike(value):
        rows = [(f"{path}.{key}", {"name": key, **flat(inner)}) for key, inner in value.items()]
        made += _table(rows, path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            _walk(inner, f"{path}.{key}" if path else key, over, made)
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        _tables(value, path, over, made)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            _walk(inner, f"{path}[{at}]", over, made)
    elif isinstance(value, str) and not isinstance(value, _Digits):
        words = len(value.split())
        what = What.PROSE if words >= _LEAST_WORDS else What.CODE
        made.append(Block(what=what, text=value, path=path))
    elif isinstance(value, _Digits):
        made.append(Block(what=What.CODE, text=f"{path.rpartition('.')[2]}: {value}", path=path))


def _alike(value: dict[str, Any]) -> bool:
    """Tell an object that is a table: of two objects or more with the same plain fields."""
    inner = list(value.values())
    return (
        len(inner) > 1
        and all(isinstance(each, dict) for each in inner)
        and all(each.keys() == inner[0].keys() for each in inner)
        and not any(isinstance(field, dict | list) for each in inner for field in each.values())
    )


def _tables(
    values: list[dict[str, Any]], path: str, over: dict[str, str], made: list[Block]
) -> None:
    rows: list[tuple[str, dict[str, str]]] = []
    inner: dict[str, list[tuple[str, dict[str, str]]]] = {}
    for at, each in enumerate(values):
        own = {**over, **flat(each)}
        here = f"{path}[{at}]"
        rows.append((here, own))
        named = {key: own[key] for key in _NAMES if key in own}
        for key, value in each.items():
            if isinstance(value, list) and value and all(isinstance(x, dict) for x in value):
                inner.setdefault(key, []).extend(
                    (f"{here}.{key}[{n}]", {**named, **flat(x)}) for n, x in enumerate(value)
                )
    made += _table(rows, path)
    for key, nested in inner.items():
        made += _table(nested, f"{path}[].{key}")


def flat(value: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Lay an object flat: {"set": {"rps": 1}} is {"set rps": "1"}; lists are left out."""
    made: dict[str, str] = {}
    for key, inner in value.items():
        name = f"{prefix} {key}".strip()
        if isinstance(inner, dict):
            made |= flat(inner, name)
        elif isinstance(inner, (bool, str)):
            made[name] = str(inner)
    return made


def _table(rows: list[tuple[str, dict[str, str]]], path: str) -> Iterable[Block]:
    columns: dict[str, None] = {}
    for _, row in rows:
        columns |= dict.fromkeys(row)
    names = sorted(columns, key=lambda name: _NAMES.index(name) if name in _NAMES else len(_NAMES))
    if len(names) < 2 or len(rows) < 2:  # noqa: PLR2004 - less has nothing to compare
        return []
    whole = {name for name in names if all(r.get(name, ".0").endswith(".0") for _, r in rows)}
    header = tuple(Cell(text=name, path=path) for name in names)
    cells = [
        tuple(
            Cell(text=_text(row.get(name, ""), whole=name in whole), path=f"{at}.{name}")
            for name in names
        )
        for at, row in rows
    ]
    return [Block(what=What.TABLE, rows=(header, *cells), path=path, caption=path)]


def _text(value: str, *, whole: bool) -> str:
    # A writer of JSON that holds every number as a float adds ".0"; that is no digit of the figure.
    return value.removesuffix(".0") if whole else value
