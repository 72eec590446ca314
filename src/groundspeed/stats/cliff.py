"""Whether a rate over time falls once, from one level to a lower one, and when.

The split with the least squares of both sides decides where; medians and the order of the values
decide whether, so that single slow windows are no fall. Pure, deterministic.
"""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

LEAST_SIDE_COUNT = 5
# A burst that ends is a fall by a factor; less is what any shared device does by itself.
_LEAST_FALL_RATIO = 1.25
_LEAST_ORDERED_RATIO = 0.95


class Cliff(msgspec.Struct, frozen=True, kw_only=True):
    """A fall: the level before, the level after, and how many values came before it."""

    before: float
    after: float
    before_count: int


def find_cliff(values: Sequence[float]) -> Cliff | None:
    """Find the fall in `values`, evenly spaced in time; None where there is none.

    It takes `LEAST_SIDE_COUNT` values on each side; the median before is at least 1.25 times the
    one after, and of all pairs of a value before and one after 95% are in that order (the
    Mann-Whitney statistic over its maximum).
    """
    places = range(LEAST_SIDE_COUNT, len(values) - LEAST_SIDE_COUNT + 1)
    if not places:
        return None
    # Least squares of both sides is most of what lies between their means.
    total, count = fmean(values), len(values)

    def between(place: int) -> float:
        left = fmean(values[:place]) - total
        return left * left * place * count / (count - place)

    place = max(places, key=between)
    before, after = values[:place], values[place:]
    ordered = sum(a > b for a in before for b in after) / (len(before) * len(after))
    high, low = median(before), median(after)
    if high < _LEAST_FALL_RATIO * low or ordered < _LEAST_ORDERED_RATIO:
        return None
    return Cliff(before=high, after=low, before_count=place)
