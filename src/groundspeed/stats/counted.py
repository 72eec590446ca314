"""Values in bins that somebody else chose, as (value, count) pairs: quantiles and sums of them.

For histograms of other programs; our own are in `histogram`. Pure.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Bins = tuple[tuple[int, int], ...]


def merge(parts: Iterable[Bins]) -> Bins:
    """Return all values together, by ascending value."""
    counts: Counter[int] = Counter()
    for part in parts:
        for value, count in part:
            counts[value] += count
    return tuple(sorted(counts.items()))


def quantiles(bins: Bins, ratios: Sequence[float]) -> tuple[float, ...]:
    """Return the value of the nearest rank, ceil(q n), for each of ascending `ratios` in (0, 1).

    Raises ValueError when there is no value.
    """
    total = sum(count for _, count in bins)
    if total == 0:
        raise ValueError("no values have no quantiles")
    found: list[float] = []
    below = 0
    rest = iter(bins)
    value = 0
    for ratio in ratios:
        # The tolerance keeps 0.07 * 100 from being taken for a little more than 7.
        while below < ratio * total - 1e-9 * total:
            value, count = next(rest)
            below += count
        found.append(float(value))
    return tuple(found)
