"""Checks a published benchmark as a careful referee would, and shows the arithmetic of each remark.

It refuses to guess: a statement that cannot be tied to figures with certainty is left alone, and
nothing is objected to that some rounding of the printed digits makes true. It reads no file.
"""

from __future__ import annotations

from groundspeed.audit import (
    averages,
    causes,
    changes,
    claimed,
    columns,
    conclusions,
    counts,
    cube,
    data_set,
    littles_law,
    quoted,
    reading,
    repeats,
)
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Audit, Check, Place, Remark, Severity
from groundspeed.errors import UsageError

_CHECKS = (
    columns.check,
    littles_law.check,
    changes.check,
    averages.check,
    claimed.check,
    quoted.check,
    counts.check,
    causes.check,
    data_set.check,
    repeats.check,
    conclusions.check,
)


def audit(text: str, *, suffix: str = "", source: str = "-") -> Audit:
    """Check one article; `suffix` says how it is written, "" to tell by its looks.

    Remarks come in the order of the page. Raises UsageError where there is no table to check.
    """
    try:
        document = reading.read(text, suffix)
    except UsageError as error:
        raise UsageError(f"{source}: {error.message}", error.hint) from None
    if not document.tables:
        raise UsageError(
            f"{source}: no table found",
            "name a page with tables, a CSV, or a JSON with lists of objects",
        )
    known = cube.build(document)
    remarks = _once([remark for check in _CHECKS for remark in check(known)])
    return Audit(
        source=source,
        tables_count=len(document.tables),
        figures_count=len(known.data) + _changes_count(known),
        sentences_count=len(document.sentences),
        remarks=tuple(sorted(dict.fromkeys(remarks), key=_order)),
    )


def _once(remarks: list[Remark]) -> list[Remark]:
    """Say a mistake once, where two checks see it."""
    swapped = any(r.message.endswith(columns.SWAPPED) for r in remarks)
    wrong = {r.quote for r in remarks if r.check is Check.CHANGE and r.severity is Severity.ERROR}

    def is_second(remark: Remark) -> bool:
        # A wrong "15% faster" that is slower is one mistake; swapped columns fit no clients.
        slower = remark.message.startswith(conclusions.AGAINST_CELLS) and remark.quote in wrong
        return slower or (swapped and remark.check is Check.CLIENTS)

    return [remark for remark in remarks if not is_second(remark)]


def _changes_count(known: cube.Cube) -> int:
    return sum(
        reading is not None
        for grid in known.grids
        for column in grid.columns
        if column.measure is not None and column.measure.kind is Kind.CHANGE
        for reading in column.readings
    )


def _order(remark: Remark) -> tuple[int, str, int]:
    line = remark.place.line if remark.place.line is not None else 0
    return line, remark.place.path, -remark.severity


__all__ = ["Audit", "Check", "Place", "Remark", "Severity", "audit"]
