"""What a search for the highest rate comes to: types without logic. Base units, unrounded."""

from __future__ import annotations

from enum import Enum

import msgspec

from groundspeed.analyse.diagnosis import Bottleneck, Clue


class CapacityState(Enum):
    """How far a search came."""

    FOUND = "found"
    # The interval has both ends, but they are wider apart than asked.
    WIDE = "wide"
    # Slices decide on one end or on none.
    OPEN = "open"
    # No rate that was tried holds, and the lowest one surely not.
    NEVER = "never"
    # Even the highest rate of the ladder holds.
    ABOVE = "above"
    # The slices contradict each other.
    CHANGED = "changed"
    # There is no closed loop that the rates could be taken from.
    UNKNOWN = "unknown"


class CapacitySlice(msgspec.Struct, frozen=True, kw_only=True):
    """One slice at one rate.

    `p99_s` counts from the moment that transactions were due. `missed_ratio` is the share of those
    due that failed or were never begun, beyond what chance explains. `bottleneck` is what held a
    slice back that breaks, or what came next where it reached its rate; UNKNOWN without evidence.
    """

    trial_id: str
    rate_per_s: float
    done_per_s: float
    p99_s: float
    lag_p99_s: float | None
    missed_ratio: float
    holds: bool
    bottleneck: Bottleneck = Bottleneck.UNKNOWN
    clue: Clue | None = None


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """The highest rate of one cell that holds p99 latency within `bound_s`.

    `rate_per_s` lies in the middle of what the slices leave; `low_per_s` surely holds and
    `high_per_s` surely breaks, both together with `confidence_ratio` at any time; None where no
    rate does so. `family_low_per_s` and `family_high_per_s` are the same with a confidence that all
    `family_count` searches of the run share. `bottleneck` is what most of the `broken_count` slices
    name that break above `low_per_s`; None where nothing was seen. `closed_loop_per_s` is what as
    many clients do without a rate, NaN where that was not measured.
    """

    run_id: str
    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    bound_s: float
    within_ratio: float
    confidence_ratio: float
    state: CapacityState
    closed_loop_per_s: float
    rate_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    family_count: int
    family_low_per_s: float | None
    family_high_per_s: float | None
    slices: tuple[CapacitySlice, ...]
    failed_count: int
    bottleneck: Bottleneck | None = None
    agreeing_count: int = 0
    broken_count: int = 0
    clue: Clue | None = None
    emulated: bool = False

    @property
    def is_bracketed(self) -> bool:
        """Whether one rate surely holds and another one surely breaks."""
        return self.low_per_s is not None and self.high_per_s is not None
