"""Two ways of doing one thing, compared in ABBA order: drifts of the machine hit both alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from bench.fidelity.line import Line
from bench.figures import interval
from groundspeed.stats.median import median_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")
ABBA = (False, True, True, False)


def abba(measure: Callable[[bool], T]) -> tuple[list[T], list[T]]:
    """Measure without and with, in the order ABBA; what was found: (without, with)."""
    found: dict[bool, list[T]] = {False: [], True: []}
    for way in ABBA:
        found[way].append(measure(way))
    return found[False], found[True]


def agree(
    what: str,
    blocks: Sequence[tuple[Sequence[float], Sequence[float]]],
    *,
    allowed_ratio: float | None,
    asked: str,
    unit: str,
) -> Line:
    """Judge the ratio of the second way to the first, by its median over the blocks of `abba`.

    Without an allowed ratio it is told and not judged.
    """
    ratios = [sum(second) / sum(first) for first, second in blocks]
    middle = median_interval(ratios).median
    first = median_interval([value for firsts, _ in blocks for value in firsts]).median
    second = median_interval([value for _, seconds in blocks for value in seconds]).median
    return Line(
        what=what,
        asked=f"{asked} {first:,.1f}{unit}",
        measured=f"{second:,.1f}{unit}, ratio {interval(ratios, digits=4)}",
        error=f"{middle - 1:+.2%}",
        allowed="not judged" if allowed_ratio is None else f"{allowed_ratio:.0%}",
        met=None if allowed_ratio is None else abs(middle - 1) <= allowed_ratio,
        raw={"blocks": [[list(firsts), list(seconds)] for firsts, seconds in blocks]},
    )
