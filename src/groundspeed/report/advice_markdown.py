"""Advice as Markdown: a list of findings and the selection table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report.markdown_text import escape, table

if TYPE_CHECKING:
    from groundspeed.report.advice_shapes import AdviceView


def advice_parts(advice: AdviceView) -> list[str]:
    """Lay out advice as parts of a document; none where there is none."""
    parts: list[str] = []
    if advice.sentences:
        lines = "\n".join(f"- {escape(sentence)}" for sentence in advice.sentences)
        parts.append(f"## Findings\n\n{lines}")
    if advice.choices:
        titles = ["for", "best", "runner-up", "by", "reason"]
        rows = [
            [
                row.purpose,
                f"**{escape(row.best)}**" if row.is_decided else row.best,
                escape(row.runner_up),
                escape(row.by),
                escape(row.reason),
            ]
            for row in advice.choices
        ]
        parts.append(f"## Which to choose\n\n{table(titles, len(titles), rows)}")
    return parts
