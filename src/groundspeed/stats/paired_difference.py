"""By how much one of two paired quantities exceeds the other, with an interval. Pure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.paired_ratio import paired_ratio
from groundspeed.stats.sequential import always_valid_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.stats.sequential import Rule


class DifferenceInterval(msgspec.Struct, frozen=True, kw_only=True):
    """A difference with its interval, in the unit of the pairs; None where there are too few."""

    n: int
    difference: float
    low: float | None
    high: float | None


def paired_difference(
    pairs: Sequence[tuple[float, float]], confidence_ratio: float = 0.95
) -> DifferenceInterval:
    """Estimate the first less the second of each pair; one or more pairs of finite values.

    Method, assumptions and source as for `paired_ratio`, of the differences themselves: they are
    the logarithms of ratios of exponentials. The values must be small, up to some hundreds in
    their unit. Raises ValueError for no pairs.
    """
    found = paired_ratio([(math.exp(a - b), 1.0) for a, b in pairs], confidence_ratio)
    return DifferenceInterval(
        n=found.n,
        difference=math.log(found.ratio),
        low=None if found.low is None else math.log(found.low),
        high=None if found.high is None else math.log(found.high),
    )


def always_valid_difference(
    pairs: Sequence[tuple[float, float]], rule: Rule, error_ratio: float
) -> DifferenceInterval:
    """Estimate as `paired_difference`, with an interval that holds at every look of a rule at once.

    It is what the intervals of the looks so far have in common, see
    `sequential.always_valid_interval`; None before the first look.
    """
    ratios = [(math.exp(a - b), 1.0) for a, b in pairs]
    low, high = always_valid_interval(ratios, rule, error_ratio)
    return DifferenceInterval(
        n=len(pairs),
        difference=math.log(paired_ratio(ratios).ratio),
        low=None if low is None else math.log(low),
        high=None if high is None else math.log(high),
    )
