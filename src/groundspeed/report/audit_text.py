"""What the formats of an audit share: which remarks are shown, and how they are summed up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.audit import Severity

if TYPE_CHECKING:
    from groundspeed.audit import Audit, Remark

_QUOTE_AT_MOST = 220


def shown(audit: Audit, least: Severity) -> tuple[Remark, ...]:
    """Choose the remarks of a severity or worse."""
    return tuple(remark for remark in audit.remarks if remark.severity >= least)


def quote(remark: Remark) -> str:
    """Cut a long quotation; the place leads to the whole."""
    text = " ".join(remark.quote.split())
    return text if len(text) <= _QUOTE_AT_MOST else text[: _QUOTE_AT_MOST - 1].rstrip() + "…"


def summary(audit: Audit, least: Severity) -> str:
    """Word what was looked at and what was found."""
    remarks = shown(audit, least)
    counts = [
        _counted(sum(r.severity is severity for r in remarks), severity.word)
        for severity in sorted(Severity, reverse=True)
        if severity >= least
    ]
    looked = ", ".join(
        (
            _counted(audit.tables_count, "table"),
            _counted(audit.figures_count, "figure"),
            _counted(audit.sentences_count, "sentence"),
        )
    )
    return f"{looked} looked at: {', '.join(counts)}"


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
