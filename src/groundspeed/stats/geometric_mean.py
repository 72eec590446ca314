"""One ratio for several unlike cells: the geometric mean of theirs, with an interval.

It answers "by what factor, if each of these cells mattered alike?" and nothing else: no user of a
database ever sees it. Pure: no input, no output, no wording.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING

from groundspeed.stats.paired_ratio import RatioInterval, paired_ratio
from groundspeed.stats.signed_rank import log_ratios

if TYPE_CHECKING:
    from collections.abc import Sequence


def geometric_mean_ratio(
    cells: Sequence[Sequence[tuple[float, float]]], confidence_ratio: float = 0.95
) -> RatioInterval:
    """Estimate the geometric mean of the ratios of several cells.

    `cells`: the pairs of each cell, finite and above 0. The first pairs of all cells make a round,
    the second ones another; what one cell has more than the others is left out. The mean log ratio
    of a round is symmetric about that of the cells if each is about its own, however unlike their
    scatter, so the interval is the signed-rank one over rounds, exact, with no resampling. `n` of
    the result counts rounds. Raises ValueError for no cell, one without pairs and values out of
    range.
    """
    return paired_ratio(round_ratios(cells), confidence_ratio)


def round_ratios(cells: Sequence[Sequence[tuple[float, float]]]) -> list[tuple[float, float]]:
    """Give the geometric mean of each round, as pairs with 1; raises as `geometric_mean_ratio`."""
    if not cells or not all(cells):
        raise ValueError("a mean of ratios takes one or more cells, each with pairs")
    rounds = [fmean(logs) for logs in zip(*map(log_ratios, cells), strict=False)]
    return [(math.exp(mean), 1.0) for mean in rounds]
