"""Bounds of memory and disk, against what real servers took."""

from __future__ import annotations

import pytest

from groundspeed.tools import redis_sizing

GIB = 1024**3
# Payload, keys, bytes a key over its payload: Redis 7.0.15 with jemalloc 5.3.
MEASURED = (
    (3, 100_000, 104.0),
    (16, 100_000, 107.0),
    (64, 100_000, 107.0),
    (128, 100_000, 123.0),
    (512, 100_000, 219.0),
    (1000, 100_000, 115.0),
    (4096, 100_000, 1115.0),
    (16_384, 10_000, 4194.0),
    (180_000, 4000, 16_708.5),
)


@pytest.mark.parametrize(("payload", "keys", "over"), MEASURED)
def test_a_data_set_takes_no_more_than_its_bound_and_not_much_less(
    payload: int, keys: int, over: float
) -> None:
    bound = redis_sizing.dataset_bytes(key_count=keys, payload_bytes=payload)
    measured = keys * (payload + over)
    assert measured <= bound
    assert bound - measured <= keys * 50


@pytest.mark.parametrize(
    ("size", "given"),
    [
        *((1, 16), (16, 16), (17, 32), (128, 128), (129, 160), (160, 160), (1025, 1280)),
        *((180_018, 196_608), (196_608, 196_608), (196_609, 229_376), (2**20, 2**20)),
    ],
)
def test_sizes_of_the_allocator(size: int, given: int) -> None:
    assert redis_sizing.allocated_bytes(size) == given


def test_no_keys_take_nothing() -> None:
    assert redis_sizing.dataset_bytes(key_count=0, payload_bytes=1000) == 0


def test_longer_names_take_more() -> None:
    short, long = (
        redis_sizing.dataset_bytes(key_count=1000, payload_bytes=100, key_name_bytes=length)
        for length in (16, 116)
    )
    assert long - short == 100_000


def test_the_published_keys_with_the_published_payload_take_69_gib() -> None:
    size = redis_sizing.dataset_bytes(key_count=375_795, payload_bytes=180_000)
    assert size / GIB == pytest.approx(68.9, abs=0.5)


def need_of(**changes: float) -> redis_sizing.MemoryNeed:
    asked: dict[str, float] = {
        "key_count": 10_000,
        "payload_bytes": 1000,
        "client_count": 20,
        "pipeline_count": 1,
        "forks": True,
        "write_bytes_per_s": 1e6,
        "fork_s": 2.0,
    }
    return redis_sizing.memory_need(**asked | changes)  # type: ignore[arg-type]  # names and types are those of the function


def test_a_fork_copies_what_is_overwritten_and_never_more_than_there_is() -> None:
    assert need_of().copied_bytes == 2_000_000
    assert need_of(fork_s=1e6).copied_bytes == need_of().dataset_bytes
    assert need_of(forks=False).copied_bytes == 0


def test_memory_adds_up() -> None:
    need = need_of(pipeline_count=10)
    assert need.clients_bytes == 20 * 4 * 10 * 1048
    assert need.log_buffer_bytes == 2_000_000
    assert need.total_bytes == need.limit_bytes + need.copied_bytes + need.log_buffer_bytes
    assert need.limit_bytes > need.dataset_bytes + need.clients_bytes


def test_a_log_has_more_than_the_values() -> None:
    # 20,000 SETs of redis-benchmark with 180,000 bytes came to 3,600,9xx,xxx bytes.
    logged = redis_sizing.logged_bytes(write_count=20_000, payload_bytes=180_000)
    assert 3_600_950_010 <= logged < 3_602_000_000


def disk_of(**changes: float) -> redis_sizing.DiskNeed:
    asked: dict[str, float] = {
        "file_bytes": GIB,
        "write_bytes_per_s": 100e6,
        "duration_s": 60.0,
        "rewrite_s": 10.0,
        "has_log": True,
        "has_snapshots": False,
    }
    return redis_sizing.disk_need(**asked | changes)  # type: ignore[arg-type]  # as above


def test_a_log_that_is_never_rewritten_keeps_every_write() -> None:
    need = disk_of(rewrite_growth_percent=0)
    assert need.total_bytes == GIB + 6_000_000_000


def test_a_rewrite_has_the_old_log_the_new_base_and_what_comes_meanwhile() -> None:
    need = disk_of()
    assert need.old_log_bytes == 2 * GIB + 10_000_000
    assert need.new_base_bytes == GIB
    assert need.new_log_bytes == 1_010_000_000
    assert need.snapshot_bytes == 0


def test_a_log_below_its_threshold_is_not_rewritten() -> None:
    need = disk_of(duration_s=1.0)
    assert need.total_bytes == GIB + 100_000_000


def test_an_empty_server_rewrites_at_the_least_size() -> None:
    need = disk_of(file_bytes=180_000, write_bytes_per_s=900e6, rewrite_s=0.0)
    # At 900 MB/s 90 MB come between two looks of the server.
    assert need.old_log_bytes == 64 * 1024**2 + 90_000_000
    # The largest log of 20,000 such SETs, looked at after the load: 165 MB.
    assert need.total_bytes > 165_000_000


def test_a_rewrite_takes_no_longer_than_the_load() -> None:
    assert disk_of(rewrite_s=1e6).new_log_bytes == 6_000_000_000


def test_snapshots_stand_beside_their_successor() -> None:
    assert disk_of(has_log=False).total_bytes == 0
    assert disk_of(has_log=False, has_snapshots=True).total_bytes == 2 * GIB
    assert disk_of(has_snapshots=True).snapshot_bytes == 2 * GIB
