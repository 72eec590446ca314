"""Cells and headers become quantities: what is measured, in which unit, with which figure."""

from __future__ import annotations

import re
from decimal import Decimal
from enum import StrEnum

import msgspec

from groundspeed.audit.figures import NUMBER, Figure, Mark, number


class Kind(StrEnum):
    """What a column holds."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"
    # A change, in per cent or as a multiple.
    CHANGE = "change"
    CLIENTS = "clients"
    OTHER = "other"


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """A kind with what tells it from others of its kind: "tps", "p99"; `factor` to base units.

    Base units: a second, and operations a second. `qualifier` of a latency is "mean", "p50" to
    "p99.9", "min", "max", "spread", or "" where the article does not say.
    """

    kind: Kind
    qualifier: str = ""
    unit: str = ""
    factor: Decimal = Decimal(1)


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One cell read as a number: its sign where printed, and the unit behind it."""

    figure: Figure
    signed: bool
    unit: str


SECONDS = {
    "s": Decimal(1),
    "sec": Decimal(1),
    "secs": Decimal(1),
    "seconds": Decimal(1),
    "ms": Decimal("0.001"),
    "msec": Decimal("0.001"),
    "milliseconds": Decimal("0.001"),
    "us": Decimal("0.000001"),
    "usec": Decimal("0.000001"),
    "µs": Decimal("0.000001"),
    "μs": Decimal("0.000001"),
    "microseconds": Decimal("0.000001"),
}
RATES = {
    "tps": r"\btps\b|transactions?\s*(?:per|/|a)\s*s(?:ec(?:ond)?)?\b|\btx/s(?:ec)?\b",
    "qps": r"\bqps\b|quer(?:y|ies)\s*(?:per|/|a)\s*s(?:ec(?:ond)?)?\b",
    "rps": r"\brps\b|req(?:uest)?s?\s*(?:per|/|a)\s*s(?:ec(?:ond)?)?\b",
    "ops": r"\bops(?:/s(?:ec)?)?\b|operations\s*(?:per|/|a)\s*s(?:ec(?:ond)?)?\b",
    "iops": r"\biops\b",
}
TIME_UNIT = r"(?:ms|msecs?|milliseconds|us|usecs?|µs|μs|microseconds|s|secs?|seconds)"
LATENCY = r"\blatenc(?:y|ies)\b|\blat\b|response times?|\bavg[_ ]ms\b|query times?"
QUALIFIERS = {
    "spread": r"std\s*dev|stddev|\bsd\b|deviation|\bcv\b|jitter",
    "max": r"\bmax(?:imum)?\b|worst",
    "min": r"\bmin(?:imum)?\b|\bbest\b",
    "mean": r"\bavg\b|\baverage\b|\bmean\b",
}
PERCENTILE = (
    r"\bp\s?-?(\d{2}(?:\.\d+)?|\d{3})\b|\b(\d{2}(?:\.\d+)?)\s*(?:th|%|-th)\s*(?:percentile|%?ile)?"
)
_CHANGE_WORDS = (
    r"improvement|change|diff(?:erence)?|delta|Δ|gain|speed-?\s?up|faster|slower|increase"
    r"|decrease|reduction|overhead|\bloss\b|\bratio\b|relative|\bvs\.?\b|versus|compared"
)
_NOT_A_CHANGE = r"\bcpu\b|util|hit|\bidle\b|iowait|busy|\bcv\b|error|share of|cache hit"
_CLIENTS = r"\bclients?\b|\bconnections?\b|\bconns?\b|\bconcurren(?:cy|t)\b|\busers\b|\bsessions?\b"
THREADS = r"\bthreads?\b"


