"""The emulated device against arithmetic, in virtual time: no clock, no tolerance for noise."""

from __future__ import annotations

import random
import statistics
from collections import Counter

import pytest

from groundspeed.storage.profile import (
    Counted,
    Device,
    Direction,
    Latency,
    Limit,
    Profile,
    ReadsFrom,
    Replication,
    Trouble,
)
from tests.unit.native.replay import (
    AFTER_THE_LAST,
    MIB,
    MS,
    PAGE,
    Operation,
    S,
    fixed,
    profile,
    replay,
)

LARGE_FILE = 1024 * MIB


def at_once(count: int, what: str = "direct_read", length: int = PAGE) -> list[Operation]:
    """So many requests at the same moment, none next to another."""
    return [Operation(1, what, 1, i * 2 * length, length) for i in range(count)]


def spread_out(count: int, what: str, gap_ns: int, length: int = PAGE) -> list[Operation]:
    return [Operation(1 + i * gap_ns, what, 1, i * 2 * length, length) for i in range(count)]


@pytest.mark.parametrize("what", ["direct_read", "direct_write"])
def test_a_cap_on_requests_is_kept_to_the_request(what: str) -> None:
    limit = Limit(of=Counted.REQUESTS, rate_per_s=3000)
    played = replay(profile(limits=(limit,)), at_once(3001, what))
    # The first passes at once, so the 3,001st passes a second later.
    assert played[-1].took_ns == pytest.approx(S, rel=1e-4)


def test_a_cap_on_bytes_is_kept_to_the_byte() -> None:
    limit = Limit(of=Counted.BYTES, rate_per_s=125 * MIB)
    played = replay(profile(limits=(limit,)), at_once(1000, length=128 * 1024))
    assert played[-1].took_ns == pytest.approx(S, rel=1e-4)


def test_a_cap_on_writes_leaves_reads_alone() -> None:
    limit = Limit(of=Counted.REQUESTS, on=Direction.WRITE, rate_per_s=10)
    device = profile(read_s=1e-3, limits=(limit,))
    assert max(p.took_ns for p in replay(device, at_once(60))) == pytest.approx(MS, rel=1e-3)


@pytest.mark.parametrize(("credits_count", "rate"), [(54_000.0, 300.0), (2_000.0, 100.0)])
def test_a_burst_ends_at_the_computed_second_and_leaves_the_baseline(
    credits_count: float, rate: float
) -> None:
    peak = 3000.0
    limits = (
        Limit(of=Counted.REQUESTS, rate_per_s=peak),
        Limit(of=Counted.REQUESTS, rate_per_s=rate, credits_count=credits_count),
    )
    cliff_s = credits_count / (peak - rate)
    count = int(peak * cliff_s) + int(rate * 5)
    done_s = [p.done_ns / S for p in replay(profile(limits=limits), at_once(count))]
    # The last second that still has the full rate is the one of the cliff.
    whole_seconds = range(int(done_s[-1]))
    by_second = [sum(second <= d < second + 1 for d in done_s) for second in whole_seconds]
    fast = [second for second, rate_seen in enumerate(by_second) if rate_seen > 0.9 * peak]
    assert max(fast, default=-1) + 1 == pytest.approx(cliff_s, abs=max(1.0, 0.02 * cliff_s))
    assert statistics.median(by_second[-3:]) == pytest.approx(rate, rel=0.03)


def test_a_slice_lets_through_at_its_start_what_it_has() -> None:
    limit = Limit(of=Counted.REQUESTS, rate_per_s=300, slice_s=0.1)
    played = replay(profile(limits=(limit,)), at_once(3000))
    tenths = [p.done_ns / S * 10 for p in played]
    assert all(abs(t - round(t)) < 1e-3 for t in tenths)
    in_each = Counter(map(round, tenths))
    assert all(in_each[tenth] in (30, 31) for tenth in range(99))


