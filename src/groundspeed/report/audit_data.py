"""Audits as JSON: a list, one object an article, with every field of every remark."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from groundspeed.report import audit_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.audit import Audit, Remark, Severity


def to_json(audits: Sequence[Audit], least: Severity) -> str:
    """Write the audits, indented for people."""
    return json.dumps([_audit(audit, least) for audit in audits], indent=2, ensure_ascii=False)


def _audit(audit: Audit, least: Severity) -> dict[str, Any]:
    return {
        "source": audit.source,
        "tables_count": audit.tables_count,
        "figures_count": audit.figures_count,
        "sentences_count": audit.sentences_count,
        "remarks": [_remark(remark) for remark in audit_text.shown(audit, least)],
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {
        "check": remark.check.value,
        "severity": remark.severity.word,
        "line": remark.place.line,
        "path": remark.place.path or None,
        "table": remark.place.table,
        "row": remark.place.row or None,
        "column": remark.place.column or None,
        "quote": remark.quote,
        "message": remark.message,
        "arithmetic": list(remark.arithmetic),
    }
