"""Base units and how people write them.

Inside the project every bare number is in a base unit named by its suffix: `_s`, `_bytes`,
`_per_s`, `_ratio`, `_count`. How many digits people are told is said here once; what is scaled for
them is worded in `report`, and in the few sentences of `analyse`.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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
# Decimal: "0.81ms" is then exactly the number nearest to 0.00081, and what is written reads back.
_SECONDS = {
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "min": Decimal(60),
    "m": Decimal(60),
    "h": Decimal(3600),
}
_PER_SECONDS = {"s": 1.0, "min": 60.0, "m": 60.0, "h": 3600.0}
# Networks are sold in decimal bits. Devices in bytes as above: AWS's MB/s of EBS are MiB/s.
_BITS_PER_SECOND = {"kbit": 125, "Mbit": 125_000, "Gbit": 125_000_000}
_BYTES_PER_SECOND = {**{unit: size for unit, size in _BYTES.items() if unit}, **_BITS_PER_SECOND}


def _split(text: str, what: str, units: Mapping[str, Decimal | int], example: str) -> Decimal:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None or match[2] not in units:
        names = ", ".join(unit for unit in units if unit)
        msg = f"{text!r} is not {what}: write a number and one of {names}, as in {example}"
        raise ValueError(msg)
    return Decimal(match[1]) * units[match[2]]


def parse_bytes(text: str) -> int:
    """Read an amount of memory or disk, such as "8GiB"; bytes. Raises ValueError."""
    return round(_split(text, "a size", _BYTES, "8GiB"))


def parse_duration_s(text: str) -> float:
    """Read a duration, such as "30s", "500ms" or "1.5h"; seconds. Raises ValueError."""
    return float(_split(text, "a duration", _SECONDS, "30s"))


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


def parse_bytes_per_s(text: str) -> float:
    """Read a bandwidth, such as "125MiB/s" or "1Gbit/s"; bytes per second. Raises ValueError.

    MB/s is 1024^2 bytes, as MB is in sizes and as EBS counts; bits are decimal, as in networks.
    """
    amount, slash, unit = text.partition("/")
    if not slash or unit.strip() != "s":
        msg = f"{text!r} is not a bandwidth: write a size and /s, as in 125MiB/s or 1Gbit/s"
        raise ValueError(msg)
    try:
        return float(_split(amount, "", _BYTES_PER_SECOND, ""))
    except ValueError:
        msg = f"{text!r} is not a bandwidth: write it as in 125MiB/s or 1Gbit/s"
        raise ValueError(msg) from None


def write_duration(value_s: float) -> str:
    """Write seconds so that `parse_duration_s` gives the same number: "0.81ms"."""
    return _shortest(value_s, {"us": Decimal(1_000_000), "ms": Decimal(1000)}, parse_duration_s)


def write_bytes(value_bytes: int) -> str:
    """Write bytes so that `parse_bytes` gives the same number: "256KiB"."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if value_bytes and value_bytes % _BYTES[unit] == 0:
            return f"{value_bytes // _BYTES[unit]}{unit}"
    return f"{value_bytes}B"


def write_rate(value_per_s: float) -> str:
    """Write events per second so that `parse_rate_per_s` gives the same number: "3000/s"."""
    return f"{_plain(Decimal(repr(value_per_s)))}/s"


def write_bytes_per_s(value_bytes_per_s: float) -> str:
    """Write bytes per second so that `parse_bytes_per_s` gives the same number: "125MiB/s"."""
    scales = {
        f"{unit}/s": Decimal(1) / _BYTES_PER_SECOND[unit]
        for unit in ("GiB", "MiB", "KiB", "Gbit", "Mbit")
    }
    return _shortest(value_bytes_per_s, scales, parse_bytes_per_s, base="B/s")


def _shortest(
    value: float, scales: Mapping[str, Decimal], parse: Callable[[str], float], base: str = "s"
) -> str:
    """Write a number in the unit that needs the fewest digits; the base unit is always exact."""
    exact = Decimal(repr(value))
    texts = [_plain(exact * scale) + unit for unit, scale in scales.items()]
    candidates = [_plain(exact) + base, *texts]
    return min((text for text in candidates if parse(text) == value), key=len)


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


NOTHING = "-"
_MOST_DECIMALS = 6
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_SIZE_STEP = 1024


def digits(value: float) -> str:
    """Write a number with three significant digits; a dash where it is none.

    The run-to-run spread of a database hides all further ones. Whole numbers keep all their digits,
    so that a reader can compare them with the output of a load tool.
    """
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    # Rounded first: 9.996 is 10.0, not 10.00.
    rounded = float(f"{value:.3g}")
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{value:,.{min(max(decimals, 0), _MOST_DECIMALS)}f}"


def format_bytes(value_bytes: float) -> str:
    """Write an amount of memory or disk in powers of 1024: 512 B, 1.50 GiB; a dash for none."""
    if not math.isfinite(value_bytes):
        return NOTHING
    power, size = 0, float(value_bytes)
    while abs(float(f"{size:.4g}")) >= _SIZE_STEP and power < len(_SIZES) - 1:
        size, power = size / _SIZE_STEP, power + 1
    return f"{digits(size) if power else round(size)} {_SIZES[power]}"


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
