"""An article as the referee sees it: tables of cells and sentences, each with its place."""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from groundspeed.audit.figures import Mark
from groundspeed.audit.remark import Place


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """Text of one cell, without markup; `line` from 1, `path` in JSON alone."""

    text: str
    line: int | None = None
    path: str = ""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """One table: a header and rows of as many cells.

    `number` counts from 1 through the article. `caption` is what stands over it: its own caption,
    or the nearest heading or short line before it.
    """

    number: int
    caption: str
    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    mark: Mark

    def place(self, row: int | None = None, column: int | None = None) -> Place:
        """Name a cell, a row, a column, or the table."""
        cells = self.header if row is None else self.rows[row]
        cell = cells[column or 0]
        return Place(
            line=cell.line,
            path=cell.path,
            table=self.number,
            row="" if row is None else self.rows[row][0].text,
            column="" if column is None else self.header[column].text,
        )


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence, list item or heading, on one line."""

    text: str
    mark: Mark
    line: int | None = None
    path: str = ""
    # Items of the list that follows it, if one does.
    items_count: int | None = None

    @property
    def place(self) -> Place:
        """Say where it stands."""
        return Place(line=self.line, path=self.path)


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """One article. `verbatim` is every word of it, code and commands included."""

    tables: tuple[Table, ...]
    sentences: tuple[Sentence, ...]
    verbatim: tuple[tuple[Place, str], ...]

    def says(self, *patterns: str) -> bool:
        """Tell whether any of the regular expressions occurs anywhere, in any case."""
        return any(
            re.search(pattern, text, re.IGNORECASE)
            for pattern in patterns
            for _, text in self.verbatim
        )


def is_even(rows: list[tuple[Cell, ...]]) -> bool:
    """Tell whether all rows have as many cells."""
    return all(len(one) == len(other) for one, other in pairwise(rows))
