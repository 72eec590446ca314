"""Claims of change in sentences against the figures they name, in tables or in the sentence."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from groundspeed.audit import claims, clauses, names, readings, scope
from groundspeed.audit.claims import Claim, Hedge, Sense
from groundspeed.audit.figures import NUMBER, Figure, Span, number, show
from groundspeed.audit.quantities import SECONDS, Kind
from groundspeed.audit.readings import Verdict
from groundspeed.audit.remark import Check, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube
    from groundspeed.audit.document import Sentence
    from groundspeed.audit.names import Names
    from groundspeed.audit.scope import Pairing, Scope

_UNLIKE = Decimal("1.5")
_UNIT = r"[A-Za-zµμ/%]+"
_CLIENTS = (
    r"(?:\s(?:at|with|for)\s(?:\d+|\w+)\s(?:concurrent\s)?(?:clients?|connections?|"
    "threads?|users))?"
)
_NO_FIGURES = (
    r"\s*(?:clients?|connections?|threads?|users|nodes?|replicas?|vcpus?|cores|"
    r"runs?|rows|minutes|hours|days|weeks|versions?)\b"
)


class Both(msgspec.Struct, frozen=True, kw_only=True):
    """Two figures that a sentence itself sets against each other."""

    before: Figure
    after: Figure
    kind: Kind
    ordered: bool
    start: int
    end: int


def check(cube: Cube) -> list[Remark]:
    """Check every claim that names its figures, in the sentence or by labels of the tables."""
    known = names.of(cube)
    made: list[Remark] = []
    for sentence in cube.document.sentences:
        if not clauses.is_measured(sentence.text):
            continue
        found = claims.find(sentence.text, sentence.mark)
        pairs = figures_in(sentence)
        if found and pairs:
            made += _stated(sentence, found, pairs)
        else:
            made += [r for claim in found for r in _named(known, sentence, claim)]
    return made


def figures_in(sentence: Sentence) -> list[Both]:
    """List "from X to Y" and "X versus Y" of a sentence."""
    num = NUMBER[sentence.mark]
    about = r"(?:about |around |roughly |nearly |almost |just |only |over |~|≈)?"
    one = rf"(?P<a>{num})\s?(?P<ka>[kK](?![A-Za-z]))?\s?(?P<ua>{_UNIT})?"
    two = rf"(?P<b>{num})(?![\w]*[.-]\d)\s?(?P<kb>[kK](?![A-Za-z]))?\s?(?P<ub>{_UNIT})?"
    rules = (
        (rf"\bfrom {about}{one}{_CLIENTS} to {about}{two}", True),
        (
            (
                rf"(?<![\w.,$]){one}{_CLIENTS},?\s(?:vs\.?|versus|against|compared (?:to|with)|"
                f"instead of) {about}{two}"
            ),
            False,
        ),
    )
    made = []
    for rule, ordered in rules:
        for match in re.finditer(rule, sentence.text, re.IGNORECASE):
            both = _both(sentence, match, ordered=ordered)
            made += [both] if both is not None else []
    return sorted(made, key=lambda both: both.start)


def _both(sentence: Sentence, match: re.Match[str], *, ordered: bool) -> Both | None:
    tail = sentence.text[match.end("b") :]
    unit_b = (match["ub"] or "").lower()
    unit_a = (match["ua"] or "").lower()
    if re.match(_NO_FIGURES, tail, re.IGNORECASE) or re.match(
        _NO_FIGURES, f" {unit_a}", re.IGNORECASE
    ):
        return None
    time_a, time_b = SECONDS.get(unit_a), SECONDS.get(unit_b)
    if (time_a is not None) and (time_b is None) and unit_b not in {"", "at", "with", "and", "for"}:
        return None
    if (
        time_b is None
        and time_a is None
        and unit_b not in {"tps", "qps", "rps", "ops", "transactions", "requests", "queries"}
    ):
        return None
    factor_b = time_b or time_a or Decimal(1)
    factor_a = time_a or time_b or Decimal(1)
    before = number(match["a"], sentence.mark, match["ka"] or "").scaled(factor_a)
    after = number(match["b"], sentence.mark, match["kb"] or "").scaled(factor_b)
    if before.value <= before.half or after.value <= after.half:
        return None
    kind = Kind.LATENCY if time_a or time_b else Kind.THROUGHPUT
    return Both(
        before=before, after=after, kind=kind, ordered=ordered, start=match.start(), end=match.end()
    )


def _stated(sentence: Sentence, found: list[Claim], pairs: list[Both]) -> list[Remark]:
    """Check claims beside their figures; only where it is plain which belong together."""
    if len(found) != len(pairs):
        return []
    made = []
    for claim, both in zip(found, pairs, strict=True):
        low, high = min(claim.end, both.end), max(claim.start, both.start)
        if re.search(r"\bp\d\d\b", sentence.text[low:high]) and len(pairs) == 1:
            continue
        verdict = _judge_both(claim, both)
        if verdict is not None:
            made.append(_remark(sentence, claim, verdict))
    return made


def _judge_both(claim: Claim, both: Both) -> Verdict | None:
    meanings = readings.usual(claim, both.kind)
    if both.ordered:
        more = both.after.value > both.before.value
        plain = [readings.MORE] if more else [readings.LESS]
        if claim.percent and claim.sense is not claims.Sense.SHARE:
            meanings = plain
        elif not claim.percent:
            meanings = [
                readings.TIMES if more else readings.PER_TIMES,
                readings.TIMES,
                readings.PER_TIMES,
            ]
        return readings.judge(claim, both.before, both.after, meanings)
    verdict = readings.judge(claim, both.after, both.before, meanings)
    other = readings.judge(claim, both.before, both.after, meanings)
    if verdict is None or other is None:
        return None
    return min(verdict, other, key=lambda v: v.severity)


def _named(known: Names, sentence: Sentence, claim: Claim) -> list[Remark]:
    unnamed = not names.kinds(sentence.text) and claim.word != "as fast"
    if unnamed and claim.sense not in {Sense.BETTER, Sense.WORSE}:
        # "30% more" of what? Only speed is said without naming it.
        return []
    at = scope.find(known, sentence.text, claim.start, claim.end)
    pairs = scope.pairings(known, at) if at is not None else []
    if at is None or not pairs:
        return []
    if at.on_average:
        return _averaged(sentence, claim, at, pairs)
    return _in_cells(sentence, claim, at, pairs)


def _in_cells(sentence: Sentence, claim: Claim, at: Scope, pairs: list[Pairing]) -> list[Remark]:
    """Judge a claim on one cell, on the best cell ("up to") or on every cell ("at least")."""
    cells = {(p.after.names, p.after.clients) for p in pairs}
    verdicts = [(pair, _judge(claim, at, pair)) for pair in pairs]
    bad = [(pair, verdict) for pair, verdict in verdicts if verdict is not None]
    if len(cells) > 1 and at.every and claim.hedge is Hedge.OVER:
        one_kind = len({p.after.measure.kind for p in pairs}) == 1
        return [_pair_remark(sentence, claim, *bad[0])] if bad and one_kind else []
    decided = len(cells) == 1 or claim.hedge is Hedge.UP_TO
    if not decided:
        return _outside(sentence, claim, at, pairs)
    if len(bad) < len(pairs):
        return []
    # The cell that comes nearest speaks for the others.
    nearest = min(bad, key=lambda each: (each[1].severity, _distance(claim, at, each[0])))
    return [_at_most(_pair_remark(sentence, claim, *nearest), claim)]


def _outside(sentence: Sentence, claim: Claim, at: Scope, pairs: list[Pairing]) -> list[Remark]:
    """Doubt a claim on several cells that lies beyond all of them: so does no average of them."""
    named = at.clients is not None or len(at.kinds) == 1
    if not named or not at.ordered:
        return []
    shown = []
    for kind in dict.fromkeys(p.after.measure.kind for p in pairs):
        for meaning in readings.usual(claim, kind):
            alike = [p for p in pairs if p.after.measure.kind is kind]
            spans = [meaning.turn(p.after.figure.span.over(p.before.figure.span)) for p in alike]
            whole = Span(min(s.low for s in spans), max(s.high for s in spans))
            if whole.meets(claim.span):
                return []
            shown.append((kind, whole))
    unit = "%" if claim.percent else "x"
    lines = [f"{kind}: {show(s.low, 3)}{unit} to {show(s.high, 3)}{unit}" for kind, s in shown]
    verdict = Verdict(
        severity=Severity.DOUBT,
        message=(
            f"none of the {len(pairs)} pairs of figures it may speak of gives it, nor a "
            "mean of them"
        ),
        arithmetic=(*dict.fromkeys(lines), f"stated is {claim.text}"),
    )
    return [_remark(sentence, claim, verdict)]


def _at_most(remark: Remark, claim: Claim) -> Remark:
    """Soften the remark on an "up to": a cell that is not printed may reach it."""
    if claim.hedge is not Hedge.UP_TO or remark.severity is not Severity.ERROR:
        return remark
    message = f"no printed cell reaches it; the nearest: {remark.message}"
    return msgspec.structs.replace(remark, severity=Severity.DOUBT, message=message)


def _judge(claim: Claim, at: Scope, pair: Pairing) -> Verdict | None:
    kind = pair.after.measure.kind
    meanings = readings.usual(claim, kind)
    verdict = readings.judge(claim, pair.before.figure, pair.after.figure, meanings)
    if verdict is None or at.ordered:
        return verdict
    other = readings.judge(claim, pair.after.figure, pair.before.figure, meanings)
    return None if other is None else min(verdict, other, key=lambda v: v.severity)


def _distance(claim: Claim, at: Scope, pair: Pairing) -> Decimal:
    del at
    first = readings.usual(claim, pair.after.measure.kind)[0]
    ratio = pair.after.figure.value / pair.before.figure.value
    return abs(first.turn(Span(ratio, ratio)).low - claim.figure.value)


def _averaged(sentence: Sentence, claim: Claim, at: Scope, pairs: list[Pairing]) -> list[Remark]:
    """Check "on average 3.7x" in every usual sense of an average of ratios."""
    if not at.ordered:
        return []
    made = []
    for what in dict.fromkeys(p.after.what for p in pairs):
        alike = [p for p in pairs if p.after.what == what]
        remark = _averaged_of(sentence, claim, alike) if len(alike) > 1 else None
        if remark is None:
            # One measure of which it is true is enough.
            return []
        made.append(remark)
    return made[:1]


def _averaged_of(sentence: Sentence, claim: Claim, pairs: list[Pairing]) -> Remark | None:
    meaning = readings.usual(claim, pairs[0].after.measure.kind)[0]
    ratios = [p.after.figure.value / p.before.figure.value for p in pairs]
    turned = [meaning.turn(Span(r, r)).low for r in ratios]
    count = len(ratios)
    product = (sum((r.ln() for r in ratios), Decimal(0)) / count).exp()
    after = sum((p.after.figure.value for p in pairs), Decimal(0))
    sums = after / sum((p.before.figure.value for p in pairs), Decimal(0))
    ways = [
        sum(turned, Decimal(0)) / count,
        *(meaning.turn(Span(r, r)).low for r in (product, sums)),
    ]
    unit = "%" if claim.percent else "x"
    lines = (
        f"cells: {', '.join(show(t) + unit for t in turned)}",
        (
            f"their mean {show(ways[0])}{unit}, by the geometric mean {show(ways[1])}{unit}, "
            f"by the ratio of sums {show(ways[2])}{unit}; stated is {claim.text}"
        ),
    )
    if all(not Span(w, w).meets(claim.span) and not claim.figure.cut_from(w) for w in ways):
        verdict = Verdict(
            severity=Severity.ERROR, message="no average of the cells gives it", arithmetic=lines
        )
        return msgspec.structs.replace(_remark(sentence, claim, verdict), check=Check.AVERAGE)
    if (
        min(turned) <= 0
        or max(turned) / min(turned) < _UNLIKE
        or Span(ways[1], ways[1]).meets(claim.span)
    ):
        return None
    verdict = Verdict(
        severity=Severity.DOUBT,
        message="an average over unlike cells describes none of them",
        arithmetic=lines,
    )
    return msgspec.structs.replace(_remark(sentence, claim, verdict), check=Check.UNLIKE)


def _pair_remark(sentence: Sentence, claim: Claim, pair: Pairing, verdict: Verdict) -> Remark:
    where = (
        f"{pair.before.figure.text} is {pair.before.place.text}",
        f"{pair.after.figure.text} is {pair.after.place.text}",
    )
    return _remark(
        sentence, claim, msgspec.structs.replace(verdict, arithmetic=(*verdict.arithmetic, *where))
    )


def _remark(sentence: Sentence, claim: Claim, verdict: Verdict) -> Remark:
    del claim
    return Remark(
        check=Check.CHANGE,
        severity=verdict.severity,
        place=sentence.place,
        quote=sentence.text,
        message=verdict.message,
        arithmetic=verdict.arithmetic,
    )
