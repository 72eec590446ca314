"""Base units and how people write them.

Inside the project every bare number is in a base unit named by its suffix: `_s`, `_bytes`,
`_per_s`, `_ratio`, `_count`. Scaling for people happens only in `report`.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec

_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]*)\s*")

# Longest-lived conventions of the field: kB is 1000 bytes in fio and SI, but PostgreSQL's kB is
# 1024. We take IEC names for powers of two and read the bare PostgreSQL names as PostgreSQL does,
# because suites carry its settings side by side with ours.
_BYTES = {
    "": 1,
    "B": 1,
    "kB": 1024,
    "KB": 1024,
    "MB": 1024**2,
    "GB": 1024**3,
    "TB": 1024**4,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
    "TiB": 1024**4,
}
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
_PER_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}


def _split(text: str, what: str, units: dict[str, float] | dict[str, int], example: str) -> float:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or match[2] not in units:
        names = ", ".join(unit for unit in units if unit)
        msg = f"{text!r} is not {what}: write a number and one of {names}, as in {example}"
        raise ValueError(msg)
    return float(match[1]) * units[match[2]]


def parse_bytes(text: str) -> int:
    """Read an amount of memory or disk, such as "8GiB"; bytes. Raises ValueError."""
    return round(_split(text, "a size", _BYTES, "8GiB"))


def parse_duration_s(text: str) -> float:
    """Read a duration, such as "30s", "500ms" or "1.5h"; seconds. Raises ValueError."""
    return _split(text, "a duration", _SECONDS, "30s")


def parse_rate_per_s(text: str) -> float:
    """Read a rate, such as "500/s" or "30000/min"; events per second. Raises ValueError."""
    amount, slash, unit = text.partition("/")
    if not slash or unit.strip() not in _PER_SECONDS:
        msg = f"{text!r} is not a rate: write a number and /s or /min, as in 500/s"
        raise ValueError(msg)
    try:
        return float(amount) / _PER_SECONDS[unit.strip()]
    except ValueError:
        msg = f"{text!r} is not a rate: {amount.strip()!r} is not a number; write it as in 500/s"
        raise ValueError(msg) from None


class Better(Enum):
    """Which direction of a metric is good."""

    HIGHER = "higher"
    LOWER = "lower"


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity that is measured: its name, its base unit and which direction is good."""

    name: str
    unit: str
    better: Better


TPS = Metric(name="TPS", unit="transactions/s", better=Better.HIGHER)
LATENCY_P50 = Metric(name="p50 latency", unit="s", better=Better.LOWER)
LATENCY_P95 = Metric(name="p95 latency", unit="s", better=Better.LOWER)
LATENCY_P99 = Metric(name="p99 latency", unit="s", better=Better.LOWER)
