"""Differences claimed from too few repeats.

One value admits no interval. Ranks of three against three can be ordered in C(6, 3) = 20 ways, so
the smallest two-sided p is 2/20 = 0.10: as benchstat says, such a comparison can never reach 0.05.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING

from groundspeed.audit import claims
from groundspeed.audit.names import COUNT_WORDS
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Check, Place, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube
    from groundspeed.audit.document import Sentence

_WORDS = "|".join(COUNT_WORDS)
_ONCE = (
    r"\b(?:each|every|all) (?:[\w-]+ ){0,3}(?:was|were|is|are)? ?(?:run|ran|"
    r"measured|executed|tested|done|taken|made) (?:only |just |exactly )?once\b"
    r"|\b(?:each|every|all|numbers?|figures?|results?|values?|cells?)\b[^.;]{0,40}"
    r" a single (?:run|measurement|trial|pass|repetition)\b"
    r"|\b(?:based on|from|only) a single (?:run|measurement|trial|pass|repetition)\b"
    r"|\bone (?:run|"
    r"measurement|trial|repetition) (?:each|per|for each|of each)\b"
    r"|\bsingle[- ]run (?:results|figures|numbers)|\b(?:ran|run|measured|tested) "
    r"(?:[\w-]+ ){1,4}(?:exactly |only |just )?once\b|\bn ?= ?1\b"
)
_TIMES = (
    rf"\b(?:each|every|all) [^.;]{{0,50}}?\b(?P<n>\d+|{_WORDS}|twice|thrice)(?: "
    r"times\b|(?<=twice)|(?<=thrice))"
    rf"|\b(?P<n2>\d+|{_WORDS}) (?:runs|repetitions|repeats|iterations|trials|"
    "measurements) (?:each|per|of each|for each|for every|a side)"
    rf"|\b(?:mean|average|median|best) of (?P<n3>\d+|{_WORDS}) (?:runs|repetitions|"
    "repeats|iterations|trials)"
    r"|\bn ?= ?(?P<n4>\d+)\b|^(?:iterations|repeats|repetitions|runs): (?P<n5>\d+)$"
)
_CERTAIN = (
    r"statistically (?:significant|different)|\bsignifican(?:t|tly|ce)\b|\bp ?< "
    r"?0?\.05|\bp-value|95 ?% confiden"
)
_COMPARED = r"faster|slower|better|outperform|beats?|ahead|higher|lower|improve|gain|wins"
_LEVEL = Fraction(1, 20)


def check(cube: Cube) -> list[Remark]:
    """Object where the stated repeats cannot carry a stated difference."""
    told = _told(cube)
    if told is None or not cube.data or not _compares(cube):
        return []
    count, place, quote = told
    smallest = Fraction(2, comb(2 * count, count))
    sure = [s for s in cube.document.sentences if re.search(_CERTAIN, s.text, re.IGNORECASE)]
    if count == 1:
        claim = sure[0] if sure else None
        return [_once(place, quote, claim)]
    if smallest <= _LEVEL:
        return []
    if not sure:
        return [_few(place, quote, count, smallest, Severity.NOTE)]
    claim = sure[0]
    if re.search(r"\bnot\b|n't|\bno\b|cannot", claim.text):
        return []
    return [_few(claim.place, claim.text, count, smallest, Severity.DOUBT)]


def _told(cube: Cube) -> tuple[int, Place, str] | None:
    """Read how often each cell was measured; None where nothing or two things are said."""
    found: dict[int, tuple[int, Place, str]] = {}
    for place, text in cube.document.verbatim:
        if re.search(_ONCE, text, re.IGNORECASE):
            found.setdefault(1, (1, place, _sentence_with(cube, place, text, _ONCE)))
        for match in re.finditer(_TIMES, text, re.IGNORECASE):
            word = next(group for group in match.groups() if group).lower()
            count = {"twice": 2, "thrice": 3}.get(word) or COUNT_WORDS.get(word) or int(word)
            if not re.match(
                r"\s*(?:faster|slower|more|higher|lower|as|the)\b", text[match.end() :]
            ):
                found.setdefault(count, (count, place, _sentence_with(cube, place, text, _TIMES)))
    return next(iter(found.values())) if len(found) == 1 else None


def _sentence_with(cube: Cube, place: Place, text: str, rule: str) -> str:
    near = [s for s in cube.document.sentences if s.place.path == place.path]
    hits = [s.text for s in near if re.search(rule, s.text, re.IGNORECASE)]
    return hits[0] if hits else text.strip()


def _compares(cube: Cube) -> bool:
    """Tell whether the article claims a difference: in a column, or in a sentence."""
    columns = [c for grid in cube.grids for c in grid.columns]
    if any(c.measure is not None and c.measure.kind is Kind.CHANGE for c in columns):
        return True
    return any(
        claims.find(s.text, s.mark) or re.search(_COMPARED, s.text, re.IGNORECASE)
        for s in cube.document.sentences
    )


def _once(place: Place, quote: str, claim: Sentence | None) -> Remark:
    lines = ["n = 1 a side: no variance can be estimated, so no interval and no test is possible"]
    if claim is not None:
        lines.append(f"{claim.place.text}: {claim.text}")
    return Remark(
        check=Check.REPEATS,
        severity=Severity.ERROR if claim is not None else Severity.DOUBT,
        place=place,
        quote=quote,
        message="one run of each cannot tell a difference from the noise",
        arithmetic=tuple(lines),
    )


def _few(place: Place, quote: str, count: int, smallest: Fraction, severity: Severity) -> Remark:
    ways = comb(2 * count, count)
    return Remark(
        check=Check.REPEATS,
        severity=severity,
        place=place,
        quote=quote,
        message=f"n = {count} a side can never reach p < 0.05 in a test of ranks",
        arithmetic=(
            (
                f"C({2 * count}, {count}) = {ways} orders; the smallest two-sided p is 2/{ways} = "
                f"{float(smallest):.2f}"
            ),
        ),
    )
