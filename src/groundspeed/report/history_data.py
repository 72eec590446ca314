"""Cells over time for machines: base units, unrounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from groundspeed.analyse.history import History

FORMAT = 1


def to_json(history: History) -> str:
    """Write one JSON object; ends with a newline.

    `kind` is "groundspeed-history"; each of `cells` has its factors, its `points` (a run each, with
    the median TPS, its interval and its range) and its `changes` of level.
    """
    document = {
        "kind": "groundspeed-history",
        "format": FORMAT,
        **msgspec.to_builtins(history),
    }
    # msgspec writes what is no number as null, which JSON has instead of NaN.
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
