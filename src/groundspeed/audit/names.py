"""Which labels of the tables, which clients and which measure a piece of a sentence speaks of.

Where a word could mean two labels, or a list of clients is named, nothing is resolved: a claim that
is not tied to figures with certainty is left alone.
"""

from __future__ import annotations

import re
from decimal import Decimal

import msgspec

from groundspeed.audit import quantities
from groundspeed.audit.cube import Cube, Datum, normal
from groundspeed.audit.figures import NUMBER, Figure, Mark, number
from groundspeed.audit.quantities import Kind

COUNT_WORDS = {
    word: count
    for count, word in enumerate(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
        ],
        start=1,
    )
} | {"single": 1, "thirty-two": 32, "sixty-four": 64}
_NOT_TELLING = {
    "ssd",
    "hdd",
    "nvme",
    "ebs",
    "aws",
    "gcp",
    "azure",
    "eks",
    "gke",
    "aks",
    "db",
    "sql",
    "cpu",
    "ram",
    "postgresql",
    "postgres",
    "mysql",
    "redis",
    "linux",
    "kubernetes",
    "k8s",
    "san",
    "nas",
    "vm",
    "local",
    "cloud",
    "disk",
    "storage",
    "default",
    "tuned",
    "baseline",
    "new",
    "old",
    "before",
    "after",
    "standard",
    "premium",
    "pro",
    "large",
    "small",
    "config",
    "with",
    "without",
    "and",
    "the",
    "on",
    "off",
    "read",
    "write",
    "only",
    "select",
    "simple",
    "update",
    "like",
    "tpcb",
    "tpc",
    "mixed",
    "self",
    "managed",
    "single",
    "multi",
    "test",
    "random",
    "sequential",
    "query",
    "database",
    "server",
    "instance",
    "volume",
    "node",
    "nodes",
    "replica",
    "replicas",
    "first",
    "last",
    "high",
    "low",
    "pgbench",
    "io",
    "a",
    "b",
    "c",
    "x",
    "y",
}
_NEVER = {"before", "after", "on", "off", "yes", "no", "old", "new", "read", "write", "a", "b", "c"}
_NOUN = r"(?:clients?|connections?|threads?|users?|sessions?)"
_SIMULTANEOUS = r"(?:concurrent\s+|parallel\s+|simultaneous\s+|active\s+)?"
_SEPARATOR = r"\s*(?:,\s*and|,|and|or|to|through|up to|-|\u2013|/|vs\.?)\s*"


class Mention(msgspec.Struct, frozen=True, kw_only=True):
    """A label where it is named, as offsets into the text."""

    label: str
    start: int
    end: int


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """The labels of an article and the forms in which its sentences may name them."""

    forms: tuple[tuple[str, str], ...]
    data: tuple[Datum, ...]

    def mentions(self, text: str) -> list[Mention]:
        """List the labels a text names, in order; a longer form hides a shorter one inside it."""
        found: list[Mention] = []
        taken: list[tuple[int, int]] = []
        for form, label in self.forms:
            rule = r"[\s\-_()+/,]+".join(re.escape(word) for word in form.split())
            for match in re.finditer(rf"(?<![\w.]){rule}(?![\w]|\.\d)", text, re.IGNORECASE):
                span = match.span()
                if not any(span[0] < end and start < span[1] for start, end in taken):
                    taken.append(span)
                    found.append(Mention(label=label, start=span[0], end=span[1]))
        return sorted(found, key=lambda mention: mention.start)

    def rivals(self, label: str) -> set[str]:
        """Name the labels that stand where this one does, in otherwise the same cells."""
        rests = {(d.names - {label}, d.clients, d.what) for d in self.data if label in d.names}
        others = {name for d in self.data for name in d.names} - {label}
        return {
            other
            for other in others
            if any(
                other in d.names
                and label not in d.names
                and (d.names - {other}, d.clients, d.what) in rests
                for d in self.data
            )
        }


