"""Another machine's clock, by round trips."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.stats.clock_offset import Reading, clock_offset

# How far ahead their clock is, and the ways there and back.
WAYS_NS = st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=1, max_size=30)


@given(st.integers(-(10**12), 10**12), WAYS_NS)
def test_the_truth_is_within_the_error(ahead_ns: int, ways_ns: list[tuple[int, int]]) -> None:
    readings, now_ns = [], 10**15
    for there_ns, back_ns in ways_ns:
        received_ns = now_ns + there_ns + back_ns
        readings.append(
            Reading(sent_ns=now_ns, theirs_ns=now_ns + there_ns + ahead_ns, received_ns=received_ns)
        )
        now_ns = received_ns + 1
    offset = clock_offset(readings)
    assert abs(offset.ahead_ns - ahead_ns) <= offset.error_ns
    shortest_ns = min(sum(way) for way in ways_ns)
    assert shortest_ns / 2 <= offset.error_ns <= shortest_ns / 2 + 1


def test_the_shortest_round_trip_tells() -> None:
    slow = Reading(sent_ns=0, theirs_ns=5_000, received_ns=1_000)
    quick = Reading(sent_ns=2_000, theirs_ns=9_105, received_ns=2_200)
    offset = clock_offset([slow, quick])
    assert (offset.ahead_ns, offset.error_ns) == (7_005, 100)


def test_a_clock_that_was_not_read_is_refused() -> None:
    with pytest.raises(ValueError, match="not read"):
        clock_offset([])
