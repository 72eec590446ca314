"""An audit as Markdown, to paste into a review."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.report import audit_text

if TYPE_CHECKING:
    from groundspeed.audit import Audit, Severity


def render(audit: Audit, least: Severity) -> str:
    """Write a heading, a list of remarks and what was looked at."""
    lines = [f"## Audit of {_plain(audit.source)}", ""]
    for remark in audit_text.shown(audit, least):
        what = f"- **{remark.severity.word}** ({remark.check.value}), {_plain(remark.place.text)}: "
        lines += [
            what + _plain(remark.message),
            f"  > {_plain(audit_text.quote(remark))}",
            "",
            *(f"  - {_plain(line)}" for line in remark.arithmetic),
            "",
        ]
    return "\n".join([*lines, audit_text.summary(audit, least) + "."]) + "\n"


def _plain(text: str) -> str:
    """Keep the words of an article from being read as markup."""
    return re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split()))