def words(text: str) -> str:
    """Take a header apart at underscores, dots and capitals, in lower case."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z][a-z])", " ", text)
    return re.sub(r"[_·|]+|(?<=[a-z])\.(?=[a-z])", " ", spaced).lower().strip()


def clients_in(text: str) -> bool:
    """Tell whether a header speaks of how many clients there are."""
    low = words(text)
    return bool(re.search(_CLIENTS, low)) and "max connections" not in low


def qualifier(text: str) -> str:
    """Say which latency a header or sentence speaks of; "" where it does not say."""
    low = words(text)
    if re.search(r"\bmedian\b", low):
        return "p50"
    found = re.search(PERCENTILE, low)
    if found and (found[1] or "ile" in found[0] or re.search(r"th\b", found[0])):
        digits = (found[1] or found[2]).rstrip(".")
        return "p99.9" if digits == "999" else f"p{digits}"
    return next((name for name, rule in QUALIFIERS.items() if re.search(rule, low)), "")


def _time_unit(low: str) -> str:
    found = re.search(rf"[(\[,/]\s*(?:in\s+)?({TIME_UNIT})\s*[)\]]?$|[\s]({TIME_UNIT})$", low)
    found = found or re.search(rf"\(\s*(?:in\s+)?({TIME_UNIT})\s*\)", low)
    return next((group for group in found.groups() if group), "") if found else ""


def measure(header: str) -> Measure | None:
    """Say what a header, caption or phrase measures; None where it does not say."""
    low = words(header)
    if re.search(r"\bcosts?\b|price|[$€£]", low):
        return None
    if re.search(_CHANGE_WORDS, low) and re.search(_NOT_A_CHANGE, low):
        return None
    if re.search(_CHANGE_WORDS, low) or re.fullmatch(r"[Δ%±x\u00d7+\-\s()]+", low):
        return Measure(kind=Kind.CHANGE)
    for unit, rule in RATES.items():
        if re.search(rule, low):
            steps = re.search(r"\(\s*(?:in\s+)?(k|thousands?)\s*(?:tps|qps|rps|ops)?\s*\)", low)
            factor = Decimal(1000) if steps or re.search(r"\bk(?:tps|qps|rps)\b", low) else 1
            return Measure(kind=Kind.THROUGHPUT, unit=unit, factor=Decimal(factor))
    return _time(low) or _without_unit(header, low)


def _time(low: str) -> Measure | None:
    unit = _time_unit(low)
    if re.search(LATENCY, low) or (unit and unit not in {"s", "seconds", "sec"}):
        factor = SECONDS[unit] if unit else Decimal("0.001")
        return Measure(kind=Kind.LATENCY, qualifier=qualifier(low), unit=unit, factor=factor)
    return None


def _without_unit(header: str, low: str) -> Measure | None:
    if re.search(r"\bthroughput\b", low) and not re.search(r"\b[mgk]i?b(?:it)?/?s?\b", low):
        return Measure(kind=Kind.THROUGHPUT, unit="")
    if clients_in(header):
        return Measure(kind=Kind.CLIENTS)
    return None


_CELL = (
    r"\s*(?P<about>[~≈]|about |ca\. "
    r")?\s*(?P<sign>[+\-\u2212\u2013])?\s*(?P<number>{number})\s?(?P<step>[kKM](?![A-Za-z]))?\s*(?P<unit>%|"
    r"[x\u00d7]|[A-Za-zµμ/]+)?\s*(?:(?:±|\+/-)[^()]*|\([^()]*\))?\s*\**\s*"
)
_CELLS = {mark: re.compile(_CELL.format(number=NUMBER[mark])) for mark in Mark}
_SPACED = re.compile(r"(?<=\d) (?=\d{3}(?:\D|$))")


def read_cell(text: str, mark: Mark) -> Reading | None:
    """Read a cell that holds one number, with or without sign, step, unit, spread or footnote.

    None for words, ranges ("1,200-1,800") and bounds ("< 5").
    """
    found = _CELLS[mark].fullmatch(_SPACED.sub("", text.strip()))
    if found is None:
        return None
    figure = number(found["number"], mark, found["step"] or "")
    if found["about"]:
        figure = figure.widened(figure.value / 10)
    sign = found["sign"]
    if sign and sign != "+":
        figure = msgspec.structs.replace(figure, value=-figure.value)
    shown = msgspec.structs.replace(figure, text=text.strip())
    return Reading(figure=shown, signed=bool(sign), unit=(found["unit"] or "").lower())


def unit_measure(unit: str) -> Measure | None:
    """Say what is measured by the unit that stands in a cell or behind a number."""
    if unit in SECONDS:
        return Measure(kind=Kind.LATENCY, unit=unit, factor=SECONDS[unit])
    if unit in {"%", "x", "\u00d7"}:
        return Measure(kind=Kind.CHANGE, unit=unit)
    name = next((name for name, rule in RATES.items() if re.fullmatch(rule, unit)), None)
    return None if name is None else Measure(kind=Kind.THROUGHPUT, unit=name)
