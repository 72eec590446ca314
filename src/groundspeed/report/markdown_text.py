"""Text and tables as Markdown may have them: names are the user's own and mean themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
# An underscore inside a word is no emphasis, and shared_buffers is better left readable.
_SPECIAL = re.compile(r"([\\`*\[\]|~#!$]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9]))")
_LIST_MARK = re.compile(r"^(\s*)([-+]|\d+(?=[.)](?:\s|$)))")


def escape(text: str) -> str:
    """Make text mean itself anywhere in Markdown, inside a table as well; one line."""
    one_line = " ".join(text.split())
    escaped = _SPECIAL.sub(r"\\\1", one_line).translate(_HTML)
    return _LIST_MARK.sub(_mark, escaped)


def _mark(match: re.Match[str]) -> str:
    mark = match[2]
    # A digit cannot be escaped itself; the dot after it can, and an entity does both.
    return f"{match[1]}\\{mark}" if mark in "-+" else f"{match[1]}&#{ord(mark[0])};{mark[1:]}"


def table(titles: Sequence[str], numeric: int, rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table whose columns from index `numeric` on are aligned to the right."""
    rules = ["---" if i < numeric else "--:" for i in range(len(titles))]
    lines = [titles, rules, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
