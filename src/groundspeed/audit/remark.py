"""What the referee says: a remark with its severity, its place and its arithmetic."""

from __future__ import annotations

from enum import IntEnum, StrEnum

import msgspec


class Severity(IntEnum):
    """How much a remark weighs; higher is worse."""

    # True and worth knowing; nothing that was said is wrong by it.
    NOTE = 1
    # The figures do not carry what is said, or cannot be all of it.
    DOUBT = 2
    # The figures contradict what is said, or each other.
    ERROR = 3

    @property
    def word(self) -> str:
        """Name it as people and the command line do."""
        return self.name.lower()


class Check(StrEnum):
    """What is looked at; the names are stable, scripts may rely on them."""

    CLIENTS = "clients"
    CHANGE = "change"
    AVERAGE = "average"
    LABEL = "label"
    COLUMNS = "columns"
    COUNT = "count"
    CAUSE = "cause"
    DATA_SET = "data-set"
    REPEATS = "repeats"
    UNLIKE = "unlike"
    CONTRADICTION = "contradiction"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where in the text: a line (from 1) or, in JSON, a path; and what of a table."""

    line: int | None = None
    path: str = ""
    table: int | None = None
    row: str = ""
    column: str = ""

    @property
    def text(self) -> str:
        """Write it as "line 12, table 2, row 16, column gp3 (TPS)"."""
        parts = [
            f"line {self.line}" if self.line is not None else "",
            self.path,
            f"table {self.table}" if self.table is not None else "",
            f"row {self.row}" if self.row else "",
            f"column {self.column}" if self.column else "",
        ]
        return ", ".join(part for part in parts if part)


class Remark(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the referee found: what, where, and the arithmetic that shows it.

    `quote` is what the article says there, in its own words; `arithmetic` has a line a step and is
    never empty: nothing is objected to without it.
    """

    check: Check
    severity: Severity
    place: Place
    quote: str
    message: str
    arithmetic: tuple[str, ...]


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """All remarks on one article, and how much of it could be looked at (counts)."""

    source: str
    tables_count: int
    figures_count: int
    sentences_count: int
    remarks: tuple[Remark, ...]
