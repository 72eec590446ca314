"""Where a record comes from that groundspeed did not measure, and what its source does not tell."""

from __future__ import annotations

from enum import Enum

import msgspec

UNKNOWN = "unknown"


class ImportKind(Enum):
    """What a record was read from."""

    PGBENCH_OUTPUT = "pgbench-output"
    PUBLICATION = "publication"


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """The source of an imported record; None where it does not say.

    `file` is its name in `raw/`, or that of a publication of the catalogue. `sha256` is of its
    bytes. `facts` are circumstances that the source tells, `unknown` those it does not; both by
    the names that reports use. What the trial holds for an unknown one means nothing.
    """

    kind: ImportKind
    file: str
    sha256: str
    title: str | None = None
    author: str | None = None
    # As the source writes it: a year, a month or a day.
    date: str | None = None
    url: str | None = None
    facts: tuple[tuple[str, str], ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def is_published(self) -> bool:
        """Whether it is somebody's published figure, of which no raw value is known."""
        return self.kind is ImportKind.PUBLICATION

    @property
    def reference(self) -> str:
        """Name the source in a line."""
        told = ", ".join(part for part in (self.author, self.date) if part)
        title = self.title or self.file
        return f"{title} ({told})" if told else title
