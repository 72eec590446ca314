"""The shapes of a publication beside a run: rows of text. Types without logic."""

from __future__ import annotations

import msgspec


class BesideRowText(msgspec.Struct, frozen=True, kw_only=True):
    """One environment under one load; a dash where nothing is known."""

    label: str
    clients: int
    # Medians and published figures, in requests or transactions a second.
    here: str
    published: str
    ratio: str
    interval: str
    published_ratio: str
    # "0.85x": the ratio here over the published one.
    off: str
    # "slower, as published"
    answer: str


class BesideTableText(msgspec.Struct, frozen=True, kw_only=True):
    """One workload, and in a sentence whether the order agrees and how far ratios are off."""

    workload: str
    sentence: str
    rows: tuple[BesideRowText, ...]


class BesideView(msgspec.Struct, frozen=True, kw_only=True):
    """A publication beside the run; nothing of it where the suite names none."""

    publication: str = ""
    source: str = ""
    baseline: str = ""
    # "requests/s"
    rate: str = ""
    clients_vary: bool = False
    tables: tuple[BesideTableText, ...] = ()
