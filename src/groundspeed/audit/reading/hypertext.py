"""Reads HTML with the parser of the standard library: tables with spans, and blocks of prose."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from groundspeed.audit.document import Cell
from groundspeed.audit.reading.blocks import Block, What

_LEFT_OUT = {"script", "style", "nav", "footer", "svg", "template", "noscript", "head"}
_PROSE = {"p": What.PROSE, "li": What.ITEM, "figcaption": What.PROSE, "blockquote": What.PROSE}
_PROSE |= {"div": What.PROSE, "section": What.PROSE, "article": What.PROSE, "td": What.PROSE}
_PROSE |= {"pre": What.CODE, "dd": What.PROSE, "dt": What.PROSE, "main": What.PROSE}
_PROSE |= {f"h{level}": What.HEADING for level in range(1, 7)}
_SPAN_AT_MOST = 100


def blocks(text: str, first_line: int = 1) -> list[Block]:
    """Take a page apart; lines are numbered from `first_line`."""
    reader = _Reader(first_line)
    reader.feed(text)
    reader.close()
    reader.flush()
    return reader.blocks


class _Grid:
    """A table while it is read; spans are filled with the text of their cell."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.caption = ""
        self.rows: list[dict[int, Cell]] = []
        self._below: dict[tuple[int, int], Cell] = {}
        self._across = 1
        self._down = 1

    def open_row(self) -> None:
        self.rows.append({})
        self._fill()

    def open_cell(self, attributes: dict[str, str | None]) -> None:
        self._across = _span(attributes.get("colspan"))
        self._down = _span(attributes.get("rowspan"))

    def close_cell(self, text: str, line: int) -> None:
        if not self.rows:
            self.open_row()
        row = self.rows[-1]
        start = next(column for column in range(len(row) + 1) if column not in row)
        cell = Cell(text=text, line=line)
        for column in range(start, start + self._across):
            row[column] = cell
            for below in range(1, self._down):
                self._below[len(self.rows) - 1 + below, column] = cell
        self._fill()

    def _fill(self) -> None:
        row = self.rows[-1]
        at = len(self.rows) - 1
        while (at, len(row)) in self._below:
            row[len(row)] = self._below.pop((at, len(row)))

    def block(self) -> Block | None:
        rows = [tuple(row[column] for column in sorted(row)) for row in self.rows if row]
        width = max((len(row) for row in rows), default=0)
        rows = [row for row in rows if len(row) == width]
        if len(rows) < 2 or width < 2:  # noqa: PLR2004 - less is a frame, not a table
            return None
        made = _one_header(rows)
        return Block(what=What.TABLE, rows=tuple(made), line=self.line, caption=self.caption)


def _span(text: str | None) -> int:
    return min(int(text), _SPAN_AT_MOST) if text and text.isdigit() and int(text) else 1


def _one_header(rows: list[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    """Join a header of two lines (a group over its columns) into one."""
    first, second = rows[0], rows[1]
    spans = len({cell.text for cell in first}) < len(first)
    if len(rows) < 3 or not spans or any(re.search(r"^\W*\d", c.text) for c in second):  # noqa: PLR2004 - two lines of header and one row
        return rows
    joined = tuple(
        over if over.text == under.text else Cell(text=f"{over.text} {under.text}", line=under.line)
        for over, under in zip(first, second, strict=True)
    )
    return [joined, *rows[2:]]


class _Reader(HTMLParser):
    def __init__(self, first_line: int) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._offset = first_line - 1
        self._text: list[str] = []
        self._line: int | None = None
        self._what = What.PROSE
        self._left_out = 0
        self._grid: _Grid | None = None

    def _here(self) -> int:
        return self.getpos()[0] + self._offset

    def flush(self) -> None:
        text = "".join(self._text)
        lead = len(text) - len(text.lstrip())
        if text.strip() and self._grid is None:
            line = None if self._line is None else self._line + text[:lead].count("\n")
            self.blocks.append(Block(what=self._what, text=text.strip(), line=line))
        self._text, self._line, self._what = [], None, What.PROSE

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _LEFT_OUT:
            self._left_out += 1
        elif tag == "table" and self._grid is None:
            self.flush()
            self._grid = _Grid(self._here())
        elif self._grid is not None:
            self._in_table(tag, dict(attrs))
        elif tag in _PROSE:
            self.flush()
            self._what = _PROSE[tag]
        elif tag == "br":
            self._text.append("\n" if self._what is What.CODE else " ")

    def _in_table(self, tag: str, attributes: dict[str, str | None]) -> None:
        assert self._grid is not None  # noqa: S101 - asked by the caller, and for the type checker
        if tag == "tr":
            self._grid.open_row()
        elif tag in {"td", "th"}:
            self._grid.open_cell(attributes)
            self._text, self._line = [], self._here()
        elif tag == "caption":
            self._text = []
        elif tag == "br":
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in _LEFT_OUT:
            self._left_out = max(0, self._left_out - 1)
        elif self._grid is not None:
            self._close_in_table(tag)
        elif tag in _PROSE:
            self.flush()

    def _close_in_table(self, tag: str) -> None:
        grid = self._grid
        assert grid is not None  # noqa: S101 - asked by the caller, and for the type checker
        text = " ".join("".join(self._text).split())
        if tag in {"td", "th"}:
            grid.close_cell(text, self._line or self._here())
            self._text = []
        elif tag == "caption":
            grid.caption, self._text = text, []
        elif tag == "table":
            block = grid.block()
            self.blocks += [block] if block is not None else []
            self._grid, self._text, self._line = None, [], None

    def handle_data(self, data: str) -> None:
        if self._left_out:
            return
        if self._line is None and data.strip():
            lead = len(data) - len(data.lstrip())
            self._line = self._here() + data[:lead].count("\n")
            data = data.lstrip() if self._what is not What.CODE else data
        self._text.append(data)
