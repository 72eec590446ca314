"""When to look at pairs that are still arriving, and what may be said at each look.

Testing again after every pair finds a difference sooner or later where there is none. So the looks
are fixed before the first pair, and the error allowed is divided among them (alpha spending, Lan &
DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70 (1983)). The division is
kept by adding up: whatever the looks have to do with each other, their errors together are at most
the sum. A p-value here is the smallest that any look gave, each divided by its share; an interval
is what all looks have in common. Both hold at every time at once: one may stop whenever one likes.

Pure, deterministic: no input, no output, no wording.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.paired_ratio import paired_ratio
from groundspeed.stats.signed_rank import Tails, signed_rank_tails

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# From one look to the next. More looks stop sooner after a difference shows, but share the error.
_GROWTH_RATIO = 1.4
# A look a little before the last one would cost its share and find nothing of its own.
_LEAST_GROWTH_RATIO = 1.2
# Most comparisons of different storage are decided at the first look; it costs them one pair more
# than a design of one look would need.
_FIRST_SHARE_RATIO = 0.5
_SCATTER_CONFIDENCE_RATIO = 0.8
# What is foretold comes true four times in five.
_POWER_REACH = NormalDist().inv_cdf(0.8)
_MOST_FORETOLD_COUNT = 10_000


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """How a family of comparisons is decided; fixed before the first pair is measured.

    `looks` are pair counts, ascending; `shares` what part of `error_ratio` is spent at each, 1 in
    all at most. `error_ratio` bounds the chance that any of the `family_count` comparisons gets a
    wrong answer at any time. Within `margin_ratio` two environments count as equivalent: 0.03 is
    a ratio of 1/1.03 to 1.03.
    """

    margin_ratio: float = 0.03
    error_ratio: float = 0.05
    family_count: int
    looks: tuple[int, ...]
    shares: tuple[float, ...]

    def is_look(self, pair_count: int) -> bool:
        """Say whether one looks after this many pairs."""
        return pair_count in self.looks

    def next_look(self, pair_count: int) -> int | None:
        """Give the first look after this many pairs; None after the last."""
        return next((look for look in self.looks if look > pair_count), None)


def rule_for(
    family_count: int, *, margin_ratio: float, error_ratio: float = 0.05, most_pairs: int
) -> Rule:
    """Choose looks up to `most_pairs` for a family of comparisons.

    The first look is the earliest at which pairs that all agree decide, even as the first of the
    family; the last is `most_pairs`. Half of the error is spent at the first look, the rest evenly.
    Where `most_pairs` is too few for two looks, all is spent there. `family_count` and `most_pairs`
    are 1 or more, `margin_ratio` above 0, `error_ratio` above 0 and below 1; else ValueError.
    """
    if family_count < 1 or most_pairs < 1 or margin_ratio <= 0 or not 0 < error_ratio < 1:
        raise ValueError("a rule takes comparisons, pairs, a margin and an error")
    first = least_pairs(_FIRST_SHARE_RATIO * error_ratio / family_count)
    looks = _looks(first, most_pairs)
    rest = len(looks) - 1
    shares = (_FIRST_SHARE_RATIO, *[(1 - _FIRST_SHARE_RATIO) / rest] * rest) if rest else (1.0,)
    return Rule(
        margin_ratio=margin_ratio,
        error_ratio=error_ratio,
        family_count=family_count,
        looks=looks,
        shares=shares,
    )


def one_look(
    pair_count: int, family_count: int, *, margin_ratio: float, error_ratio: float = 0.05
) -> Rule:
    """Make the rule of a fixed design: all of the error is spent when all pairs are there."""
    return Rule(
        margin_ratio=margin_ratio,
        error_ratio=error_ratio,
        family_count=family_count,
        looks=(max(pair_count, 1),),
        shares=(1.0,),
    )


def _looks(first: int, most: int) -> tuple[int, ...]:
    if first * _LEAST_GROWTH_RATIO > most:
        return (most,)
    looks = [first]
    while (following := math.ceil(_GROWTH_RATIO * looks[-1])) * _LEAST_GROWTH_RATIO <= most:
        looks.append(following)
    return (*looks, most)


def least_pairs(error_ratio: float) -> int:
    """Count the pairs below which even unanimous ones do not reach this two-sided error.

    The smallest two-sided p-value of n pairs is 2**(1 - n). `error_ratio`: above 0.
    """
    return max(math.ceil(1 - math.log2(error_ratio) - 1e-9), 1)


def always_valid_tails(logs: Sequence[float], rule: Rule, shift: float = 0.0) -> Tails:
    """Test the log ratios so far against `shift`, at every look that they reach.

    `logs` in the order of measurement; pairs after the last look reached do not count. Each result
    is the least over the looks of the p-value there over its share, at most 1: valid at any time,
    by the union bound. The other side has a share of the same size: two-sided p-values are valid
    with shares that add up to 1.
    """
    above = below = 1.0
    for look, share in zip(rule.looks, rule.shares, strict=True):
        if look > len(logs):
            break
        tails = signed_rank_tails(logs[:look], shift)
        above, below = min(above, tails.above / share), min(below, tails.below / share)
    return Tails(above=above, below=below)


def always_valid_interval(
    pairs: Sequence[tuple[float, float]], rule: Rule, error_ratio: float
) -> tuple[float | None, float | None]:
    """Give the interval of the ratio that holds at all looks at once, with 1 - `error_ratio`.

    What the intervals of all looks so far have in common, each with the confidence that its share
    leaves. A bound is None while no look is reached that can give one. If the low one is above the
    high one, the looks contradict each other: the ratio changed while it was measured, or this is
    one of the times the interval misses.
    """
    low: float | None = None
    high: float | None = None
    for look, share in zip(rule.looks, rule.shares, strict=True):
        if look > len(pairs):
            break
        found = paired_ratio(pairs[:look], 1 - share * error_ratio)
        if found.low is not None and found.high is not None:
            low = found.low if low is None else max(low, found.low)
            high = found.high if high is None else min(high, found.high)
    return low, high


def scatter_of(logs: Sequence[float]) -> float | None:
    """Estimate the standard deviation of log ratios so that few wild ones do not swell it.

    From the width of their signed-rank interval at 80%. None below four values.
    """
    if not logs:
        return None
    found = paired_ratio([(math.exp(value), 1.0) for value in logs], _SCATTER_CONFIDENCE_RATIO)
    if found.low is None or found.high is None or found.confidence_ratio is None:
        return None
    reach = NormalDist().inv_cdf((1 + found.confidence_ratio) / 2)
    return math.sqrt(len(logs)) * math.log(found.high / found.low) / (2 * reach)


def pairs_to_tell(
    distance: float, scatter: float, rule: Rule, level_ratio: float, *, seen_count: int = 0
) -> int | None:
    """Foretell after how many pairs in all a ratio is told from another one, four times in five.

    `distance` between both and `scatter` of pairs are in logarithms; `level_ratio` is the two-sided
    error allowed, before it is divided among looks. The number is a look of the rule after
    `seen_count`; beyond its last look, as if it went on in like steps. None where nothing tells: no
    distance, or more than ten thousand pairs. From the normal approximation, so for small numbers
    it is a rough one, but never fewer than unanimous pairs take.
    """
    if distance <= 0:
        return None
    for look, share in _looks_ahead(rule, seen_count):
        if look < least_pairs(level_ratio * share):
            continue
        reach = NormalDist().inv_cdf(1 - level_ratio * share / 2) + _POWER_REACH
        if reach * scatter <= distance * math.sqrt(look):
            return look
    return None


def _looks_ahead(rule: Rule, seen_count: int) -> Iterator[tuple[int, float]]:
    for look, share in zip(rule.looks, rule.shares, strict=True):
        if look > seen_count:
            yield look, share
    look = max(rule.looks[-1], seen_count)
    # A fixed design has no looks to round up to.
    growth = 1.0 if len(rule.looks) == 1 else _GROWTH_RATIO
    while look < _MOST_FORETOLD_COUNT:
        look = max(math.ceil(growth * look), look + 1)
        yield look, rule.shares[-1]
