"""A run beside a publication: ratio beside ratio, and whether environments come in one order.

A published figure is one run on hardware that is not ours, so it has no interval and decides
nothing; the order of environments is what both can agree on. Environments and workloads are paired
by name, as the suite says.
"""

from __future__ import annotations

import math
from enum import Enum
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.advice.rivals import By, answers, pairs_of
from groundspeed.analyse.decisions import MARGIN_RATIO, ComparisonKey
from groundspeed.analyse.figures import CellPlace
from groundspeed.analyse.findings import Answer
from groundspeed.published import Span, published_figures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from groundspeed.analyse.findings import CellSummary, Comparison, Findings
    from groundspeed.published import PublishedFigure

_LEAST_PUBLISHED = 2


class Order(Enum):
    """How two environments stand to each other here and in the publication."""

    SAME = "as published"
    OTHER = "published the other way round"
    EQUIVALENT = "equivalent here"
    OPEN = "not decided"
    ALIKE = "published alike"
    UNKNOWN = "not published"


class BesideRow(msgspec.Struct, frozen=True, kw_only=True):
    """One environment under one load, here and there; that of the baseline has the ratio 1.

    `per_s` is the median here, NaN without one. Ratios are to the baseline. `off_ratio` is the
    ratio here over the published one, over the nearer end where that is a span and 1 inside; None
    where nothing is published. `answer` and `pair_count` are those of the comparison.
    """

    environment: str
    published_as: str
    clients: int
    threads: int
    scale: int
    per_s: float
    ratio: float
    low: float | None
    high: float | None
    answer: Answer | None
    pair_count: int
    published_per_s: Span | None
    published_ratio: Span | None
    off_ratio: float | None
    order: Order
    emulated: bool


class OrderedPair(msgspec.Struct, frozen=True, kw_only=True):
    """Two environments that the publication tells apart, its faster one first."""

    first: str
    second: str
    clients: int
    order: Order


class BesideTable(msgspec.Struct, frozen=True, kw_only=True):
    """All rows of one workload, and every pair of environments that is published apart."""

    workload: str
    baseline: str
    rows: tuple[BesideRow, ...]
    pairs: tuple[OrderedPair, ...]
    # Environments that were compared here and are not published under this load.
    unpublished: tuple[str, ...]
    # Where it is published at another scale than it was measured.
    published_scale: int | None

    def count(self, order: Order) -> int:
        """Count the pairs of a kind."""
        return sum(pair.order is order for pair in self.pairs)


class _Figures:
    """Finds what is published of a cell."""

    def __init__(self, findings: Findings) -> None:
        publication, beside = findings.publication, findings.beside
        self.names = {} if beside is None else dict(beside.environments)
        self._figures = () if publication is None else published_figures(publication)

    def find(self, environment: str, place: CellPlace) -> PublishedFigure | None:
        theirs = self.names.get(environment, environment)
        return next(
            (
                figure
                for figure in self._figures
                if (figure.environment, figure.workload) == (theirs, place.workload)
                and figure.clients in {None, place.clients}
            ),
            None,
        )


def beside(findings: Findings) -> tuple[BesideTable, ...]:
    """Lay each workload beside what is published of it; empty where fewer than two figures are."""
    if findings.publication is None or findings.beside is None:
        return ()
    figures = _Figures(findings)
    places: dict[CellPlace, list[Comparison]] = {}
    for comparison in findings.comparisons:
        places.setdefault(_place(comparison), []).append(comparison)
    known = {
        place: group
        for place, group in places.items()
        if len(_published(group, figures)) >= _LEAST_PUBLISHED
    }
    pairs = _pairs(findings, known, figures)
    workloads = dict.fromkeys(place.workload for place in known)
    return tuple(
        _table(findings, {p: g for p, g in known.items() if p.workload == workload}, figures, pairs)
        for workload in workloads
    )


def _place(cell: Comparison | CellSummary) -> CellPlace:
    return CellPlace(cell.workload, cell.clients, cell.threads, cell.scale)


def _published(group: Sequence[Comparison], figures: _Figures) -> dict[str, Span]:
    """Give the published figures of the environments of a cell, the baseline first."""
    names = [group[0].baseline, *(c.environment for c in group)]
    found = {name: figures.find(name, _place(group[0])) for name in names}
    return {name: figure.per_s for name, figure in found.items() if figure is not None}


def _table(
    findings: Findings,
    groups: Mapping[CellPlace, Sequence[Comparison]],
    figures: _Figures,
    pairs: Mapping[CellPlace, tuple[OrderedPair, ...]],
) -> BesideTable:
    place = next(iter(groups))
    found = figures.find(groups[place][0].baseline, place)
    scale = None if found is None else found.scale
    return BesideTable(
        workload=place.workload,
        baseline=groups[place][0].baseline,
        rows=tuple(row for place in groups for row in _rows(findings, groups[place], figures)),
        pairs=tuple(pair for place in groups for pair in pairs[place]),
        unpublished=tuple(
            dict.fromkeys(
                c.environment
                for group in groups.values()
                for c in group
                if c.environment not in _published(group, figures)
            )
        ),
        published_scale=scale if scale != place.scale else None,
    )


