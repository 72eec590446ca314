"""Small made-up articles, and how tests ask for what was found in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.audit import Check, audit

if TYPE_CHECKING:
    from groundspeed.audit import Remark

TPS = """\
| Clients | gp3 TPS | io2 TPS |
|---|---|---|
| 4 | 1,159 | 2,307 |
| 16 | 1,216 | 5,328 |
| 64 | 1,811 | 7,211 |
"""


def found(text: str, check: Check, suffix: str = "md") -> list[Remark]:
    return [remark for remark in audit(text, suffix=suffix).remarks if remark.check is check]


def with_sentence(sentence: str, table: str = TPS) -> str:
    return f"{table}\n{sentence}\n"