def test_a_little_lateness_is_forgiven_and_an_idle_time_is_not() -> None:
    limit = Limit(of=Counted.REQUESTS, rate_per_s=1000)
    late = [Operation(S + i * MS + i % 2 * MS // 2, "direct_read", 1, 0, PAGE) for i in range(1000)]
    assert max(p.took_ns for p in replay(profile(limits=(limit,)), late)) < MS
    after_a_rest = [Operation(5 * S + i, "direct_read", 1, 0, PAGE) for i in range(100)]
    assert replay(profile(limits=(limit,)), after_a_rest)[-1].took_ns > 97 * MS


def test_credits_come_back_at_the_rate() -> None:
    limit = Limit(of=Counted.REQUESTS, rate_per_s=100, credits_count=100)
    spent = at_once(100)
    half_back = [Operation(S // 2, "direct_read", 1, i * PAGE, PAGE) for i in range(100)]
    played = replay(profile(limits=(limit,)), [*spent, *half_back])
    free = sum(p.took_ns == 0 for p in played[100:])
    assert free == pytest.approx(50, abs=1)


def test_a_bucket_may_start_part_full() -> None:
    limit = Limit(of=Counted.REQUESTS, rate_per_s=10, credits_count=100, start_ratio=0.3)
    played = replay(profile(limits=(limit,)), at_once(100))
    assert sum(p.took_ns == 0 for p in played) == pytest.approx(30, abs=1)


def test_requests_beyond_the_queue_depth_wait_for_a_slot() -> None:
    played = replay(profile(read_s=1e-3, parallel=4), at_once(12))
    waves = [round(p.took_ns / MS) for p in played]
    assert waves == [1] * 4 + [2] * 4 + [3] * 4


def test_latencies_are_log_normal_by_median_and_p99() -> None:
    latency = Latency(median_s=0.5e-3, p99_s=1.5e-3)
    device = Profile(
        name="t",
        about="t",
        device=Device(read=latency, parallel_count=64),
        request_bytes=PAGE,
        readahead_bytes=0,
    )
    took = sorted(p.took_ns / 1e9 for p in replay(device, spread_out(40_000, "direct_read", S)))
    assert took[20_000] == pytest.approx(0.5e-3, rel=0.02)
    assert took[39_600] == pytest.approx(1.5e-3, rel=0.05)


@pytest.mark.parametrize("acknowledge", [1, 4, 6])
def test_a_write_is_done_when_the_quorum_has_it(acknowledge: int) -> None:
    latency = Latency(median_s=1e-3, p99_s=4e-3)
    device = Profile(
        name="t",
        about="t",
        device=Device(write=latency, parallel_count=64),
        replication=Replication(
            replicas_count=6, acknowledge_count=acknowledge, round_trip=fixed(0.5e-3)
        ),
        request_bytes=PAGE,
        readahead_bytes=0,
    )
    took = [p.took_ns for p in replay(device, spread_out(20_000, "direct_write", S))]
    generator = random.Random(7)
    sigma = 0.5958976  # ln(4) / 2.326
    expected = []
    for _ in range(20_000):
        draws = sorted(1e-3 * generator.lognormvariate(0, sigma) for _ in range(6))
        expected.append(0.5e-3 + draws[acknowledge - 1])
    median_ns = statistics.median(expected) * 1e9
    assert statistics.median(took) == pytest.approx(median_ns, rel=0.02)


@pytest.mark.parametrize(("reads", "mean_ms"), [(ReadsFrom.LOCAL, 1.0), (ReadsFrom.SPREAD, 1.2)])
def test_reads_go_to_the_replica_that_is_asked_for(reads: ReadsFrom, mean_ms: float) -> None:
    device = Profile(
        name="t",
        about="t",
        device=Device(read=fixed(1e-3), parallel_count=64),
        replication=Replication(
            replicas_count=3,
            acknowledge_count=3,
            round_trip=fixed(0.3e-3),
            reads=reads,
            one_is_local=True,
        ),
        request_bytes=PAGE,
        readahead_bytes=0,
    )
    took = [p.took_ns / MS for p in replay(device, spread_out(6_000, "direct_read", S))]
    assert statistics.mean(took) == pytest.approx(mean_ms, rel=0.01)


def test_the_link_carries_every_remote_copy() -> None:
    device = Profile(
        name="t",
        about="t",
        device=Device(write=fixed(0), parallel_count=64),
        replication=Replication(
            replicas_count=3,
            acknowledge_count=3,
            round_trip=fixed(0),
            one_is_local=True,
            link_bytes_per_s=100 * MIB,
        ),
        request_bytes=MIB,
        readahead_bytes=0,
    )
    played = replay(device, at_once(50, "direct_write", length=MIB))
    assert played[-1].took_ns == pytest.approx(S, rel=1e-3)


def test_the_front_serves_its_own_number_at_once_before_the_devices() -> None:
    device = Profile(
        name="t",
        about="t",
        front=Device(write=fixed(1e-3), parallel_count=1),
        device=Device(write=fixed(5e-3), parallel_count=64),
        request_bytes=PAGE,
        readahead_bytes=0,
    )
    took_ms = [round(p.took_ns / MS) for p in replay(device, at_once(4, "direct_write"))]
    assert took_ms == [6, 7, 8, 9]


# ---- the page cache


def test_a_page_read_twice_is_read_once() -> None:
    operations = [Operation(1, "read", 1, 0, 8192), Operation(S, "read", 1, 0, 8192)]
    first, second = replay(profile(read_s=1e-3), operations)
    assert (first.took_ns, first.miss_pages) == (pytest.approx(MS, rel=1e-3), 2)
    assert (second.took_ns, second.hit_pages, second.miss_pages) == (0, 2, 0)


def test_a_page_on_its_way_is_waited_for_not_asked_for_again() -> None:
    operations = [Operation(1, "read", 1, 0, PAGE), Operation(MS // 4, "read", 1, 0, PAGE)]
    _, second = replay(profile(read_s=1e-3), operations)
    assert second.took_ns == pytest.approx(0.75 * MS, rel=0.01)
    assert second.miss_pages == 0


def test_uniform_reads_of_four_times_the_cache_hit_a_quarter() -> None:
    generator = random.Random(3)
    pages = 4 * 64 * MIB // PAGE
    operations = [
        Operation(1 + i * 10_000, "read", 1, generator.randrange(pages) * PAGE, PAGE)
        for i in range(200_000)
    ]
    played = replay(profile(read_s=1e-6), operations, cache_bytes=64 * MIB)[100_000:]
    hits = sum(p.hit_pages for p in played)
    assert hits / len(played) == pytest.approx(0.25, abs=0.03)


def test_what_was_used_last_stays() -> None:
    generator = random.Random(4)
    cache_pages = 4 * MIB // PAGE
    hot = [i * PAGE for i in range(cache_pages // 4)]
    operations, moment = [], 1
    for _ in range(40):
        operations += [
            Operation(moment := moment + 2 * MS, "read", 1, offset, PAGE) for offset in hot
        ]
        for _ in range(cache_pages // 4):
            cold = (cache_pages + generator.randrange(100 * cache_pages)) * PAGE
            operations.append(Operation(moment := moment + 2 * MS, "read", 2, cold, PAGE))
    played = replay(profile(read_s=1e-6), operations, cache_bytes=4 * MIB)
    again = [p for p, o in zip(played, operations, strict=True) if o.file == 1][len(hot) :]
    assert sum(p.hit_pages for p in again) / len(again) > 0.98


def test_sequential_reads_get_the_bandwidth_not_the_latency() -> None:
    limit = Limit(of=Counted.BYTES, rate_per_s=500 * MIB)
    device = profile(read_s=1e-3, limits=(limit,), readahead_bytes=128 * 1024)
    moment, pages = 1, 4096
    operations = []
    for i in range(pages // 2):
        operations.append(Operation(moment, "read", 1, i * 8192, 8192))
        moment += 1000
    waited = [p for p in replay(device, operations) if p.took_ns > 0]
    # Without reading ahead each of the 2,048 reads would take a millisecond.
    assert sum(p.miss_pages > 0 for p in waited) < pages / 2 / 10


@pytest.mark.parametrize(("share", "hits"), [(0.5, 1.0), (0.9, 0.995), (0.95, 0.98)])
def test_what_fits_the_cache_stays_in_it(share: float, hits: float) -> None:
    """Going round and round, where a cache that loses one page loses the next ones, too."""
    pages = int(share * 64 * MIB / PAGE)
    operations = [Operation(1 + i, "read", 1, i % pages * PAGE, PAGE) for i in range(3 * pages)]
    played = replay(profile(read_s=1e-9), operations, cache_bytes=64 * MIB)[2 * pages :]
    assert sum(p.hit_pages for p in played) / len(played) >= hits


# ---- dirty pages


def test_a_write_costs_nothing_and_its_fsync_all_of_it() -> None:
    operations = [Operation(1, "write", 1, 0, 8192), Operation(2, "fsync", 1, 0, 0)]
    write, sync = replay(profile(write_s=2e-3, sync_s=1e-3), operations)
    assert write.took_ns == 0
    assert sync.took_ns == pytest.approx(3 * MS, rel=1e-3)


def test_fsync_waits_for_its_own_file_only() -> None:
    operations = [
        Operation(1, "write", 1, 0, 10 * MIB),
        Operation(2, "write", 2, 0, 8192),
        Operation(3, "fsync", 2, 0, 0),
        Operation(S, "fsync", 1, 0, 0),
    ]
    limit = Limit(of=Counted.BYTES, rate_per_s=100 * MIB)
    played = replay(profile(limits=(limit,)), operations, cache_bytes=256 * MIB)
    assert played[2].took_ns == pytest.approx(8192 / (100 * MIB) * S, rel=0.01)
    assert played[3].took_ns == pytest.approx(0.1 * S, rel=0.01)


@pytest.mark.parametrize(("apart", "requests"), [(1, 1), (2, 64)])
def test_adjacent_pages_become_one_request(apart: int, requests: int) -> None:
    writes = [Operation(1 + i, "write", 1, i * apart * PAGE, PAGE) for i in range(64)]
    limit = Limit(of=Counted.REQUESTS, rate_per_s=1000)
    *_, sync = replay(profile(limits=(limit,)), [*writes, Operation(100, "fsync", 1, 0, 0)])
    assert round(sync.took_ns / MS) == requests - 1


def test_requests_are_no_larger_than_the_profile_says() -> None:
    limit = Limit(of=Counted.REQUESTS, rate_per_s=1000)
    device = profile(limits=(limit,), request_bytes=64 * 1024)
    operations = [Operation(1, "write", 1, 0, MIB), Operation(2, "fsync", 1, 0, 0)]
    *_, sync = replay(device, operations)
    assert round(sync.took_ns / MS) == 15


def test_a_writer_beyond_the_dirty_limit_goes_at_the_speed_of_the_device() -> None:
    rate = 100 * MIB
    cache = 256 * MIB
    device = profile(limits=(Limit(of=Counted.BYTES, rate_per_s=rate),))
    operations = [Operation(AFTER_THE_LAST, "write", 1, i * MIB, MIB) for i in range(300)]
    played = replay(device, operations, cache_bytes=cache)
    first_held = next(i for i, p in enumerate(played) if p.took_ns > 0)
    assert first_held == pytest.approx(0.2 * cache / MIB, abs=2)
    last_s = (played[-1].done_ns - 1) / S
    assert last_s == pytest.approx((300 - 0.2 * cache / MIB) * MIB / rate, rel=0.1)


def test_a_sync_does_not_wait_until_nothing_is_left_to_write_back() -> None:
    """It stands behind the requests that are under way, and not behind those still to come."""
    limit = Limit(of=Counted.BYTES, on=Direction.WRITE, rate_per_s=100 * MIB)
    operations = [
        Operation(1, "write", 1, 0, 190 * MIB),
        Operation(2, "write", 2, 0, PAGE),
        Operation(3, "fsync", 2, 0, 0),
    ]
    *_, sync = replay(profile(limits=(limit,)), operations, cache_bytes=1024 * MIB)
    # From 10% of the cache on, pages are written back: nearly 90 MiB of them, and 64 requests of
    # 256 KiB at a time.
    assert 0.1 * S < sync.took_ns < 0.2 * S


def test_old_dirty_pages_are_written_without_being_asked() -> None:
    operations = [
        Operation(1, "write", 1, 0, MIB),
        # Somebody has to come by; the write-back itself happened before.
        *(Operation(second * S, "write", 2, second * PAGE, PAGE) for second in range(1, 60)),
        Operation(60 * S, "fsync", 1, 0, 0),
    ]
    limit = Limit(of=Counted.BYTES, rate_per_s=10 * MIB)
    *_, sync = replay(profile(limits=(limit,)), operations)
    assert sync.took_ns == 0


def test_a_page_written_in_part_is_read_first_unless_cached() -> None:
    device = profile(read_s=1e-3)
    operations = [
        Operation(1, "write", 1, 100, 50),
        Operation(S, "write", 1, 200, 50),
        Operation(2 * S, "write", 1, PAGE, PAGE),
    ]
    took = [p.took_ns for p in replay(device, operations)]
    assert took == [pytest.approx(MS, rel=1e-3), 0, 0]


# ---- trouble


def test_a_stall_holds_every_request_until_it_ends() -> None:
    device = profile(read_s=1e-3)
    stalling = Profile(
        name="t",
        about="t",
        device=device.device,
        request_bytes=PAGE,
        readahead_bytes=0,
        trouble=Trouble(stall_after_s=1.0, stall_s=5.0),
    )
    operations = [Operation(1 + second * S, "direct_read", 1, 0, PAGE) for second in range(8)]
    took_s = [round(p.took_ns / S) for p in replay(stalling, operations)]
    assert took_s == [0, 5, 4, 3, 2, 1, 0, 0]


def test_equal_seeds_give_equal_times_and_others_do_not() -> None:
    latency = Latency(median_s=1e-3, p99_s=4e-3)
    device = Profile(
        name="t",
        about="t",
        device=Device(read=latency, parallel_count=4),
        request_bytes=PAGE,
    )
    runs = [replay(device, at_once(50), seed=seed) for seed in (1, 1, 2)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_file_as_large_as_they_come_is_held() -> None:
    operations = [Operation(1, "read", 1, LARGE_FILE * 1000, PAGE)]
    assert replay(profile(read_s=1e-3), operations)[0].miss_pages == 1