def _rows(
    findings: Findings, group: Sequence[Comparison], figures: _Figures
) -> Iterable[BesideRow]:
    told = _published(group, figures)
    first = group[0]
    medians = {
        cell.environment: cell.tps_per_s.median
        for cell in findings.cells
        if _place(cell) == _place(first)
    }
    one = Span(1.0, 1.0)
    yield BesideRow(
        environment=first.baseline,
        published_as=figures.names.get(first.baseline, first.baseline),
        clients=first.clients,
        threads=first.threads,
        scale=first.scale,
        per_s=medians.get(first.baseline, math.nan),
        ratio=1.0,
        low=None,
        high=None,
        answer=None,
        pair_count=0,
        published_per_s=told.get(first.baseline),
        published_ratio=one if first.baseline in told else None,
        off_ratio=None,
        order=Order.UNKNOWN,
        emulated=first.baseline_emulated,
    )
    for c in group:
        if c.environment not in told:
            continue
        ratio = _ratio(told[c.environment], told.get(c.baseline))
        yield BesideRow(
            environment=c.environment,
            published_as=figures.names.get(c.environment, c.environment),
            clients=c.clients,
            threads=c.threads,
            scale=c.scale,
            per_s=medians.get(c.environment, math.nan),
            ratio=c.tps_ratio,
            low=c.tps_low,
            high=c.tps_high,
            answer=c.answer,
            pair_count=c.pair_count,
            published_per_s=told[c.environment],
            published_ratio=ratio,
            off_ratio=_off(c.tps_ratio, ratio),
            order=_order(c.answer, ratio, c.margin_ratio),
            emulated=c.emulated,
        )


def _ratio(ours: Span | None, base: Span | None) -> Span | None:
    if ours is None or base is None:
        return None
    return Span(ours.low / base.high, ours.high / base.low)


def _off(ratio: float, published: Span | None) -> float | None:
    if published is None or not math.isfinite(ratio):
        return None
    return ratio / min(max(ratio, published.low), published.high)


def _order(answer: Answer, published: Span | None, margin_ratio: float) -> Order:
    """Judge one pair; what is published within the margin is not told apart by one run each."""
    if published is None:
        return Order.UNKNOWN
    if published.low <= 1 + margin_ratio and published.high >= 1 / (1 + margin_ratio):
        return Order.ALIKE
    if answer is Answer.UNDECIDED:
        return Order.OPEN
    if answer is Answer.EQUIVALENT:
        return Order.EQUIVALENT
    return Order.SAME if (published.low > 1) == (answer is Answer.FASTER) else Order.OTHER


class _Apart(NamedTuple):
    """Two environments of a cell that are published apart, and by what ratio."""

    place: CellPlace
    first: str
    second: str
    ratio: Span


def _pairs(
    findings: Findings, groups: Mapping[CellPlace, Sequence[Comparison]], figures: _Figures
) -> dict[CellPlace, tuple[OrderedPair, ...]]:
    """Judge every pair of environments: those with the baseline by the report, others anew.

    The latter are a family of their own over all workloads: one answer each, all sure together.
    """
    margin = next((c.margin_ratio for c in findings.comparisons), MARGIN_RATIO)
    apart = [pair for place, group in groups.items() for pair in _apart(place, group, figures)]
    apart = [pair for pair in apart if pair.ratio.low > 1 + margin]
    reported = {(_place(c), c.environment): c.answer for c in findings.comparisons}
    anew = _anew(findings, [p for p in apart if findings.baseline not in (p.first, p.second)])
    found: dict[CellPlace, list[OrderedPair]] = {place: [] for place in groups}
    for pair in apart:
        if pair.first == findings.baseline:
            answer = _turned(reported[pair.place, pair.second])
        elif pair.second == findings.baseline:
            answer = reported[pair.place, pair.first]
        else:
            answer = anew.get((pair.place, pair.first, pair.second), Answer.UNDECIDED)
        order = _order(answer, pair.ratio, margin)
        found[pair.place].append(
            OrderedPair(
                first=pair.first, second=pair.second, clients=pair.place.clients, order=order
            )
        )
    return {place: tuple(pairs) for place, pairs in found.items()}


def _apart(place: CellPlace, group: Sequence[Comparison], figures: _Figures) -> Iterable[_Apart]:
    for (a, ours), (b, theirs) in combinations(_published(group, figures).items(), 2):
        first = ours.low + ours.high >= theirs.low + theirs.high
        ratio = _ratio(ours, theirs) if first else _ratio(theirs, ours)
        assert ratio is not None  # noqa: S101 - of two spans
        yield _Apart(place, a, b, ratio) if first else _Apart(place, b, a, ratio)


def _turned(answer: Answer) -> Answer:
    turned = {Answer.FASTER: Answer.SLOWER, Answer.SLOWER: Answer.FASTER}
    return turned.get(answer, answer)


def _anew(findings: Findings, apart: Sequence[_Apart]) -> dict[tuple[CellPlace, str, str], Answer]:
    keyed = {}
    for pair in apart:
        found = pairs_of(findings, pair.first, pair.second, {pair.place.workload}, By.THROUGHPUT)
        if pair.place in found:
            key = ComparisonKey(
                baseline=pair.second, environment=pair.first, **pair.place._asdict()
            )
            keyed[key] = found[pair.place]
    decisions = answers(findings, keyed, By.THROUGHPUT) if keyed else ()
    return {
        (CellPlace(d.workload, d.clients, d.threads, d.scale), d.environment, d.baseline): d.answer
        for d in decisions
    }
