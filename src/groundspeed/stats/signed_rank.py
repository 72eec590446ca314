"""How surely paired quantities differ by more, or by less, than a given factor: exact p-values.

The companion of `paired_ratio`: a one-sided p-value here is at most half the error of an interval
there exactly when that interval lies wholly on that side. Pure: no input, no output, no wording.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import accumulate
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.paired_ratio import EXACT_UP_TO, signed_rank_counts

if TYPE_CHECKING:
    from collections.abc import Sequence


class Tails(msgspec.Struct, frozen=True, kw_only=True):
    """Two one-sided p-values, each in 0..1.

    `above`: how likely values as high as these are where the true one is at most the one tested;
    small, it says that the true one is above. `below` the other way round.
    """

    above: float
    below: float

    @property
    def two_sided(self) -> float:
        """Twice the smaller one, at most 1."""
        return min(2 * min(self.above, self.below), 1.0)


NO_EVIDENCE = Tails(above=1.0, below=1.0)


def log_ratios(pairs: Sequence[tuple[float, float]]) -> tuple[float, ...]:
    """Take the logarithm of the ratio of each pair.

    `pairs`: (numerator, denominator), finite and above 0; else ValueError.
    """
    if not all(math.isfinite(v) and v > 0 for pair in pairs for v in pair):
        raise ValueError("needs pairs of finite values above 0")
    # A difference of logarithms: the quotient itself may overflow.
    return tuple(math.log(over) - math.log(under) for over, under in pairs)


def signed_rank_tails(logs: Sequence[float], shift: float = 0.0) -> Tails:
    """Test whether `logs` are symmetric about a value above, or below, `shift`.

    `logs`: independent values, each symmetric about one true value, in the unit of `shift`; of
    none, both p-values are 1. The statistic is the number of Walsh averages on the wrong side. One
    that equals `shift` counts as wrong for both sides, so ties and zeros make p-values larger,
    never smaller. Exact up to 60 values; the normal distribution with continuity correction beyond,
    which is on the safe side in the tails (the true distribution is bounded). The smallest p-value
    of n values is 2**-n.

    Source: Hollander & Wolfe, Nonparametric Statistical Methods, 2nd edition, section 3.1;
    the Walsh averages: Tukey (1949), ibid. comment 17.
    """
    n = len(logs)
    ordered = sorted(logs)
    all_count = n * (n + 1) // 2
    at_most = _walsh_count(ordered, 2 * shift, inclusive=True)
    below = _walsh_count(ordered, 2 * shift, inclusive=False)
    return Tails(
        above=_chance_of_at_most(n, at_most), below=_chance_of_at_most(n, all_count - below)
    )


def _walsh_count(ordered: Sequence[float], twice: float, *, inclusive: bool) -> int:
    """Count the pairs i <= j whose sum is below `twice`, or at most that."""
    count, right = 0, len(ordered) - 1
    for left, value in enumerate(ordered):
        while right >= left and (
            value + ordered[right] > twice if inclusive else value + ordered[right] >= twice
        ):
            right -= 1
        if right < left:
            break
        count += right - left + 1
    return count


def _chance_of_at_most(n: int, count: int) -> float:
    if n > EXACT_UP_TO:
        null = NormalDist(n * (n + 1) / 4, math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
        return min(null.cdf(count + 0.5), 1.0)
    return float(_cumulative(n)[count] / 2**n)


@lru_cache(maxsize=EXACT_UP_TO + 1)
def _cumulative(n: int) -> tuple[int, ...]:
    return tuple(accumulate(signed_rank_counts(n)))
