"""What every reader delivers: blocks in the order of the page; and how they become a document."""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from groundspeed.audit.document import Cell, Document, Sentence, Table
from groundspeed.audit.figures import Mark, guess_mark
from groundspeed.audit.remark import Place

_CAPTION_AT_MOST = 140
# A sentence ends before a capital or digit; not after an abbreviation or a single letter.
_SHORTENED = r"(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bca\.)(?<!\b[Nn]o\.)(?<!\bFig\.)"
_SHORTENED += "".join(
    rf"(?<!\b{w}\.)" for w in ("approx", "resp", "incl", "etc", "max", "min", "avg")
)
_END = re.compile(
    _SHORTENED + r"(?:(?<=[.!?])[\"”)]?\s+(?=[\"“(*]?(?:[A-Z0-9~]|[a-z]+\d))"
    # Products are often written small: "... than direct. betapool is ...".
    r"|(?<=[a-z0-9%)]{3}\.)\s+(?=[a-z])|(?<=[.!?]\))\s+)"
)


class What(Enum):
    """Kinds of block. Code is read for commands and settings, never for sentences."""

    PROSE = 1
    HEADING = 2
    ITEM = 3
    CODE = 4
    TABLE = 5


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """One block; `rows` (the header first) in tables alone, `caption` where the page has one."""

    what: What
    text: str = ""
    line: int | None = None
    path: str = ""
    rows: tuple[tuple[Cell, ...], ...] = ()
    caption: str = ""
    # How deep in lists: 1 in a list, 2 in a list inside it.
    depth: int = 0


def document(blocks: list[Block]) -> Document:
    """Number the tables, take sentences apart, and settle what the decimal mark is."""
    tables = [block for block in blocks if block.what is What.TABLE]
    everywhere = guess_mark([c.text for block in tables for row in block.rows for c in row])
    common = everywhere or Mark.POINT
    return Document(
        tables=_tables(blocks, common),
        sentences=tuple(
            sentence
            for place, block in enumerate(blocks)
            if block.what in {What.PROSE, What.HEADING, What.ITEM}
            for sentence in _sentences(block, common, _items_after(blocks, place))
        ),
        verbatim=tuple(
            (Place(line=line, path=path), text)
            for block in blocks
            for line, path, text in _lines(block)
        ),
    )


def _tables(blocks: list[Block], common: Mark) -> tuple[Table, ...]:
    made: list[Table] = []
    for place, block in enumerate(blocks):
        if block.what is not What.TABLE:
            continue
        mark = guess_mark([cell.text for row in block.rows for cell in row])
        made.append(
            Table(
                number=len(made) + 1,
                caption=block.caption or _caption(blocks[:place]),
                header=block.rows[0],
                rows=block.rows[1:],
                mark=mark or common,
            )
        )
    return tuple(made)


def _caption(before: list[Block]) -> str:
    """Take the nearest short block before a table, and the heading over that, if there is one."""
    parts: list[str] = []
    for block in reversed(before[-3:]):
        if block.what is What.TABLE:
            break
        if block.what is What.HEADING:
            parts.append(block.text)
            break
        last = _END.split(block.text)[-1]
        if block.what is What.PROSE and not parts and len(last) <= _CAPTION_AT_MOST:
            parts.append(" ".join(last.split()))
    return " / ".join(reversed(parts))


def _items_after(blocks: list[Block], place: int) -> int | None:
    items = 0
    for block in blocks[place + 1 :]:
        if block.depth > 1 or (block.depth == 1 and block.what is not What.ITEM):
            continue
        if block.what is not What.ITEM:
            break
        items += 1
    return items or None


def _sentences(block: Block, mark: Mark, items: int | None) -> list[Sentence]:
    made: list[Sentence] = []
    starts = [0, *(found.end() for found in _END.finditer(block.text))]
    ends = [*(found.start() for found in _END.finditer(block.text)), len(block.text)]
    for start, end in zip(starts, ends, strict=True):
        text = " ".join(block.text[start:end].split())
        skipped = block.text[:start].count("\n")
        line = None if block.line is None else block.line + skipped
        if text:
            last = items if end == len(block.text) else None
            made.append(
                Sentence(text=text, mark=mark, line=line, path=block.path, items_count=last)
            )
    return made


def _lines(block: Block) -> list[tuple[int | None, str, str]]:
    if block.what is What.TABLE:
        return [
            (row[0].line, row[0].path, " | ".join(cell.text for cell in row)) for row in block.rows
        ]
    return [
        (None if block.line is None else block.line + place, block.path, text)
        for place, text in enumerate(block.text.split("\n"))
    ]
