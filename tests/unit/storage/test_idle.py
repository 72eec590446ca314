from __future__ import annotations

from random import Random

import pytest

from groundspeed.storage.idle import Operation, idle_s
from groundspeed.storage.profile import (
    NO_TIME,
    Device,
    Latency,
    Profile,
    ReadsFrom,
    Replication,
)


def always(value_s: float) -> Latency:
    return Latency(median_s=value_s, p99_s=value_s)


def profile(
    sync: Latency, reads: ReadsFrom = ReadsFrom.LOCAL, acknowledge_count: int = 2
) -> Profile:
    return Profile(
        name="p",
        about="",
        device=Device(read=always(1.0), write=always(2.0), sync=sync, parallel_count=1),
        front=Device(write=always(0.1), sync=always(0.2), parallel_count=0),
        replication=Replication(
            replicas_count=2,
            acknowledge_count=acknowledge_count,
            round_trip=always(10.0),
            reads=reads,
            one_is_local=True,
        ),
        request_bytes=4096,
    )


def times_s(made: Profile, operation: Operation) -> set[float]:
    return {round(t, 6) for t in idle_s(made, operation, Random(1), 100)}


def test_a_write_waits_for_the_replicas_that_acknowledge() -> None:
    assert times_s(profile(NO_TIME), Operation.WRITE) == {12.1}
    assert times_s(profile(NO_TIME, acknowledge_count=1), Operation.WRITE) == {2.1}


def test_a_flush_goes_to_replicas_only_where_it_costs() -> None:
    assert times_s(profile(NO_TIME), Operation.SYNC) == {0.2}
    assert times_s(profile(always(3.0)), Operation.SYNC) == {13.2}


@pytest.mark.parametrize(
    ("reads", "expected"), [(ReadsFrom.LOCAL, {1.0}), (ReadsFrom.SPREAD, {1.0, 11.0})]
)
def test_reads_come_from_one_replica(reads: ReadsFrom, expected: set[float]) -> None:
    assert times_s(profile(NO_TIME, reads), Operation.READ) == expected
