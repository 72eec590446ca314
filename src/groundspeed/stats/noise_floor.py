"""How far a ratio may be from 1 where there is nothing to find: the floor of a run's own noise.

Pure: no input, no output, no wording.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.stats.paired_ratio import paired_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence


def noise_floor(
    twins: Sequence[tuple[float, float]], confidence_ratio: float = 0.95
) -> float | None:
    """Bound how far two trials of one thing differ in the long run, as a ratio less 1.

    `twins`: both trials of one environment in one block, finite and above 0; which is named first
    has nothing to do with which was measured first. The bound is the farther end of the interval
    of their ratio, from 1: 0.01 says that a difference of 1% is nothing. Pairs of unlike cells may
    be pooled: the test behind the interval asks that each is symmetric about 1, not that they
    scatter alike. None where there are too few pairs for an interval, six for 95%.

    It sees what differs between trials of one server. What differs between two servers that are
    set up alike (where their files came to lie) is in no pair of one server.
    """
    if not twins:
        return None
    found = paired_ratio(twins, confidence_ratio)
    if found.low is None or found.high is None:
        return None
    return max(found.high, 1 / found.low) - 1
