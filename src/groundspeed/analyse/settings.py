"""PostgreSQL settings as PostgreSQL itself writes them, and those that say nothing of speed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundspeed.record import Setting

_UNIT = re.compile(r"(\d*)(\D+)")
# As in convert_from_base_unit of src/backend/utils/misc/guc.c (PostgreSQL 16).
_FAMILIES: tuple[dict[str, int], ...] = (
    {"B": 1, "kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4},
    {
        "us": 1,
        "ms": 1000,
        "s": 1_000_000,
        "min": 60_000_000,
        "h": 3_600_000_000,
        "d": 86_400_000_000,
    },
)


def setting_text(setting: Setting) -> str:
    """Write a setting as SHOW does: 16384 pages of 8kB are 128MB, 300 s are 5min."""
    match = _UNIT.fullmatch(setting.unit or "")
    # A negative or zero value is a word of its own to PostgreSQL ("off", "chosen by itself").
    if match is None or not setting.value.isdigit() or int(setting.value) == 0:
        return setting.value
    for family in _FAMILIES:
        if match[2] in family:
            size = int(setting.value) * int(match[1] or 1) * family[match[2]]
            unit = next(u for u in reversed(family) if size % family[u] == 0)
            return f"{size // family[unit]}{unit}"
    return f"{setting.value} {setting.unit}"
