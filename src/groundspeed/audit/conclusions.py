"""Conclusions against each other and against the tables: who is faster, where, and how steady."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING

import msgspec

from groundspeed.audit import claimed, clauses, names, scope
from groundspeed.audit.document import Sentence
from groundspeed.audit.figures import show
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Check, Remark, Severity
from groundspeed.audit.scope import Pairing, Scope

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube
    from groundspeed.audit.names import Names

_BETTER = (
    r"faster|quicker|outperform\w*|beats?\b|beating|\bahead of|higher (?:throughput|"
    r"tps)|more (?:throughput|tps)|lower latency|wins?\b (?:against|over)|better "
    "(?:throughput|latency|performance)|superior to"
)
_WORSE = (
    r"slower|\bbehind\b|lower (?:throughput|tps)|less (?:throughput|tps)|higher "
    "latency|worse (?:throughput|latency|performance)|inferior to|loses? to|trails"
)
_FLAT = r"\b(?:flat|constant|unchanged|steady|stable|level)\b"
AGAINST_CELLS = "the table says the opposite"
_NOT_FLAT = Decimal("1.5")
_LINEAR = r"\blinear(?:ly)?\b"
_HALF = Decimal("0.5")
_TWO = 2
_SCOPE_WORDS = (
    r"\b(?:reads?|writes?|read-only|read-write|mixed|select|update|insert|cold|warm|"
    "cached|large|small|batch|small-?scale|low|high|single|except|apart|only|until|"
    "beyond|above|below|first|sometimes|usually|most|many|some|unless|after|before|"
    r"when|where|on the other)\b"
)


class _Ranking(msgspec.Struct, frozen=True, kw_only=True):
    sentence: Sentence
    better: str
    worse: str
    at: Scope
    circumstances: frozenset[str]


def check(cube: Cube) -> list[Remark]:
    """Compare rankings with each other and with the cells, and shapes with their figures."""
    known = names.of(cube)
    rankings = [r for s in cube.document.sentences for r in _rankings(known, s)]
    made = [r for s in cube.document.sentences for r in _shapes(s)]
    for one, other in combinations(rankings, 2):
        made += _opposed(one, other)
    for ranking in rankings:
        made += _against_cells(known, ranking)
    return made


def _rankings(known: Names, sentence: Sentence) -> list[_Ranking]:
    if not clauses.is_measured(sentence.text):
        return []
    made = []
    for start, clause in clauses.pieces(sentence.text):
        for rule, up in ((_BETTER, True), (_WORSE, False)):
            matches = list(re.finditer(rule, clause, re.IGNORECASE))
            if len(matches) != 1:
                continue
            at = scope.find(
                known, sentence.text, start + matches[0].start(), start + matches[0].end()
            )
            both = {m.label for m in known.mentions(clause)}
            if at is None or not at.ordered or not {at.subject, at.base} <= both:
                continue
            better, worse = (at.subject, at.base) if up else (at.base, at.subject)
            # "Cold cache" is a name here, not a circumstance.
            bare = _without(known, sentence.text)
            words = frozenset(w.lower() for w in re.findall(_SCOPE_WORDS, bare, re.IGNORECASE))
            made.append(
                _Ranking(sentence=sentence, better=better, worse=worse, at=at, circumstances=words)
            )
    return made


def _without(known: Names, text: str) -> str:
    """Take the labels out of a sentence: words of a name are no circumstances."""
    for mention in reversed(known.mentions(text)):
        text = f"{text[: mention.start]} {text[mention.end :]}"
    return text


def _opposed(one: _Ranking, other: _Ranking) -> list[Remark]:
    same = (one.better, one.worse) == (other.worse, other.better)
    cells = (one.at.clients, one.at.others, one.circumstances, one.at.kinds, one.at.qualifier)
    theirs = (
        other.at.clients,
        other.at.others,
        other.circumstances,
        other.at.kinds,
        other.at.qualifier,
    )
    if not same or cells != theirs or one.sentence == other.sentence:
        return []
    return [
        Remark(
            check=Check.CONTRADICTION,
            severity=Severity.ERROR,
            place=other.sentence.place,
            quote=other.sentence.text,
            message="contradicts an earlier sentence on the same circumstances",
            arithmetic=(
                f"{one.sentence.place.text}: {one.better} before {one.worse}: {one.sentence.text}",
                f"{other.sentence.place.text}: {other.better} before {other.worse}",
            ),
        )
    ]


def _against_cells(known: Names, ranking: _Ranking) -> list[Remark]:
    at = msgspec.structs.replace(ranking.at, subject=ranking.better, base=ranking.worse)
    pairs = scope.pairings(known, at)
    if len(at.kinds) > 1 and any(p.after.measure.kind is Kind.THROUGHPUT for p in pairs):
        pairs = [p for p in pairs if p.after.measure.kind is Kind.THROUGHPUT]
    cells = {(p.after.names, p.after.clients) for p in pairs}
    if not pairs or (len(cells) > 1 and not (at.every and not ranking.circumstances)):
        return []
    against = [pair for pair in pairs if _is_worse(pair)]
    all_must = at.every or len(cells) == 1
    if not against or not all_must:
        return []
    pair = against[0]
    where = "" if pair.after.clients is None else f" at {show(pair.after.clients)} clients"
    return [
        Remark(
            check=Check.CONTRADICTION,
            severity=Severity.ERROR,
            place=ranking.sentence.place,
            quote=ranking.sentence.text,
            message=f"{AGAINST_CELLS}{where}",
            arithmetic=(
                f"{ranking.better}: {pair.after.printed}, {pair.after.place.text}",
                f"{ranking.worse}: {pair.before.printed}, {pair.before.place.text}",
                (
                    f"{ranking.better} / {ranking.worse} = "
                    f"{show(pair.after.figure.value / pair.before.figure.value)}"
                ),
            ),
        )
    ]


def _is_worse(pair: Pairing) -> bool:
    after, before = pair.after.figure.span, pair.before.figure.span
    if pair.after.measure.kind is Kind.LATENCY:
        return after.low > before.high
    return after.high < before.low


def _shapes(sentence: Sentence) -> list[Remark]:
    """Doubt "flat" and "linear" where the sentence itself gives figures that are neither."""
    made: list[Remark] = []
    for both in claimed.figures_in(sentence):
        if not both.ordered or not clauses.is_measured(sentence.text):
            continue
        low, high = clauses.around(sentence.text, both.start, both.end)
        part = sentence.text[low:high]
        ratio = both.after.value / both.before.value
        grown = max(ratio, 1 / ratio)
        line = f"{both.after.text} / {both.before.text} = {show(ratio, 3)}"
        if re.search(_FLAT, part, re.IGNORECASE) and grown >= _NOT_FLAT:
            made.append(_shape(sentence, "called flat, the figure changes", line))
        cells = names.clients(sentence.text)
        linear = re.search(_LINEAR, part, re.IGNORECASE) and not re.search(
            r"sub-?linear|less than linear", part, re.IGNORECASE
        )
        if linear and cells and len(cells) == _TWO and both.kind is Kind.THROUGHPUT:
            growth = max(cells) / min(cells)
            if ratio < growth * _HALF:
                more = (
                    f"{line}, for {show(max(cells))} / {show(min(cells))} = "
                    f"{show(growth, 3)} times the clients"
                )
                made.append(
                    _shape(sentence, "called linear, it grows less than half as much", more)
                )
    return made


def _shape(sentence: Sentence, message: str, line: str) -> Remark:
    return Remark(
        check=Check.CONTRADICTION,
        severity=Severity.DOUBT,
        place=sentence.place,
        quote=sentence.text,
        message=message,
        arithmetic=(line,),
    )
