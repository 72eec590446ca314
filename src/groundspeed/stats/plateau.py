"""Where throughput stops growing with the clients because something else caps it. Pure.

A cap has a corner: throughput is flat from one number of clients on. A system that turns down of
itself is flat too around its peak, but the scalability law follows it there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.stats.scalability import LEAST_POINT_COUNT, fit_law

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.stats.scalability import Load

# Throughput that moves less than this between numbers of clients is flat, even without noise.
LEAST_NOISE_RATIO = 0.03
_LEAST_FLAT_COUNT = 3
# From the first to the last flat point the clients at least double: in a closed loop latency then
# doubles too, while throughput stays.
_LEAST_GROWTH_RATIO = 2.0
# How many times the noise the law through all points has to miss one of them by.
_CORNER_COUNT = 2.0


def plateau_from(loads: Sequence[Load], noise_ratio: float = 0.0) -> float | None:
    """Give the number of clients from which throughput is capped; None where it is not.

    `loads`: one point for each number of clients, in any order; `noise_ratio` is how far apart the
    throughput of two equal points may be, at least 3% is taken. A plateau is three or more
    neighbouring points within that, over which the clients at least double, and which the law
    through all points cannot follow; with too few points for the law it is not asked.
    """
    noise = max(noise_ratio, LEAST_NOISE_RATIO)
    ordered = sorted(loads, key=lambda load: load.clients)
    flat = next((at for at in range(len(ordered)) if _is_flat(ordered[at:], noise)), None)
    if flat is None or (len(ordered) >= LEAST_POINT_COUNT and not _has_corner(ordered, noise)):
        return None
    return ordered[flat].clients


def _is_flat(loads: Sequence[Load], noise: float) -> bool:
    """Whether the first of these begins a flat stretch that is long enough."""
    least = most = loads[0].throughput
    for count, load in enumerate(loads, start=1):
        least, most = min(least, load.throughput), max(most, load.throughput)
        if most > least * (1 + noise):
            return False
        if count >= _LEAST_FLAT_COUNT and load.clients >= _LEAST_GROWTH_RATIO * loads[0].clients:
            return True
    return False


def _has_corner(loads: Sequence[Load], noise: float) -> bool:
    law = fit_law(loads).law
    missed = max(abs(math.log(load.throughput / law.throughput(load.clients))) for load in loads)
    return missed > _CORNER_COUNT * noise
