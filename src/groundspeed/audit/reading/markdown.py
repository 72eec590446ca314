"""Reads Markdown with markdown-it: tables, prose without its markup, and code apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from groundspeed.audit.document import Cell
from groundspeed.audit.reading import hypertext, plain
from groundspeed.audit.reading.blocks import Block, What

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

_PROSE = {"paragraph_open": What.PROSE, "heading_open": What.HEADING}


def blocks(text: str) -> list[Block]:
    """Take a page apart; lines are numbered from 1."""
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(text)
    made: list[Block] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        line = token.map[0] + 1 if token.map else 1
        if token.type == "table_open":
            end = next(i for i in range(place, len(tokens)) if tokens[i].type == "table_close")
            made.append(_table(tokens[place:end], line))
            place = end
        elif token.type in _PROSE:
            what = What.ITEM if _in_item(tokens, place) else _PROSE[token.type]
            # A paragraph of an item lies two levels below the list.
            depth = token.level // 2
            block = Block(what=what, text=_plain(tokens[place + 1]), line=line, depth=depth)
            made.append(block)
        elif token.type in {"fence", "code_block"}:
            made += _code(token, line)
        elif token.type == "html_block":
            made += hypertext.blocks(token.content, first_line=line)
        place += 1
    return made


def _in_item(tokens: Sequence[Token], place: int) -> bool:
    return place > 0 and tokens[place - 1].type == "list_item_open"


def _plain(inline: Token) -> str:
    """Take the words of an inline token; a line break stays one, so that lines can be counted."""
    parts = []
    for child in inline.children or ():
        if child.type in {"text", "code_inline"}:
            parts.append(child.content)
        elif child.type in {"softbreak", "hardbreak"}:
            parts.append("\n")
    return "".join(parts)


def _table(tokens: Sequence[Token], line: int) -> Block:
    rows: list[tuple[Cell, ...]] = []
    cells: list[Cell] = []
    at = line
    for token in tokens:
        if token.type == "tr_open":
            at = token.map[0] + 1 if token.map else at
            cells = []
        elif token.type == "inline":
            cells.append(Cell(text=_plain(token).replace("\n", " ").strip(), line=at))
        elif token.type == "tr_close":
            rows.append(tuple(cells))
    return Block(what=What.TABLE, rows=tuple(rows), line=line)


def _code(token: Token, line: int) -> list[Block]:
    """Read code as text that may hold a table of results; all else in it is no sentence."""
    first = line + 1 if token.type == "fence" else line
    if re.match(r"(?:sh|bash|yaml|json|sql|console|ini|conf|toml|hcl)\b", token.info):
        return [Block(what=What.CODE, text=token.content, line=first)]
    shifted = "\n" * (first - 1) + token.content
    found = plain.blocks(shifted)
    return [
        block
        if block.what is What.TABLE
        else Block(what=What.CODE, text=block.text, line=block.line)
        for block in found
    ]
