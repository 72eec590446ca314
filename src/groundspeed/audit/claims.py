"""Finds claims of change in sentences: "40% faster", "4x the TPS", "half the latency".

A percentage without a word of change is no claim, nor is "6x i3en.2xlarge". Ranges are left alone.
"""

from __future__ import annotations

import re
from decimal import Decimal
from enum import Enum

import msgspec

from groundspeed.audit.figures import HUNDRED, NUMBER, Figure, Mark, Span, number
from groundspeed.audit.names import COUNT_WORDS

_LOOSE = Decimal("0.15")
_WITHOUT_END = Decimal(10) ** 12


class Sense(Enum):
    """Which way a claim says it goes."""

    MORE = 1
    LESS = 2
    BETTER = 3
    WORSE = 4
    # "80% of", "4x the": the ratio itself.
    SHARE = 5


class Hedge(Enum):
    """How far a claim binds itself."""

    NONE = 1
    ABOUT = 2
    NEARLY = 3
    OVER = 4
    UP_TO = 5


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim of change; `percent` tells a percentage from a multiple."""

    figure: Figure
    percent: bool
    sense: Sense
    hedge: Hedge
    word: str
    start: int
    end: int
    text: str

    @property
    def span(self) -> Span:
        """All true values for which one may say so."""
        value, half = self.figure.value, self.figure.half
        if self.hedge is Hedge.OVER:
            return Span(value - half, _WITHOUT_END)
        if self.hedge is Hedge.NEARLY:
            return Span(value * (1 - _LOOSE), value + half)
        if self.hedge is Hedge.ABOUT:
            far = max(half, value * _LOOSE)
            return Span(value - far, value + far)
        return Span(value - half, value + half)


_HEDGES = (
    (Hedge.UP_TO, r"\b(?:up to|as much as|at best|a maximum of|at most)\s*$"),
    (
        Hedge.NEARLY,
        r"\b(?:nearly|almost|just under|close to|just short of|close on)\s*(?:an?\s*)?$",
    ),
    (Hedge.OVER, r"(?:\b(?:over|more than|above|at least|in excess of|upwards of)|>|≥)\s*$"),
    (
        Hedge.ABOUT,
        (
            r"(?:\b(?:about|around|approximately|roughly|some|circa|approx\.?|ca\.)|"
            r"[~≈])\s*(?:an?\s*)?$"
        ),
    ),
)
_AFTER = (
    (Sense.BETTER, r"faster|quicker|better|improvement|improved|speed-?\s?up|boost|gain"),
    (Sense.WORSE, r"slower|worse|regression|penalty|slowdown"),
    (
        Sense.MORE,
        (
            "higher|more|greater|larger|increase|rise|jump|growth|additional|extra|longer|"
            r"up\b|as (?:much|many|high|fast)"
        ),
    ),
    (
        Sense.LESS,
        r"lower|less|fewer|smaller|decrease|drop|reduction|decline|shorter|loss|down\b|hit\b",
    ),
    (Sense.SHARE, r"of\b|the\b|that of\b|its\b"),
)
_BEFORE = (
    (
        Sense.BETTER,
        r"improv\w+(?: [\w-]+){0,3} by|speed-?up of|gain(?:s|ed)? of|improvement of|accelerat\w+",
    ),
    (Sense.WORSE, r"slows?(?: [\w-]+){0,2} (?:down )?by|penalty of|overhead of"),
    (
        Sense.MORE,
        (
            r"(?:increas\w+|rose|rises?|grew|grows?|rais\w+|climb\w+|up|jump\w*|higher)(?: "
            r"[\w-]+){0,3}? (?:by|of)|increas\w+|outperform\w*(?: [\w-]+){1,4} by|beats?(?: "
            r"[\w-]+){1,4} by"
        ),
    ),
    (
        Sense.LESS,
        (
            r"(?:drop\w*|fell|falls?|decreas\w+|declin\w+|reduc\w+|cuts?|lost|los(?:es|t)|"
            r"down|shr[aiu]nk\w*|lower)(?: [\w-]+){0,3}? (?:by|of)|(?:drops?|loses?|lost|"
            "cuts?)"
        ),
    ),
)
_MULTIPLES = {
    "twice": Decimal(2), "double": Decimal(2), "doubles": Decimal(2), "doubled": Decimal(2),
    "half": Decimal("0.5"), "halves": Decimal("0.5"), "halved": Decimal("0.5"),
    "triple": Decimal(3), "triples": Decimal(3), "tripled": Decimal(3),
    "one-quarter": Decimal("0.25"), "a quarter": Decimal("0.25"), "one quarter": Decimal("0.25"),
    "one-third": Decimal(1) / 3, "a third": Decimal(1) / 3, "one third": Decimal(1) / 3,
    "quadruple": Decimal(4),
}  # fmt: skip
_QUOTED = r"^\W*(?:\w+:\s*)?[\"“].*[\"”]\W*$"
_MEASURE = (
    r"(?:throughput|tps|qps|rps|latenc\w+|transactions?|requests?|queries|operations|ops|"
    r"performance"
    r"|response|speed|rate|time|p\d\d)\b"
)
_SPEED = (
    rf"(?:[\w-]+\s+){{0,2}}{_MEASURE}|(?:than|at|over|vs|versus|in|with|for|on|under|when|while"
    r"|across|by|to|from|against|compared|relative|of|and|but|as|that|there|here|again|between"
    r"|because|after"
    r"|before|if|is|was|per|or|then|overall|only|even|so|which)\b"
)
_OTHER_THINGS = (
    r"\bcpu\b|utili[sz]ation|hit (?:rate|ratio)|cache hit|\bcosts?\b|cheaper|price|confidence|"
    r"error rate|memory usage|\bbusy\b|iowait|interval|margin|significan|disk space|"
    "fill ?factor|bloat"
)


def find(text: str, mark: Mark) -> list[Claim]:
    """List the claims of a sentence, in order; none where it speaks of shares of other things."""
    if re.search(_OTHER_THINGS, text, re.IGNORECASE) or re.search(_QUOTED, text):
        return []
    found = [*_percents(text, mark), *_times(text, mark), *_words(text)]
    return sorted((c for c in found if _of_speed(text, c)), key=lambda c: c.start)


def _of_speed(text: str, claim: Claim) -> bool:
    """Leave out "25% less memory" and "twice the cores": what follows must be speed, or nothing."""
    tail = text[claim.end :]
    after = re.match(rf"[\s-]*(?:an?\s|the\s)?{re.escape(claim.word)}", tail, re.IGNORECASE)
    if after is None:
        return True
    rest = tail[after.end() :].lstrip(" -")
    if not rest or not rest[0].isalpha():
        return True
    return bool(re.match(_SPEED, rest, re.IGNORECASE))


def _sense(text: str, start: int, end: int, *, of: bool) -> tuple[Sense, str] | None:
    after = text[end : end + 40]
    lead = re.match(r"\s*(?:[-\s]|\bthe\b\s+|\ban?\b\s+)?", after)
    rest = after[lead.end() if lead else 0 :]
    senses = _AFTER if of else _AFTER[:-1]
    for sense, rule in senses:
        found = re.match(
            rf"(?:{rule})(?!-)", rest if sense is not Sense.SHARE else after.lstrip(), re.IGNORECASE
        )
        if found:
            return sense, found[0].lower()
    for sense, rule in senses[:-1] if of else senses:
        found = re.match(rf"(?:[\w-]+\s+)?(?:{rule})", rest, re.IGNORECASE)
        if found and re.search(r"\b(?:throughput|latency|tps)\s", found[0], re.IGNORECASE):
            return sense, found[0].lower()
    before = text[max(0, start - 60) : start]
    for sense, rule in _BEFORE:
        tail = (
            r"\s*(?:up to|about|nearly|almost|over|more than|roughly|around|approximately|"
            r"by|an?|just|only|another|[~≈(])?\s*"
        )
        found = re.search(rf"\b(?:{rule}){tail}$", before, re.IGNORECASE)
        if found:
            return sense, found[0].strip().lower()
    return None


def _hedge(text: str, start: int) -> Hedge:
    before = text[max(0, start - 25) : start]
    return next((h for h, rule in _HEDGES if re.search(rule, before, re.IGNORECASE)), Hedge.NONE)


def _in_range(text: str, start: int, end: int) -> bool:
    unit = r"\s*(?:%|x|\u00d7|times|percent)?"
    before = re.search(rf"\d{unit},?\s*(?:-|\u2013|—|to|and|or|,)\s*$", text[:start])
    after = re.match(
        r"\s*(?:-|\u2013|—|to|and|or)\s*\d[\d.,]*\s*(?:%|x|\u00d7|times|percent)", text[end:]
    )
    return bool(before or after)


def _percents(text: str, mark: Mark) -> list[Claim]:
    rule = rf"(?<![\w.,])[+\-\u2212]?(?P<number>{NUMBER[mark]})\s?(?:%|percent\b|per cent\b)"
    made = []
    for match in re.finditer(rule, text):
        sense = _sense(text, match.start(), match.end(), of=True)
        if sense is None or _in_range(text, match.start(), match.end()):
            continue
        figure = _loosened(number(match["number"], mark))
        made.append(_claim(text, match.span(), figure, sense, percent=True))
    return made


def _loosened(figure: Figure) -> Figure:
    """Take a percentage that ends in a zero as rounded to it: "50%" may be 48%."""
    whole = figure.half == Decimal("0.5")
    if whole and figure.value >= HUNDRED and figure.value % 100 == 0:
        return figure.widened(Decimal(10))
    return figure.widened(Decimal("2.5")) if whole and figure.value % 10 == 0 else figure


def _times(text: str, mark: Mark) -> list[Claim]:
    counts = "|".join(COUNT_WORDS)
    rule = (
        rf"(?<![\w.,])(?P<number>{NUMBER[mark]}|{counts})"
        r"(?:\s?[x\u00d7](?![\w])|-fold\b|\s?fold\b|[\s-]times\b)"
    )
    made = []
    for match in re.finditer(rule, text, re.IGNORECASE):
        word = match["number"].lower()
        figure = number(
            str(COUNT_WORDS.get(word, word)), mark if word not in COUNT_WORDS else Mark.POINT
        )
        sense = _sense(text, match.start(), match.end(), of=True)
        if sense is None or _in_range(text, match.start(), match.end()):
            continue
        made.append(_claim(text, match.span(), figure, sense, percent=False))
    factor = (
        r"\bby a factor of\s+(?:(?:about|nearly|almost|over|"
        rf"roughly)\s+)?(?P<number>{NUMBER[mark]})"
    )
    for match in re.finditer(factor, text, re.IGNORECASE):
        sense = _sense(text, match.start() + 2, match.end(), of=False) or (Sense.SHARE, "factor")
        made.append(
            _claim(text, match.span("number"), number(match["number"], mark), sense, percent=False)
        )
    return made


def _words(text: str) -> list[Claim]:
    made = []
    for word, multiple in _MULTIPLES.items():
        for match in re.finditer(rf"\b{word}(?=\s+(?:the|its|that|as|of)\b)", text, re.IGNORECASE):
            if re.search(
                r"\b(?:first|second|other|in|by|than|and a)\s+(?:an?\s+)?$",
                text[: match.start()],
                re.IGNORECASE,
            ):
                continue
            half = multiple * _LOOSE
            figure = Figure(value=multiple, half=half, text=match[0])
            made.append(_claim(text, match.span(), figure, (Sense.SHARE, match[0]), percent=False))
    return made


def _claim(
    text: str, at: tuple[int, int], figure: Figure, sense: tuple[Sense, str], *, percent: bool
) -> Claim:
    return Claim(
        figure=figure,
        percent=percent,
        sense=sense[0],
        hedge=_hedge(text, at[0]),
        word=sense[1],
        start=at[0],
        end=at[1],
        text=text[at[0] : at[1]].strip(),
    )
