"""Text becomes a document, whatever it is written in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.audit.reading import hypertext, markdown, plain, values
from groundspeed.audit.reading.blocks import document

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.audit.document import Document
    from groundspeed.audit.reading.blocks import Block

_READERS: dict[str, Callable[[str], list[Block]]] = {
    "md": markdown.blocks,
    "markdown": markdown.blocks,
    "html": hypertext.blocks,
    "htm": hypertext.blocks,
    "csv": values.csv_blocks,
    "tsv": values.csv_blocks,
    "json": values.json_blocks,
    "txt": plain.blocks,
    "text": plain.blocks,
}


def read(text: str, suffix: str) -> Document:
    """Read a page; `suffix` ("md", "html", ...) says what it is, and its looks where that is none.

    Raises UsageError for what claims to be JSON and is not.
    """
    reader = _READERS.get(suffix.lower().lstrip(".")) or _READERS[_looks(text)]
    return document(reader(text))


def _looks(text: str) -> str:
    start = text.lstrip()[:2000].lower()
    if re.search(r"<(?:!doctype html|html|body|table|p|h1)\b", start):
        return "html"
    if re.match(r"[{\[]\s*[\"{\[\]}]", start):
        return "json"
    if re.search(r"^\s{0,3}(?:#{1,6} |\|?\s*:?-{3,}:?\s*\|)", text, re.MULTILINE):
        return "md"
    first = text.lstrip().splitlines()[:2]
    if len(first) > 1 and all(line.count(",") > 1 for line in first) and "." not in first[0]:
        return "csv"
    return "txt"
