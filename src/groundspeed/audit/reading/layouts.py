"""Finds tables in lines of plain text: pipes, tabs, aligned columns, and one cell a line.

The last is what is left when a table is copied from a page as text. Every layout has to show a
number in its rows: lists and poems are no tables.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from groundspeed.audit.document import Cell
from groundspeed.audit.figures import Mark
from groundspeed.audit.quantities import read_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Rows = tuple[tuple[Cell, ...], ...]
_RULE = re.compile(r"[\s|+:=\-─━┼│═╪┌┐└┘├┤┬┴]*[-=─━═]{2,}[\s|+:=\-─━┼│═╪┌┐└┘├┤┬┴]*")
_BARS = re.compile(r"[│┃]")
SHORT = 60
_COLUMNS_AT_MOST = 10
_CELLS_AT_MOST = 2000
_LEAST_ROWS = 3


def find(lines: Sequence[str], start: int) -> tuple[Rows, int] | None:
    """Look for a table whose first line is `start` (from 0); give it and the line after it."""
    for layout in (_pipes, _tabs, _aligned, _one_a_line):
        found = layout(lines, start)
        if found is not None:
            return found
    return None


def is_rule(line: str) -> bool:
    """Tell a line that only draws."""
    return bool(_RULE.fullmatch(line))


def _numeric(text: str) -> bool:
    return any(read_cell(text, mark) is not None for mark in Mark)


def _holds_numbers(rows: list[list[str]]) -> bool:
    return any(_numeric(cell) for row in rows[1:] for cell in row)


def _cells(rows: list[list[str]], lines: list[int]) -> Rows:
    width = len(rows[0])
    return tuple(
        tuple(Cell(text=text, line=line + 1) for text in [*row, *[""] * width][:width])
        for row, line in zip(rows, lines, strict=True)
    )


def _run(
    lines: Sequence[str], start: int, split: Callable[[str], list[str] | None]
) -> tuple[list[list[str]], list[int], int]:
    """Take lines as long as they split into as many cells as the first; rules are skipped."""
    rows: list[list[str]] = []
    numbers: list[int] = []
    place = start
    while place < len(lines):
        if is_rule(lines[place]):
            place += 1
            continue
        cells = split(lines[place])
        if cells is None or (rows and len(cells) != len(rows[0])):
            break
        rows.append(cells)
        numbers.append(place)
        place += 1
    return rows, numbers, place


def split_pipes(line: str) -> list[str] | None:
    """Take a line of a pipe table apart; None where it has no two cells."""
    text = _BARS.sub("|", line).strip()
    if "|" not in text:
        return None
    bare = text.removeprefix("|").removesuffix("|")
    cells = [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", bare)]
    return cells if len(cells) > 1 else None


def _pipes(lines: Sequence[str], start: int) -> tuple[Rows, int] | None:
    if split_pipes(lines[start]) is None:
        return None
    rows, numbers, end = _run(lines, start, split_pipes)
    ruled = any(is_rule(line) for line in lines[start:end])
    return (_cells(rows, numbers), end) if len(rows) > 1 and ruled else None


def _tabs(lines: Sequence[str], start: int) -> tuple[Rows, int] | None:
    def split(line: str) -> list[str] | None:
        return [cell.strip() for cell in line.split("\t")] if "\t" in line.strip("\n") else None

    if "\t" not in lines[start]:
        return None
    rows, numbers, end = _run(lines, start, split)
    return (_cells(rows, numbers), end) if len(rows) > 1 and _holds_numbers(rows) else None


def _aligned(lines: Sequence[str], start: int) -> tuple[Rows, int] | None:
    def split(line: str) -> list[str] | None:
        cells = re.split(r"\s{2,}", line.strip())
        return cells if len(cells) > 1 else None

    if split(lines[start]) is None:
        return None
    rows, numbers, end = _run(lines, start, split)
    good = len(rows) >= _LEAST_ROWS and _holds_numbers(rows) and not any(map(_numeric, rows[0]))
    return (_cells(rows, numbers), end) if good else None


def _one_a_line(lines: Sequence[str], start: int) -> tuple[Rows, int] | None:
    """Find k names of columns, then rows of k cells of which each column is alike throughout."""
    # The first row ends within so many lines: a look at them spares most pages the rest.
    near = [line.strip() for line in lines[start : start + 4 * _COLUMNS_AT_MOST] if line.strip()]
    if _numeric(lines[start]) or not any(map(_numeric, near[: 2 * _COLUMNS_AT_MOST])):
        return None
    texts: list[tuple[str, int]] = []
    place = start
    blanks = 0
    while place < len(lines) and blanks <= 1 and len(texts) < _CELLS_AT_MOST:
        text = lines[place].strip()
        blanks = 0 if text else blanks + 1
        if len(text) > SHORT or re.search(r"[a-z]{3,}[.:;,]$", text):
            break
        if text:
            texts.append((text, place))
        place += 1
    for width in range(2, min(_COLUMNS_AT_MOST, len(texts) // 3) + 1):
        found = _rows_of(texts, width)
        if found is not None:
            return found, texts[len(found) * width - 1][1] + 1
    return None


def _rows_of(texts: list[tuple[str, int]], width: int) -> Rows | None:
    header, body = texts[:width], texts[width:]
    if any(_numeric(text) for text, _ in header):
        return None
    looks = [_look(text) for text, _ in body[:width]]
    if not any(looks[1:]):
        return None
    rows = [header]
    for at in range(0, len(body) - width + 1, width):
        row = body[at : at + width]
        if [_look(text) for text, _ in row] != looks:
            break
        rows.append(row)
    rest = body[(len(rows) - 1) * width :]
    keys = [row[0][0].replace(",", "") for row in rows[1:]]
    counted = not looks[0] or (all(k.isdigit() for k in keys) and _rising([int(k) for k in keys]))
    # A number left over would mean that the rows were cut at the wrong width.
    if len(rows) < _LEAST_ROWS or not counted or (rest and _numeric(rest[0][0])):
        return None
    return tuple(tuple(Cell(text=text, line=line + 1) for text, line in row) for row in rows)


def _look(text: str) -> str:
    """Say what a cell looks like: "" for words, else a number of per cent, of times or another."""
    if not _numeric(text):
        return ""
    return next((mark for mark in ("%", "x") if text.rstrip().endswith(mark)), "number")


def _rising(keys: list[int]) -> bool:
    return all(one < other for one, other in pairwise(keys))
