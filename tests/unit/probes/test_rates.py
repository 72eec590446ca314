from __future__ import annotations

from groundspeed.probes.rates import Rates, per_second


def rates(blocks: int, position: int | None) -> Rates:
    return Rates(
        block_read_count=blocks,
        timed_count=0,
        requested_count=0,
        buffer_count=0,
        work_s=0.0,
        wal_position_bytes=position,
    )


def test_growth_is_told_for_a_second_of_any_length() -> None:
    assert per_second((1.0, rates(10, 1000)), (3.0, rates(50, 5000))) == {
        "wal_bytes_per_s": 2000.0,
        "blocks_read_per_s": 20.0,
    }


def test_a_reading_that_is_missing_makes_the_second_unknown() -> None:
    unknown = {"wal_bytes_per_s": None, "blocks_read_per_s": None}
    assert per_second(None, (3.0, rates(50, 5000))) == unknown
    assert per_second((1.0, rates(50, 5000)), None) == unknown


def test_a_standby_has_no_position_and_a_reset_no_blocks() -> None:
    values = per_second((1.0, rates(50, None)), (2.0, rates(10, None)))
    assert values == {"wal_bytes_per_s": None, "blocks_read_per_s": None}
