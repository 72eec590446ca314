"""The size of pgbench's data against what is said of it, and against the caches.

A scale unit of pgbench is 100,000 accounts: about 15.7 MB of tables and indexes (15.0 MiB).
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from groundspeed.audit.figures import Figure, Mark, Span, number, show
from groundspeed.audit.remark import Check, Place, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube

SCALE_BYTES = Decimal(15_700_000)
# Sizes are rounded freely, and MB may mean MiB.
_LOOSE = Decimal("0.2")
_GIGA = Decimal(10) ** 9
_GIBI = Decimal(2) ** 30
_UNITS = {"m": 2, "g": 3, "t": 4}
_SIZE = r"(?P<size>\d[\d,]*(?:\.\d+)?)\s?(?P<unit>[MGT])(?P<binary>i?)B\b"
_SCALE = (
    (
        r"\bscale(?:[\s-]factor)?(?:\s+of)?[\s:=|\-]*(?P<scale>\d[\d,]*)\b(?!\.\d|"
        r"\s?[MGT]i?B|\s(?:accounts|rows|clients))"
    ),
    r"\bpgbench\b[^|;]*?\s-s\s?(?P<scale>\d+)\b",
    r"(?:^|\s)-i\s(?:[^|;]*?\s)?-s\s?(?P<scale>\d+)\b",
    r"\b-s\s(?P<scale>\d+)\b",
)
_OTHER = r"\btpc-?(?:h|ds|c)\b|sysbench|hammerdb|warehouses|\bssb\b|clickbench"
_CACHED_ON_PURPOSE = (
    "fully cached|fits? (?:entirely |comfortably |completely )?(?:in|into|inside) "
    "(?:memory|ram|shared|the (?:buffer|page|cache))|in[- ]memory|cached on "
    "purpose|cpu[- ]bound on purpose|served from (?:memory|cache|ram|shared)|"
    "everything (?:is|was) cached|warm cache|never touch(?:es)? the disk|no reads? "
    "(?:reach|hit)"
)
_LARGER = (
    r"(?:exceed\w*|larger than|bigger than|does(?: not|n't) fit|not fit|too large "
    r"for|well beyond|outgrows?|more than|greater than|twice|times)\b"
)
_MEMORY = r"memory|\bram\b|page cache|os cache|\bcache\b"


class _Sized(msgspec.Struct, frozen=True, kw_only=True):
    size_bytes: Span
    text: str
    place: Place


def check(cube: Cube) -> list[Remark]:
    """Check sizes beside a scale, and the largest scale against shared buffers and memory."""
    document = cube.document
    if not cube.data or document.says(_OTHER) or not document.says(r"pgbench|\btpcb"):
        return []
    made: list[Remark] = []
    scales: dict[Decimal, Place] = {}
    for place, text in document.verbatim:
        for scale in scales_of(text):
            scales.setdefault(scale, place)
        made += _stated_size(place, text)
    scales |= {s: p for s, p in _scale_columns(cube).items() if s not in scales}
    return made + (_against_cache(cube, scales) if scales else [])


def scales_of(text: str) -> list[Decimal]:
    """List the scale factors a text names."""
    return list(
        dict.fromkeys(
            Decimal(match["scale"].replace(",", ""))
            for rule in _SCALE
            for match in re.finditer(rule, text, re.IGNORECASE if "scale(" in rule else 0)
            if match["scale"].replace(",", "").lstrip("0")
        )
    )


def _scale_columns(cube: Cube) -> dict[Decimal, Place]:
    made: dict[Decimal, Place] = {}
    for grid in cube.grids:
        for column in grid.columns:
            if not re.fullmatch(
                r"\s*(?:pgbench )?scale(?: factor)?\s*", column.header, re.IGNORECASE
            ):
                continue
            for row, reading in enumerate(column.readings):
                if reading is not None:
                    made.setdefault(reading.figure.value, grid.table.place(row, column.index))
    return made


def _size(match: re.Match[str]) -> tuple[Figure, Span]:
    """Read a size; GB may be meant as GiB, so it spans both."""
    figure = number(match["size"], Mark.POINT)
    power = _UNITS[match["unit"].lower()]
    low = figure.span.low * (Decimal(1024) if match["binary"] else Decimal(1000)) ** power
    return figure, Span(low, figure.span.high * Decimal(1024) ** power)


def _stated_size(place: Place, text: str) -> list[Remark]:
    """Compare "scale factor 1000 (~15 GB)"; a size only counts right behind its scale."""
    made = []
    rule = (
        f"(?:{_SCALE[0]}|{_SCALE[3].replace('scale', 'scale2')})(?P<between>[^.;|"
        rf"\d]{{0,25}}){_SIZE}"
    )
    for match in re.finditer(rule, text, re.IGNORECASE):
        if re.search(
            _MEMORY + r"|buffers|wal|volume|storage|disk|-c|-j|-T", match["between"], re.IGNORECASE
        ):
            continue
        scale = Decimal((match["scale"] or match["scale2"]).replace(",", ""))
        _, span = _size(match)
        true = SCALE_BYTES * scale
        if Span(true * (1 - _LOOSE), true * (1 + _LOOSE)).meets(span):
            continue
        made.append(
            Remark(
                check=Check.DATA_SET,
                severity=Severity.ERROR,
                place=place,
                quote=match[0].strip(),
                message=f"a pgbench database of scale {show(scale)} has about {_gb(true)}",
                arithmetic=(
                    (
                        f"{show(scale)} x 15.7 MB = {_gb(true)}; stated is {match['size']} "
                        f"{match['unit']}{match['binary']}B"
                    ),
                ),
            )
        )
    return made


def _gb(size: Decimal) -> str:
    return f"{show(size / _GIGA, 3)} GB"


def _against_cache(cube: Cube, scales: dict[Decimal, Place]) -> list[Remark]:
    document = cube.document
    scale = max(scales)
    true = SCALE_BYTES * scale
    line = f"scale {show(scale)} x 15.7 MB = {_gb(true)}"
    buffers = _sizes(cube, r"shared_?\s?buffers[^.;|\d]{0,25}?")
    memory = _sizes(cube, rf"(?:{_MEMORY})[^.;|\d,]{{0,15}}?") + _sizes_before(
        cube, r"\s?(?:of\s)?(?:memory|ram)\b|[^|,;.)]{0,12}\bram\b"
    )
    memory += _instances(cube)
    fitting = [each for each in buffers if true * (1 + _LOOSE) < each.size_bytes.low]
    on_purpose = document.says(_CACHED_ON_PURPOSE) and not _says_larger(cube)
    if fitting and not on_purpose:
        least = min(fitting, key=lambda each: each.size_bytes.low)
        return [_cache_remark(cube, least, "shared_buffers", line, scales[scale])]
    claim = _says_larger(cube)
    largest = [m for m in memory if m.size_bytes.low > true * (1 + _LOOSE)]
    if claim is None or not largest or len(largest) < len(memory):
        return []
    return [
        Remark(
            check=Check.DATA_SET,
            severity=Severity.DOUBT,
            place=claim[0],
            quote=claim[1],
            message=(
                "the machine's memory can hold all of the data, unless a limit prevents it "
                "that is not printed"
            ),
            arithmetic=(line, f"memory: {largest[0].text} ({largest[0].place.text})"),
        )
    ]


def _cache_remark(cube: Cube, cache: _Sized, name: str, line: str, place: Place) -> Remark:
    claim = _says_larger(cube)
    return Remark(
        check=Check.DATA_SET,
        severity=Severity.ERROR if claim is not None else Severity.DOUBT,
        place=claim[0] if claim is not None else (cache.place if cache.place.path else place),
        quote=claim[1] if claim is not None else line,
        message=f"with such {name} all of the data fits in it: reads do not reach the storage",
        arithmetic=(line, f"{name}: {cache.text} ({cache.place.text})"),
    )


def _says_larger(cube: Cube) -> tuple[Place, str] | None:
    """Find the sentence that says the data is larger than a cache."""
    for sentence in cube.document.sentences:
        text = sentence.text
        rule = rf"(?:{_LARGER}).{{0,60}}(?:{_MEMORY}|buffers)"
        about = re.search(r"data ?set|scale|database|working set|data\b", text, re.IGNORECASE)
        hits = re.search(rule, text, re.IGNORECASE)
        if (
            about
            and hits
            and not re.search(r"\bmust\b|\bshould\b|\balways\b|\bwould\b|\bif\b", text)
        ):
            return sentence.place, text
    return None


def _sizes(cube: Cube, before: str) -> list[_Sized]:
    made = []
    for place, text in cube.document.verbatim:
        flat = text.replace(" | ", ": ")
        made += [
            _Sized(size_bytes=_size(match)[1], text=match[0].strip(), place=place)
            for match in re.finditer(rf"(?:{before}){_SIZE}", flat, re.IGNORECASE)
        ]
    return made + _size_cells(cube, before)


def _size_cells(cube: Cube, before: str) -> list[_Sized]:
    rule = before.split("[^", maxsplit=1)[0]
    made = []
    for grid in cube.grids:
        for column in grid.columns:
            if not re.search(rule, column.header, re.IGNORECASE):
                continue
            for row, cells in enumerate(grid.table.rows):
                match = re.fullmatch(rf"\s*{_SIZE}\s*", cells[column.index].text, re.IGNORECASE)
                if match:
                    where = grid.table.place(row, column.index)
                    made.append(_Sized(size_bytes=_size(match)[1], text=match[0], place=where))
    return made


def _sizes_before(cube: Cube, after: str) -> list[_Sized]:
    return [
        _Sized(size_bytes=_size(match)[1], text=match[0].strip(), place=place)
        for place, text in cube.document.verbatim
        for match in re.finditer(rf"{_SIZE}(?:{after})", text, re.IGNORECASE)
    ]


def _instances(cube: Cube) -> list[_Sized]:
    """Read "16 vCPU / 32 GiB": the memory of a machine."""
    return [
        _Sized(size_bytes=_size(match)[1], text=match[0].strip(), place=place)
        for place, text in cube.document.verbatim
        for match in re.finditer(rf"(?:\d+ )?vCPUs?\s*[/,&]\s*{_SIZE}", text, re.IGNORECASE)
    ]
