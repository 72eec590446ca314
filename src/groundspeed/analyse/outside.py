"""Sides of a comparison that nobody measured here: which cells are alike, and what to doubt.

A published figure is one value: it has no interval, and no comparison with it is ever decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.findings import Answer, Difference
from groundspeed.errors import UsageError
from groundspeed.record import UNKNOWN, Caution

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.analyse.sides import Place, SharedCell, Side
    from groundspeed.analyse.two_sides import Compared
    from groundspeed.record import Imported
    from groundspeed.stats.paired_ratio import RatioInterval

# Of two runs; other people's figures are of another time and more.
_SAID_BETTER = frozenset({"other-time", "drift", "published", "no-noise-floor"})
ONE_VALUE = "a published figure is one value a side: no interval, not decided"


def source_of(side: Side) -> Imported | None:
    """Give the source of a side that was imported; None for one that groundspeed measured."""
    return next(
        (
            record.provenance.imported
            for record in side.run.records
            if record.trial.cell.environment == side.environment
        ),
        None,
    )


def is_published(side: Side) -> bool:
    """Tell whether a side is somebody's published figures."""
    source = source_of(side)
    return source is not None and source.is_published


def refuse_published(sides: Iterable[tuple[Side, Side]]) -> None:
    """Raise UsageError where a side is published: nothing can be decided by its figures."""
    for side in (side for pair in sides for side in pair):
        if is_published(side):
            raise UsageError(
                f"{side.name}: published figures, by which nothing can be decided",
                "groundspeed compare shows the ratios",
            )


def matches(ours: Iterable[Place], theirs: Iterable[Place]) -> tuple[tuple[Place, Place], ...]:
    """Pair the cells of two sides, one of them published, by workload, clients and threads.

    A number of threads that is not told is like any. Scales may differ, which is then told of;
    where a cell has one of its own scale on the other side, it is compared with that alone.
    """
    theirs = tuple(theirs)
    loose = [(one, other) for one in ours for other in theirs if _is_like(one, other)]
    exact = [(one, other) for one, other in loose if one.scale == other.scale]
    known = {one for one, _ in exact}, {other for _, other in exact}
    return tuple(
        (one, other)
        for one, other in loose
        if one.scale == other.scale or not (one in known[0] or other in known[1])
    )


def _is_like(one: Place, other: Place) -> bool:
    threads = one.threads == other.threads or 0 in (one.threads, other.threads)
    return threads and (one.workload, one.clients) == (other.workload, other.clients)


def merged(one: Place, other: Place) -> Place:
    """Name a pair of cells by the first; what that does not tell, by the second."""
    return one._replace(
        threads=one.threads or other.threads,
        scale=one.scale or other.scale,
    )


def factor_differences(
    baseline: Side, candidate: Side, cells: Sequence[SharedCell]
) -> tuple[Difference, ...]:
    """List the factors of cells that are compared although they differ, or one is not told."""
    found = []
    for factor in ("scale", "threads"):
        pairs = [
            (getattr(cell.baseline_place, factor), getattr(cell.candidate_place, factor))
            for cell in cells
        ]
        if any(one != other for one, other in pairs):
            texts = [_text(values) for values in zip(*pairs, strict=True)]
            names = (baseline.name, candidate.name)
            found.append(Difference(fact=factor, values=tuple(zip(names, texts, strict=True))))
    return tuple(found)


def _text(values: Iterable[int]) -> str:
    return " or ".join(str(value) if value else UNKNOWN for value in sorted(set(values)))


def published_cautions(baseline: Side, candidate: Side) -> tuple[Caution, ...]:
    """Say what stands behind a ratio with a published figure; empty where neither side is one."""
    if not (is_published(baseline) or is_published(candidate)):
        return ()
    found = []
    for side in (baseline, candidate):
        source = source_of(side)
        if source is None or not source.is_published:
            continue
        url = f", {source.url}" if source.url else ""
        message = (
            f"{side.name}: published figures, not measured here ({source.reference}{url}); repeats"
            " and scatter are not known"
        )
        found.append(Caution(code="published", message=message))
    message = (
        "other people's machine, network, settings and time are in the ratio: it tells how the"
        " whole compares, never what one part of it makes of the difference"
    )
    return (*found, Caution(code="other-place", message=message))


def as_published(
    found: Compared, baseline: Side, candidate: Side, cells: Sequence[SharedCell]
) -> Compared:
    """Take away from a comparison with published figures what they cannot carry.

    However many values the other side has: of the published one neither scatter nor repeats are
    known, so there is no interval and no answer. The ratios stay.
    """
    replace = msgspec.structs.replace
    return replace(
        found,
        cells=tuple(
            replace(
                cell,
                tps=_bare(cell.tps),
                p99=_bare(cell.p99),
                answer=Answer.UNDECIDED,
                why=ONE_VALUE,
                p_value=None,
            )
            for cell in found.cells
        ),
        means=tuple(replace(mean, low=None, high=None) for mean in found.means),
        differences=(*factor_differences(baseline, candidate, cells), *found.differences),
        cautions=(
            *published_cautions(baseline, candidate),
            *(caution for caution in found.cautions if caution.code not in _SAID_BETTER),
        ),
    )


def _bare(ratio: RatioInterval) -> RatioInterval:
    return msgspec.structs.replace(ratio, low=None, high=None, confidence_ratio=None)
