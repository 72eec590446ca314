"""Cuts a sentence into clauses, and tells sentences that claim nothing of what was measured."""

from __future__ import annotations

import re

_CUT = re.compile(
    r";|,?\s+\b(?:while|whereas|but|though|although|however)\b|,\s+and\s+|"
    r"\s+[\u2013—]\s+|,\s+(?=with\b)|"
    r",\s+(?=[A-Za-z][\w\-]*(?:\s[\w\-]+){0,3}\s(?:is|was|are|were|delivers?|"
    r"reach\w*|had|has|needs?|took|fell|rose)\b)"
)
_NOT_MEASURED = (
    r"\bwould\b|\bcould\b|\bmight\b|\bshould\b|\bexpect|\bif\b|\bclaim(?:s|ed)?\b|advertis|promis"
    r"|theor|\bassum|\bgoal\b|\bhope|\bpredict|hypothes|\bvendor|\bearlier post|"
    "last year|previous(?:ly)? "
    r"|\bnot\b|n't\b|\bnever\b|\bsays?\b|\bbudget|\bsla\b|\bguarantee"
)


def around(text: str, start: int, end: int) -> tuple[int, int]:
    """Give the ends of the clause that holds text[start:end]."""
    low, high = 0, len(text)
    for cut in _CUT.finditer(text):
        if cut.end() <= start:
            low = cut.end()
        elif cut.start() >= end:
            high = cut.start()
            break
    return low, high


def pieces(text: str) -> list[tuple[int, str]]:
    """List the clauses with where they start."""
    cuts = [0, *(cut.end() for cut in _CUT.finditer(text))]
    ends = [*(cut.start() for cut in _CUT.finditer(text)), len(text)]
    return [(start, text[start:end]) for start, end in zip(cuts, ends, strict=True)]


def is_measured(text: str) -> bool:
    """Tell a statement on results from wishes, quotations and denials."""
    return re.search(_NOT_MEASURED, text, re.IGNORECASE) is None
