"""The highest rate that holds a bound, searched where each slice answers only "holds" or "breaks".

Rates are the rungs of a ladder, ascending. The capacity C is the rate up to which a slice holds
more often than it breaks. Two things are kept apart on purpose:

- A working model chooses where to look next, and foretells how a slice will end: that slices break
  with a normal distribution function of the distance to C in rungs, of unknown steepness, as in
  adaptive psychophysics (QUEST, Watson & Pelli 1983; Kontsevich & Tyler, Vision Research 39, 1999).
- The interval believes nothing of it. For each possible C somebody bets fair money on every slice
  against the odds of that C, which are at best even: below C a slice breaks at most every second
  time, above it holds at most every second time. A C against which the stake stands at 1 / error
  is refused; it may come back, where noise ebbs (Ville 1939; Ramdas, Gruenwald, Vovk & Shafer,
  Statistical Science 38, 2023). What is left holds the true C with probability 1 - error, whatever
  chose the rates and whenever one stops. The model's forecasts are the bets: a bad model loses
  money and gets a wide interval, never a wrong one.

Pure, deterministic: no input, no output, no wording.
"""

from __future__ import annotations

import math
from copy import copy
from functools import cache, lru_cache
from itertools import pairwise
from operator import mul, sub
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Of the closed loop's throughput. No open loop of as many clients does more than a closed one, but
# that one was a slice of a noisy machine too; a bound that breaks at a fiftieth is missed for
# another reason than the rate.
LOWEST_RATIO = 0.02
HIGHEST_RATIO = 2.0
# How steep slices turn from holding to breaking, in rungs, and which share of them ends as it likes
# at either end, by a neighbour's noise. The working model weighs all of them.
_SHAPES = (
    (0.3, 0.02),
    (1.0, 0.02),
    (3.0, 0.02),
    (8.0, 0.02),
    (0.3, 0.15),
    (2.0, 0.15),
    (8.0, 0.15),
)
# First the middle is halved; then each end of the interval gets slices where they tell most.
_HALVING_COUNT = 6
# The nearest rung that so many slices are likely to settle; farther ones settle sooner, but
# leave a wider interval. By simulation: 6 gives wide intervals, 30 none at all on noisy machines.
_WORTH_COUNT = 14.0
_HARDLY_LONGER_RATIO = 1.4
_EVEN = 0.5


class Bracket(NamedTuple):
    """What C lies between, as rungs: `low` holds, `high` breaks; None where no rung does so far."""

    low: int | None
    high: int | None


def ladder(closed_loop_per_s: float, step_ratio: float) -> tuple[float, ...]:
    """List the rates to choose from, of four digits each so that they are readable.

    `closed_loop_per_s` above 0 is what the same clients do without a rate; `step_ratio` above 0
    is from one rung to the next, 0.05 for 5%. Raises ValueError for others.
    """
    if not closed_loop_per_s > 0 or not step_ratio > 0:
        raise ValueError("a ladder takes a throughput and a step above zero")
    count = math.ceil(math.log(HIGHEST_RATIO / LOWEST_RATIO) / math.log1p(step_ratio)) + 1
    lowest = LOWEST_RATIO * closed_loop_per_s
    return tuple(float(f"{lowest * (1 + step_ratio) ** rung:.4g}") for rung in range(count))


def rung_of(rate_per_s: float, rates_per_s: Sequence[float]) -> int:
    """Find the rung of a rate that was taken from the ladder."""
    return min(range(len(rates_per_s)), key=lambda rung: abs(rates_per_s[rung] - rate_per_s))


# A run asks after every round for what it asked before, and one slice more.
@lru_cache(maxsize=512)
def search_after(
    rung_count: int, step_ratio: float, slices: tuple[tuple[int, bool], ...]
) -> RateSearch:
    """Search with these slices, (rung, whether it holds) each. The result is shared: `copy` it."""
    if not slices:
        return RateSearch(rung_count, step_ratio)
    found = search_after(rung_count, step_ratio, slices[:-1]).copy()
    rung, holds = slices[-1]
    found.see(rung, holds=holds)
    return found


