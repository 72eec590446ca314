"""How far another machine's clock is from ours, by asking it for the time and counting round trips.

Cristian (1989), "Probabilistic clock synchronization": the answer was written some time between
asking and hearing it, so the shortest round trip bounds the error best. Pure: others ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One round trip: when we asked and heard by our clock, and what theirs said in between."""

    sent_ns: int
    theirs_ns: int
    received_ns: int

    @property
    def round_trip_ns(self) -> int:
        """From asking to hearing."""
        return self.received_ns - self.sent_ns


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """Their clock is `ahead_ns` ahead of ours (behind when negative), give or take `error_ns`.

    The error is no standard deviation: the true difference lies within it.
    """

    ahead_ns: int
    error_ns: int


def clock_offset(readings: Sequence[Reading]) -> Offset:
    """Return how far their clock is ahead of ours, by the shortest round trip.

    Half of that trip is the error: the way there may have taken all of it, or nothing. Raises
    ValueError without a reading.
    """
    if not readings:
        raise ValueError("a clock that was not read is nowhere")
    best = min(readings, key=lambda reading: reading.round_trip_ns)
    middle_ns = best.sent_ns + best.round_trip_ns // 2
    return Offset(ahead_ns=best.theirs_ns - middle_ns, error_ns=-(-best.round_trip_ns // 2))