def of(cube: Cube) -> Names:
    """Collect the labels of measured figures; a telling word of a label stands for it."""
    labels = {name for d in cube.data for name in d.names} - _NEVER
    labels = {label for label in labels if not re.fullmatch(r"[\d.\s%]+", label)}
    forms = {label: label for label in labels}
    forms |= {alias: name for alias, name in cube.aliases.items() if name in labels}
    owners: dict[str, set[str]] = {}
    for form, label in list(forms.items()):
        for word in form.split():
            owners.setdefault(word, set()).add(label)
    for word, whose in owners.items():
        telling = len(word) > 2 or (len(word) == 2 and re.search(r"\d", word))  # noqa: PLR2004 - "2r" tells, "db" does not
        if len(whose) == 1 and telling and word not in _NOT_TELLING and re.search(r"[a-z]", word):
            forms.setdefault(word, next(iter(whose)))
    ordered = sorted(forms.items(), key=lambda pair: (-len(pair[0]), pair[0]))
    return Names(forms=tuple(ordered), data=cube.data)


def clients(text: str) -> tuple[Decimal, ...] | None:
    """Read the clients a text speaks of: none, one, or several ("16 and 32 clients", "4 to 64")."""
    number_or_word = rf"(?:\d[\d,]*|{'|'.join(COUNT_WORDS)})"
    rules = (
        rf"\b({number_or_word}(?:{_SEPARATOR}{number_or_word})*)[\s-]+{_SIMULTANEOUS}{_NOUN}\b",
        rf"\b{_NOUN}\s*(?:of|=|:|\()\s*({number_or_word}(?:{_SEPARATOR}{number_or_word})*)",
        (
            r"\b(?:concurrency|concurrency level)\s*(?:level\s*)?(?:of|=|:)?\s*(\d+(?:(?:, |"
            r" and | to )\d+)*)"
        ),
        r"(?:^|\s)-c\s?(\d+)\b",
    )
    found: dict[Decimal, None] = {}
    for rule in rules:
        for match in re.finditer(rule, text, re.IGNORECASE):
            for word in re.findall(number_or_word, match[1], re.IGNORECASE):
                low = word.lower().replace(",", "")
                found[Decimal(COUNT_WORDS.get(low, 0)) or Decimal(low)] = None
    return tuple(found) or None


_MEASURES = (
    (Kind.LATENCY, r"latenc(?:y|ies)|response times?|\bp\d\d\b"),
    (
        Kind.THROUGHPUT,
        (
            r"\btps\b|throughput|\bqps\b|\brps\b|(?:transactions|requests|queries|"
            r"operations|ops)(?:\s*(?:per|/|a)\s*s)?"
        ),
    ),
)


def kinds(text: str) -> list[tuple[int, Kind]]:
    """List the measures a text names, with where."""
    return sorted(
        (match.start(), kind)
        for kind, rule in _MEASURES
        for match in re.finditer(rule, text, re.IGNORECASE)
    )


class Valued(msgspec.Struct, frozen=True, kw_only=True):
    """A number with a unit of time or rate in a sentence, in base units."""

    figure: Figure
    kind: Kind
    start: int
    end: int
    printed: str


def values(text: str, mark: Mark) -> list[Valued]:
    """List the numbers of a text that carry a unit of throughput or latency."""
    unit = (
        f"(?P<unit>tps|qps|rps|ops/s(?:ec)?|req(?:uests)?/s|{quantities.TIME_UNIT}|"
        "transactions per second|transactions/s|requests per second|queries per "
        "second)"
    )
    rule = (
        rf"(?<![\w.,])(?P<number>{NUMBER[mark]})\s?(?P<step>[kK](?![A-Za-z]))?\s?-?{unit}(?![\w/])"
    )
    made = []
    for match in re.finditer(rule, text, re.IGNORECASE):
        name = match["unit"].lower()
        measure = quantities.unit_measure(name)
        if measure is None:
            continue
        figure = number(match["number"], mark, match["step"] or "").scaled(measure.factor)
        made.append(
            Valued(
                figure=figure,
                kind=measure.kind,
                start=match.start(),
                end=match.end(),
                printed=match[0].strip(),
            )
        )
    return made


__all__ = ["Mention", "Names", "Valued", "clients", "kinds", "normal", "of", "values"]