class RateSearch:
    """A search on one ladder; `see` slices in the order in which they were measured.

    Its places are numbered as the rungs above them: at place c all rungs below c hold and c breaks;
    there is one more place than rungs.
    """

    def __init__(self, rung_count: int, step_ratio: float) -> None:
        """Begin without a slice; `step_ratio` as that of the ladder."""
        self._rung_count = rung_count
        self._breaks = _breaks_by_rung(rung_count)
        prior = _prior(rung_count, step_ratio)
        self._weights = [[w / len(_SHAPES) for w in prior] for _ in _SHAPES]
        self._stake_log = [0.0] * (rung_count + 1)
        self._seen_count = 0

    def copy(self) -> RateSearch:
        """Make another search that has seen the same and goes its own way."""
        # What is seen makes new lists and changes none.
        return copy(self)

    def see(self, rung: int, *, holds: bool) -> None:
        """Take the outcome of a slice at a rung."""
        breaking = self.breaking_ratio(rung)
        self._bet(rung, breaking, holds=holds)
        rows = self._weights
        broken = [
            list(map(mul, row, chances))
            for row, chances in zip(rows, self._breaks[rung], strict=True)
        ]
        left = broken
        if holds:
            left = [list(map(sub, *pair)) for pair in zip(rows, broken, strict=True)]
        total = math.fsum(map(math.fsum, left))
        self._weights = [[weight / total for weight in row] for row in left]
        self._seen_count += 1

    def _bet(self, rung: int, breaking: float, *, holds: bool) -> None:
        """Stake as the forecast has it, against every C of which that would be a surprise."""
        if breaking == _EVEN:
            return
        gain = math.log(2 * (1 - breaking if holds else breaking))
        # Forecast to break: fair money only for those that say the rung is below C.
        is_below = breaking > _EVEN
        self._stake_log = [
            stake + gain if (place > rung) is is_below else stake
            for place, stake in enumerate(self._stake_log)
        ]

    def breaking_ratio(self, rung: int) -> float:
        """Foretell by the working model how likely a slice at a rung breaks."""
        return math.fsum(
            sum(map(mul, row, chances))
            for row, chances in zip(self._weights, self._breaks[rung], strict=True)
        )

    def bracket(self, error_ratio: float) -> Bracket | None:
        """Give the rungs between which C lies, with confidence 1 - `error_ratio` at any time.

        None where every C is refused: then it changed while it was searched, or this is one of the
        times that an interval misses.
        """
        left = self._left(error_ratio)
        if left is None:
            return None
        first, last = left
        return Bracket(
            low=first - 1 if first > 0 else None,
            high=last if last < self._rung_count else None,
        )

    def _left(self, error_ratio: float) -> tuple[int, int] | None:
        enough = -math.log(error_ratio)
        kept = [place for place, stake in enumerate(self._stake_log) if stake < enough]
        return (kept[0], kept[-1]) if kept else None

    def middle(self) -> Bracket:
        """Give the two neighbours between which C lies as likely as not, by the working model."""
        place = self._median()
        return Bracket(
            low=place - 1 if place > 0 else None,
            high=place if place < self._rung_count else None,
        )

    def _median(self) -> int:
        total = 0.0
        for place in range(self._rung_count + 1):
            total += math.fsum(row[place] for row in self._weights)
            if total >= _EVEN:
                return place
        return self._rung_count

    def next_rung(self, error_ratio: float) -> int:
        """Choose where the next slice tells most for an interval with this error."""
        left = self._left(error_ratio)
        if self._seen_count < _HALVING_COUNT or left is None:
            return self._middle_rung()
        # One end and the other by turns.
        upper = self._seen_count % 2 == 0
        found = self._worth(left, error_ratio, upper=upper)
        if found is None:
            found = self._worth(left, error_ratio, upper=not upper)
        return self._middle_rung() if found is None else found

    def _middle_rung(self) -> int:
        place = self._median() - self._seen_count % 2
        return min(max(place, 0), self._rung_count - 1)

    def _worth(self, left: tuple[int, int], error_ratio: float, *, upper: bool) -> int | None:
        """Choose the rung nearest to the middle that settles an end before long.

        Where none does so, the nearest one that takes hardly longer than the quickest.
        """
        counts: list[tuple[int, float]] = []
        for rung in self._outwards(left, upper=upper):
            breaking = self.breaking_ratio(rung)
            if (breaking > _EVEN) is not upper:
                continue
            places = range(rung + 1, left[1] + 1) if upper else range(left[0], rung + 1)
            lacking = max((-math.log(error_ratio) - self._stake_log[p] for p in places), default=0)
            if lacking > 0:
                counts.append((rung, lacking / _growth(breaking)))
        if not counts:
            return None
        enough = max(_WORTH_COUNT, _HARDLY_LONGER_RATIO * min(count for _, count in counts))
        return next(rung for rung, count in counts if count <= enough)

    def _outwards(self, left: tuple[int, int], *, upper: bool) -> Iterator[int]:
        median = self._median()
        if upper:
            return iter(range(max(median - 1, 0), min(left[1], self._rung_count)))
        return iter(range(min(median, self._rung_count - 1), max(left[0], 0) - 1, -1))


# By rung, by shape, by place; the same for every search on a ladder of as many rungs.
@cache
def _breaks_by_rung(rung_count: int) -> tuple[tuple[tuple[float, ...], ...], ...]:
    """List how likely a slice breaks."""
    return tuple(
        tuple(
            tuple(_breaking(*shape, rung - place) for place in range(rung_count + 1))
            for shape in _SHAPES
        )
        for rung in range(rung_count)
    )


def _breaking(scale_rungs: float, lapse_ratio: float, distance: int) -> float:
    """Say how likely a slice breaks so many rungs above a place, or below it."""
    # C is in the middle between the rung of its place and the one below it.
    share = math.erfc(-(distance + 0.5) / scale_rungs / math.sqrt(2)) / 2
    return lapse_ratio + (1 - 2 * lapse_ratio) * share


def _prior(rung_count: int, step_ratio: float) -> list[float]:
    """Weigh the places before the first slice: as likely at any rate up to the closed loop's.

    A quarter is spread over all places alike, those beyond it among them.
    """
    rates = [LOWEST_RATIO * (1 + step_ratio) ** rung for rung in range(rung_count)]
    widths = [rates[0], *(b - a if b <= 1 else 0.0 for a, b in pairwise(rates)), 0.0]
    evenly = 1 / (rung_count + 1)
    return [0.75 * width / math.fsum(widths) + 0.25 * evenly for width in widths]


def _growth(breaking: float) -> float:
    """Say how much the logarithm of a stake is to grow with a slice, if the forecast is right."""
    share = min(max(breaking, 1e-9), 1 - 1e-9)
    return math.log(2) + share * math.log(share) + (1 - share) * math.log(1 - share)
