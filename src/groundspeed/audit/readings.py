"""What a claim of change can mean, as values of a ratio; and the judgement on it.

Words of change are loose: "3x lower latency" is a third, "40% faster" may be said of latency in
either direction. A claim is objected to only where no usual meaning makes it true. The figures are
called before and after: for "A is 40% faster than B", B is before and A after.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import msgspec

from groundspeed.audit.claims import Claim, Hedge, Sense
from groundspeed.audit.figures import HUNDRED, Figure, Span, show
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Severity


class Meaning(msgspec.Struct, frozen=True, kw_only=True):
    """A formula of the ratio after / before, in words and as a function."""

    formula: str
    turn: Callable[[Span], Span]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """An objection to a claim."""

    severity: Severity
    message: str
    arithmetic: tuple[str, ...]


def _inverse(span: Span) -> Span:
    return Span(1 / span.high, 1 / span.low)


MORE = Meaning(formula="({b} - {a}) / {a}", turn=lambda r: r.scaled(HUNDRED, -HUNDRED))
LESS = Meaning(formula="({a} - {b}) / {a}", turn=lambda r: r.scaled(-HUNDRED, HUNDRED))
MORE_FROM_AFTER = Meaning(
    formula="({b} - {a}) / {b}", turn=lambda r: _inverse(r).scaled(-HUNDRED, HUNDRED)
)
LESS_FROM_AFTER = Meaning(
    formula="({a} - {b}) / {b}", turn=lambda r: _inverse(r).scaled(HUNDRED, -HUNDRED)
)
SHARE = Meaning(formula="{b} / {a}", turn=lambda r: r.scaled(HUNDRED))
TIMES = Meaning(formula="{b} / {a}", turn=lambda r: r)
PER_TIMES = Meaning(formula="{a} / {b}", turn=_inverse)
TIMES_MORE = Meaning(formula="({b} - {a}) / {a}", turn=lambda r: r.scaled(Decimal(1), Decimal(-1)))


def usual(claim: Claim, kind: Kind) -> list[Meaning]:
    """List what a claim usually means, the plainest first."""
    falls = kind is Kind.LATENCY
    up = claim.sense is Sense.MORE or (claim.sense is (Sense.WORSE if falls else Sense.BETTER))
    if claim.sense is Sense.SHARE:
        return [SHARE] if claim.percent else [TIMES]
    if not claim.percent:
        if falls and claim.sense is Sense.BETTER:
            return [PER_TIMES]
        return [TIMES, TIMES_MORE] if up else [PER_TIMES, TIMES]
    if falls and claim.sense is Sense.BETTER:
        return [LESS, LESS_FROM_AFTER]
    if falls and claim.sense is Sense.WORSE:
        return [MORE, MORE_FROM_AFTER]
    return [MORE] if up else [LESS]


def loose(claim: Claim) -> list[tuple[Meaning, str]]:
    """List what a wrong claim may have been computed as."""
    if not claim.percent:
        return []
    other = "the change is measured from the other figure"
    return [
        (MORE_FROM_AFTER, other),
        (LESS_FROM_AFTER, other),
        (SHARE, "it is the ratio, not the change"),
    ]


def judge(claim: Claim, before: Figure, after: Figure, meanings: list[Meaning]) -> Verdict | None:
    """Hold a claim against two figures; None where some meaning makes it true."""
    ratio = after.span.over(before.span)
    exact = Span(after.value / before.value, after.value / before.value)
    if any(meaning.turn(ratio).meets(claim.span) for meaning in meanings):
        return None
    first = meanings[0]
    unit = "%" if claim.percent else "x"
    centre = first.turn(exact).low
    lines = [f"{_sum(first, before, after)} = {show(centre)}{unit}; stated is {claim.text}"]
    if any(claim.figure.cut_from(meaning.turn(exact).low) for meaning in meanings):
        return Verdict(
            severity=Severity.NOTE,
            message=f"truncated, not rounded: {show(centre)}{unit}",
            arithmetic=tuple(lines),
        )
    for meaning, why in loose(claim):
        if meaning not in meanings and meaning.turn(ratio).meets(claim.span):
            lines.append(f"{_sum(meaning, before, after)} = {show(meaning.turn(exact).low)}{unit}")
            return Verdict(severity=Severity.DOUBT, message=why, arithmetic=tuple(lines))
    hedged = claim.hedge in {Hedge.ABOUT, Hedge.NEARLY}
    return Verdict(
        severity=Severity.DOUBT if hedged else Severity.ERROR,
        message=f"the figures give {show(centre, 3)}{unit}",
        arithmetic=tuple(lines),
    )


def _sum(meaning: Meaning, before: Figure, after: Figure) -> str:
    return meaning.formula.format(a=before.text, b=after.text)
