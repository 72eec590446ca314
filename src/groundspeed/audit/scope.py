"""Ties a claim to the figures it names: who, against whom, of what, in which cells."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from groundspeed.audit import clauses, names, quantities
from groundspeed.audit.cube import Datum
from groundspeed.audit.quantities import Kind

if TYPE_CHECKING:
    from groundspeed.audit.names import Mention, Names

_THAN = (
    r"\b(?:than|over|vs\.?|versus|against|compared (?:to|with)|relative to|behind|beats?|"
    r"outperform\w*|unlike)\s+(?:the\s+|that of\s+|on\s+|with\s+|what\s+|our\s+)*$"
)
_OBJECT = (
    r"\b(?:than|over|vs\.?|versus|against|compared (?:to|with)|relative to|of|as|"
    r"behind|from|beats?|beat|outperform\w*|unlike)\s+(?:the\s+|that of\s+|on\s+|"
    r"with\s+|what\s+|our\s+)*$"
)
_EVERY = r"\b(?:every|all|each|always|consistently|across the board|regardless|throughout|in any)\b"
_ON_AVERAGE = (
    r"\bon average\b|\baveraged?\s+(?:over|across)\b|\baverage\s+(?:improvement|"
    r"gain|speed-?up|increase|reduction)\b"
)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim speaks of; `ordered` tells that the sentence says which is the base."""

    subject: str
    base: str
    ordered: bool
    others: frozenset[str]
    kinds: tuple[Kind, ...]
    qualifier: str
    clients: Decimal | None
    every: bool
    on_average: bool


class Pairing(msgspec.Struct, frozen=True, kw_only=True):
    """The two figures of one cell that a claim compares."""

    before: Datum
    after: Datum


def find(known: Names, text: str, start: int, end: int) -> Scope | None:
    """Resolve the scope of a claim at text[start:end]; None where anything is uncertain."""
    low, high = clauses.around(text, start, end)
    clause = text[low:high]
    who = _who(known, clause) or _who_of_sentence(known, text, clause)
    cells = names.clients(clause) or names.clients(text)
    if who is None or (cells is not None and len(cells) > 1):
        return None
    subject, base, ordered, others = who
    return Scope(
        subject=subject,
        base=base,
        ordered=ordered,
        others=others,
        kinds=_kinds(clause, text, start - low, end - low),
        qualifier=quantities.qualifier(clause),
        clients=cells[0] if cells else None,
        every=bool(re.search(_EVERY, text, re.IGNORECASE)),
        on_average=bool(re.search(_ON_AVERAGE, text, re.IGNORECASE)),
    )


_Who = tuple[str, str, bool, frozenset[str]]


def _who_of_sentence(known: Names, text: str, clause: str) -> _Who | None:
    # Only where the clause names nobody itself: else its subject may be one we do not know.
    return None if known.mentions(clause) else _who(known, text)


def _who(known: Names, text: str) -> _Who | None:
    mentions = known.mentions(text)
    labels = list(dict.fromkeys(mention.label for mention in mentions))
    rivals = {label: known.rivals(label) for label in labels}
    pairs = [(a, b) for i, a in enumerate(labels) for b in labels[i + 1 :] if b in rivals[a]]
    if len(pairs) == 1:
        first, second = pairs[0]
        rest = frozenset(labels) - {first, second}
        return (*_order(text, mentions, first, second), rest)
    compared = [label for label in labels if len(rivals[label]) == 1]
    if pairs or len(compared) != 1:
        return None
    label = compared[0]
    other = next(iter(rivals[label]))
    rest = frozenset(labels) - {label}
    if _is_object(text, mentions, label):
        return other, label, True, rest
    return label, other, True, rest


def _is_object(text: str, mentions: list[Mention], label: str, rule: str | None = None) -> bool:
    own = [mention for mention in mentions if mention.label == label]
    return any(re.search(rule or _OBJECT, text[: m.start], re.IGNORECASE) for m in own)


def _order(text: str, mentions: list[Mention], first: str, second: str) -> tuple[str, str, bool]:
    """Tell subject and base apart; "than" says it, and "of" only where nothing else does."""
    for rule in (_THAN, _OBJECT):
        is_first, is_second = (_is_object(text, mentions, name, rule) for name in (first, second))
        if is_first != is_second:
            break
    if is_first == is_second:
        return first, second, False
    return (second, first, True) if is_first else (first, second, True)


def _kinds(clause: str, text: str, start: int, end: int) -> tuple[Kind, ...]:
    named = names.kinds(clause)
    after = [kind for at, kind in named if at >= end]
    before = [kind for at, kind in named if at < start]
    if after and (
        not before
        or re.match(
            r"\s*(?:the|as much|higher|lower|more|less|better)?\s*(?:\w+\s+){0,2}$",
            clause[end : named[[k >= end for k, _ in named].index(True)][0]],
        )
    ):
        return (after[0],)
    if before:
        return (before[-1],)
    if after:
        return (after[0],)
    whole = {kind for _, kind in names.kinds(text)}
    return tuple(whole) if len(whole) == 1 else (Kind.THROUGHPUT, Kind.LATENCY)


def pairings(known: Names, scope: Scope) -> list[Pairing]:
    """List the cells a scope covers, both figures of each."""
    made = []
    for after in known.data:
        if not _covers(scope, after, scope.subject):
            continue
        for before in known.data:
            same = before.names - {scope.base} == after.names - {scope.subject}
            cell = (before.clients, before.what) == (after.clients, after.what)
            if scope.base in before.names and scope.base != scope.subject and same and cell:
                made.append(Pairing(before=before, after=after))
    # Figures that no coordinate tells apart cannot be named by a sentence either.
    alone = [p for p in made if _is_alone(p.after, known) and _is_alone(p.before, known)]
    return _plain_latency(alone, scope)


def _is_alone(datum: Datum, known: Names) -> bool:
    cell = (datum.names, datum.clients, datum.what)
    return sum((d.names, d.clients, d.what) == cell for d in known.data) == 1


def _covers(scope: Scope, datum: Datum, label: str) -> bool:
    return (
        label in datum.names
        and scope.others <= datum.names
        and datum.measure.kind in scope.kinds
        and (scope.clients is None or datum.clients == scope.clients)
        and (
            not scope.qualifier
            or datum.measure.kind is not Kind.LATENCY
            or datum.measure.qualifier == scope.qualifier
            or (scope.qualifier == "mean" and datum.measure.qualifier == "")
        )
    )


def _plain_latency(made: list[Pairing], scope: Scope) -> list[Pairing]:
    """Take "latency" for the mean where the tables have the mean and percentiles."""
    if scope.qualifier:
        return made
    plain = [p for p in made if p.after.measure.qualifier in {"", "mean"}]
    kinds = {p.after.measure.kind for p in plain}
    return [p for p in made if p in plain or p.after.measure.kind not in kinds]
