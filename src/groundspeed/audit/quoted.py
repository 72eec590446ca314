"""Figures quoted in sentences under one label that stand in the tables under another."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from groundspeed.audit import clauses, names, quantities
from groundspeed.audit.figures import rounded_in_prose, show
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Check, Remark, Severity

if TYPE_CHECKING:
    from groundspeed.audit.cube import Cube, Datum
    from groundspeed.audit.document import Sentence
    from groundspeed.audit.names import Mention, Names, Valued

_TELLING_DIGITS = 3
_BETWEEN = (
    r"\b(?:than|over|vs\.?|versus|against|compared|from|instead|respectively|faster|"
    r"slower|behind)\b"
)
_OTHER_FIGURE = (
    r"\b(?:peak\w*|max\w*|min\w*|burst\w*|spike\w*|total|sum|combined|limit|ceiling|"
    r"cap|capped|average[ds]?\b.*\b(?:across|over)|first run|second run|third "
    r"run)\b"
)


def check(cube: Cube) -> list[Remark]:
    """Look each quoted figure up under the label and the clients that its clause names."""
    known = names.of(cube)
    made = []
    for sentence in cube.document.sentences:
        if not clauses.is_measured(sentence.text) or "respectively" in sentence.text:
            continue
        for start, clause in clauses.pieces(sentence.text):
            del start
            for mention, value in _quoted(known, sentence, clause):
                remark = _look_up(known, (sentence, clause), mention, value)
                made += [remark] if remark is not None else []
    return made


def _quoted(known: Names, sentence: Sentence, clause: str) -> list[tuple[Mention, Valued]]:
    """Pair a label with the only figure of its clause, where nothing else comes between."""
    mentions = [m for m in known.mentions(clause) if known.rivals(m.label)]
    found = names.values(clause, sentence.mark)
    labels = {m.label for m in mentions}
    groups = [labels & ({label} | known.rivals(label)) for label in labels]
    if len(found) != 1 or not mentions or any(len(group) > 1 for group in groups):
        return []
    value = found[0]
    before = [m for m in mentions if m.end <= value.start]
    if not before or value.figure.digits_count < _TELLING_DIGITS:
        return []
    if re.search(_BETWEEN, clause, re.IGNORECASE) or re.search(
        _OTHER_FIGURE, clause, re.IGNORECASE
    ):
        return []
    return [(before[0], value)]


def _look_up(
    known: Names, where: tuple[Sentence, str], mention: Mention, value: Valued
) -> Remark | None:
    sentence, clause = where
    asked = quantities.qualifier(clause)
    others = (
        {m.label for m in known.mentions(clause)} - known.rivals(mention.label) - {mention.label}
    )
    data = [d for d in known.data if d.measure.kind is value.kind and _qualified(d, asked)]
    own = [d for d in data if mention.label in d.names and others <= d.names]
    said = rounded_in_prose(value.figure).span
    cells = names.clients(clause) or names.clients(sentence.text)
    here = [d for d in own if d.figure.span.meets(said)]
    if not own or (cells is not None and len(cells) > 1):
        return None
    clients = cells[0] if cells else None
    if here and (clients is None or any(d.clients in {clients, None} for d in here)):
        return None
    elsewhere = [d for d in data if d.figure.span.meets(value.figure.span) and d not in own]
    named = [d for d in own if clients is not None and d.clients == clients]
    if here and named:
        return _remark(sentence, value, here[0], named, "stands in another row")
    rivals = known.rivals(mention.label)
    if elsewhere and all(d.names & rivals for d in elsewhere) and not here:
        label = next(iter(elsewhere[0].names & rivals))
        return _remark(
            sentence,
            value,
            elsewhere[0],
            named,
            f"is the figure of {label}, not of {mention.label}",
        )
    return None


def _qualified(datum: Datum, asked: str) -> bool:
    if datum.measure.kind is not Kind.LATENCY or not asked:
        return True
    return datum.measure.qualifier == asked or (asked == "mean" and not datum.measure.qualifier)


def _remark(
    sentence: Sentence, value: Valued, found: Datum, named: list[Datum], what: str
) -> Remark:
    lines = [f"{value.printed} = {found.printed}, {found.place.text}"]
    lines += [f"the cell that is named has {d.printed}, {d.place.text}" for d in named[:1]]
    if found.clients is not None:
        lines.append(f"that row has {show(Decimal(found.clients))} clients")
    return Remark(
        check=Check.LABEL,
        severity=Severity.ERROR,
        place=sentence.place,
        quote=sentence.text,
        message=f"{value.printed} {what}",
        arithmetic=tuple(lines),
    )
