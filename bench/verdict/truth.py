"""Whether a long run contradicts the comparisons that a shorter one decided.

Pure: pairs in, words out. The truth has an interval of its own, and where that does not tell, no
answer is called right by it. See docs/figures.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse import Answer
from groundspeed.stats.signed_rank import log_ratios
from groundspeed.stats.student import student_quantile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.decisions import Pair

CONFIDENCE_RATIO = 0.95
_LEAST_COUNT = 2


class Place(NamedTuple):
    """One comparison of the matrix: an environment with the baseline in one cell."""

    workload: str
    clients: int
    threads: int
    environment: str


class Check(Enum):
    """What the truth says of an answer."""

    CONFIRMED = "confirmed"
    OPEN = "the truth cannot tell"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """A ratio from long trials. The interval is None where there are no slices to judge by."""

    ratio: float
    low: float | None
    high: float | None
    repeat_count: int


def truths(
    pairs: Mapping[Place, Sequence[Pair]], slices: Mapping[Place, Sequence[Pair]]
) -> dict[Place, Truth]:
    """Estimate each ratio from its few long pairs (environment, baseline), with a 95% interval.

    The mean log ratio with Student's t. One to three long pairs have no scatter to speak of, so it
    is taken from the many pairs of `slices` of the same comparison. Assumed: log ratios of slices
    are about normal, and those of long trials scatter no more, as these average over more.
    Comparisons without a long pair are left out.
    """
    return {place: _truth(found, slices.get(place, ())) for place, found in pairs.items() if found}


def _truth(long: Sequence[Pair], slices: Sequence[Pair]) -> Truth:
    centre = fmean(log_ratios(long))
    logs = log_ratios(slices)
    if len(logs) < _LEAST_COUNT:
        return Truth(ratio=math.exp(centre), low=None, high=None, repeat_count=len(long))
    quantile = student_quantile((1 + CONFIDENCE_RATIO) / 2, len(logs) - 1)
    half = quantile * stdev(logs) / math.sqrt(len(long))
    return Truth(
        ratio=math.exp(centre),
        low=math.exp(centre - half),
        high=math.exp(centre + half),
        repeat_count=len(long),
    )


def check(answer: Answer, truth: Truth | None, margin_ratio: float) -> Check:
    """Hold one answer against the truth: contradicted where its interval leaves no room for it.

    Raises ValueError for an answer that claims nothing.
    """
    if answer is Answer.UNDECIDED:
        raise ValueError("what is not decided cannot be wrong")
    if truth is None or truth.low is None or truth.high is None:
        return Check.OPEN
    low, high = truth.low, truth.high
    margin = 1 + margin_ratio
    above, below = {
        Answer.FASTER: (1.0, math.inf),
        Answer.SLOWER: (0.0, 1.0),
        Answer.EQUIVALENT: (1 / margin, margin),
    }[answer]
    if above < low and high < below:
        return Check.CONFIRMED
    if high <= above or low >= below:
        return Check.CONTRADICTED
    return Check.OPEN


def tally(
    answers: Mapping[Place, Answer], found: Mapping[Place, Truth], margin_ratio: float
) -> dict[Check, list[Place]]:
    """Sort the comparisons that are decided by what the truth says of them."""
    sorted_: dict[Check, list[Place]] = {each: [] for each in Check}
    for place, answer in answers.items():
        if answer is not Answer.UNDECIDED:
            sorted_[check(answer, found.get(place), margin_ratio)].append(place)
    return sorted_
