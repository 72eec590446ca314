"""One record becomes a slice: at which rate, and whether that holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.record import Measured

if TYPE_CHECKING:
    from groundspeed.record import Record

# What p99 allows to be late.
_LATE_RATIO = 0.01
# Arrivals are a Poisson process: fewer than due by so many standard deviations come once in 700
# slices by chance.
_CHANCE_SIGMA = 3.0


class SliceOutcome(NamedTuple):
    """A slice at a rate; see `shapes.CapacitySlice`."""

    rate_per_s: float
    missed_ratio: float
    holds: bool


def outcome_of(record: Record, bound_s: float) -> SliceOutcome | None:
    """Tell whether the rate of a record holds; None for a closed loop and where nothing came.

    It holds where p99 is within the bound and no more than a hundredth of what was due failed or
    was never begun. pgbench leaves the queue behind when its time is up: what was due then is in no
    log, and a server that stands still at the end would look fast.
    """
    outcome, rate_per_s = record.outcome, record.trial.rate_per_s
    if rate_per_s is None or not isinstance(outcome, Measured):
        return None
    if outcome.transaction_count is None:
        # Of an import whose source does not tell.
        return None
    # The time that pgbench's own rate is of: without the time to connect, in which nothing is due.
    elapsed_s = outcome.transaction_count / outcome.tps_per_s if outcome.tps_per_s else 0.0
    due = rate_per_s * (elapsed_s or record.trial.duration_s)
    failed = outcome.failed_count or 0
    begun = outcome.transaction_count + failed
    never = max(0.0, due - begun - _CHANCE_SIGMA * math.sqrt(due))
    missed_ratio = (failed + never) / max(due, begun)
    return SliceOutcome(
        rate_per_s=rate_per_s,
        missed_ratio=missed_ratio,
        holds=outcome.latency.p99_s <= bound_s and missed_ratio <= _LATE_RATIO,
    )
