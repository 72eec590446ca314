"""Reads plain text: tables by their layout, what looks like code, and sentences."""

from __future__ import annotations

import re

from groundspeed.audit.reading import layouts
from groundspeed.audit.reading.blocks import Block, What

_ITEM = re.compile(r"\s*(?:[-*•\u2013·]|\d{1,2}[.)])\s+(?=\S)")
# Commands, flags, comments of a shell and YAML: read for what was set, never as a sentence.
_CODE = re.compile(
    r"\s*(?:[$#>]\s|\./|(?:sudo|pgbench|psql|kubectl|helm|make|docker|export|cp|cd|git|fio"
    r"|sysbench|redis-benchmark)\s+\S|[-\w./]+:\s*[\"\w./-]*$|-\s*\"?-|[\w.]+\s*=\s*\S+$)"
)
_WORDS_OF_PROSE = 7


def blocks(text: str) -> list[Block]:
    """Take a text apart; lines are numbered from 1."""
    lines = text.splitlines()
    made: list[Block] = []
    place = 0
    while place < len(lines):
        if not lines[place].strip() or layouts.is_rule(lines[place]):
            place += 1
            continue
        table = layouts.find(lines, place)
        if table is not None:
            rows, place = table
            made.append(Block(what=What.TABLE, rows=rows, line=rows[0][0].line))
            continue
        block, place = _prose(lines, place)
        made.append(block)
    return made


def _is_code(line: str) -> bool:
    return bool(_CODE.match(line)) and len(line.split()) < 2 * _WORDS_OF_PROSE


def _prose(lines: list[str], start: int) -> tuple[Block, int]:
    line = lines[start]
    item = _ITEM.match(line)
    if _is_code(line):
        return Block(what=What.CODE, text=line, line=start + 1), start + 1
    if item is not None:
        end = _end_of_paragraph(lines, start)
        text = "\n".join([line[item.end() :], *lines[start + 1 : end]])
        return Block(what=What.ITEM, text=text, line=start + 1), end
    end = _end_of_paragraph(lines, start)
    text = "\n".join(lines[start:end])
    short = end == start + 1 and len(line.split()) <= _WORDS_OF_PROSE
    heading = short and not re.search(r"[.!?:;,]\s*$", line)
    what = What.HEADING if heading else What.PROSE
    return Block(what=what, text=text.strip(), line=start + 1), end


def _end_of_paragraph(lines: list[str], start: int) -> int:
    """Go on while a line does not end a sentence and the next looks like more of it."""
    end = start + 1
    while end < len(lines):
        before, line = lines[end - 1].rstrip(), lines[end]
        if not line.strip() or _ITEM.match(line) or _is_code(line) or layouts.find(lines, end):
            break
        # A page copied as text has a paragraph a line; only a long line without an end is wrapped.
        if len(before) <= layouts.SHORT or re.search(r"[.!?:]$", before):
            break
        end += 1
    return end
