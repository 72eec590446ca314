"""Bottlenecks provoked on a real redis-server: each is named, by figures of its own."""

from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.analyse.diagnosis import Bottleneck
from groundspeed.errors import TargetError
from groundspeed.targets import emulation
from tests.server.provoked import confusion
from tests.server.provoked.cases import FAST, device
from tests.server.provoked.serving import CLI, LOAD, SERVER, Serving, provoke_serving, serve

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.provoked.driving import Provoked
    from tests.small_runs import Place

CLIENTS = 20
WIDE_BYTES = 180_000
# So that dirty pages hold less than two seconds of writes.
LITTLE_CACHE_BYTES = 128 * 1024**2
KEYS = 300_000
FILL = "for i = ARGV[1], ARGV[2] do redis.call('SET', 'k' .. i, string.rep('x', 300) .. i) end"
CALM_S = 4.0
WIDE = ("-t", "set", "-d", str(WIDE_BYTES))
ALWAYS = {"appendonly": "yes", "appendfsync": "always", "auto-aof-rewrite-percentage": 0}
EACH_SECOND = {**ALWAYS, "appendfsync": "everysec"}
SLOW_SYNC = device(**{**FAST, "sync": "5ms"})
NARROW = device(**FAST, limits=[{"of": "bytes", "direction": "write", "rate": "100MB/s"}])
NARROWER = device(**FAST, limits=[{"of": "bytes", "direction": "write", "rate": "30MB/s"}])
# Two copies of each write, one of them behind a link of 40 MB/s.
LINKED = {
    **device(**FAST),
    "replication": {
        "replicas": 2,
        "acknowledge": "all",
        "round_trip": "200us",
        "one_is_local": True,
        "link": "320Mbit/s",
    },
}
# Work before each write, so that the thread is at work and the device is not.
HEAVY = "for i = 1, 50000 do KEYS[2] = i end return redis.call('SET', KEYS[1], ARGV[1])"
HEAVY_BYTES = 20_000


@pytest.fixture(autouse=True)
def _built(place: Place) -> None:
    assert place.state
    for program in (SERVER, LOAD, CLI):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on this machine")
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)


def assert_named(found: Provoked, *expected: Bottleneck) -> None:
    """It is named, whatever else takes the processors meanwhile, and by figures of its own."""
    diagnosis = found.diagnosis
    assert diagnosis.bottleneck in expected, confusion.story(found)
    assert len(diagnosis.clues) == 3
    assert all(clue.source for clue in diagnosis.clues)
    assert diagnosis.remedy


def test_a_slow_sync_before_each_answer_is_a_stall() -> None:
    with serve(ALWAYS, SLOW_SYNC) as serving:
        found = provoke_serving(serving, ["-t", "set", "-d", "100"], clients=CLIENTS, duration_s=4)
    assert_named(found, Bottleneck.FSYNC_STALL)


def test_wide_values_on_a_narrow_device_fill_it() -> None:
    with serve(ALWAYS, NARROW) as serving:
        found = provoke_serving(serving, WIDE, clients=CLIENTS, duration_s=6)
    assert_named(found, Bottleneck.WRITE_BANDWIDTH)


def test_so_they_do_where_the_log_is_synced_behind_the_answers() -> None:
    with serve(EACH_SECOND, NARROWER, cache_bytes=LITTLE_CACHE_BYTES) as serving:
        found = provoke_serving(serving, WIDE, clients=CLIENTS, duration_s=8)
    assert_named(found, Bottleneck.WRITE_BANDWIDTH)


def test_a_full_link_to_the_replicas_is_a_full_device() -> None:
    with serve(EACH_SECOND, LINKED, cache_bytes=LITTLE_CACHE_BYTES) as serving:
        found = provoke_serving(serving, WIDE, clients=CLIENTS, duration_s=6)
    assert_named(found, Bottleneck.WRITE_BANDWIDTH)
    assert "of the link" in found.diagnosis.clues[0].name


def test_a_device_is_named_where_it_is_full_and_not_where_it_is_half_used() -> None:
    """The same work on three devices; how much it writes is measured on one without a limit."""
    load = ["EVAL", HEAVY, "2", "key", "other", "x" * HEAVY_BYTES]

    def on(profile: dict[str, Any]) -> Provoked:
        with serve(EACH_SECOND, profile, cache_bytes=LITTLE_CACHE_BYTES) as serving:
            return provoke_serving(serving, load, clients=CLIENTS, duration_s=6)

    free = on(device(**FAST))
    assert_named(free, Bottleneck.SINGLE_THREAD, Bottleneck.CPU)
    logged_per_s = logged_bytes_per_s(free)
    half, full = (limited(logged_per_s * part) for part in (2.0, 0.3))
    assert_named(on(half), Bottleneck.SINGLE_THREAD, Bottleneck.CPU)
    assert_named(on(full), Bottleneck.WRITE_BANDWIDTH)


def logged_bytes_per_s(found: Provoked) -> float:
    """What clients sent in a second, all of which is logged."""
    evidence = found.record.evidence
    assert evidence is not None
    assert evidence.serving is not None
    assert evidence.serving.received_bytes
    return evidence.serving.received_bytes / evidence.elapsed_s


def limited(bytes_per_s: float) -> dict[str, Any]:
    """A fast device that takes so much and no more."""
    rate = f"{bytes_per_s / 1024:.0f}KiB/s"
    return device(**FAST, limits=[{"of": "bytes", "direction": "write", "rate": rate}])


def test_small_reads_sent_several_at_once_fill_one_thread() -> None:
    with serve({}) as serving:
        load = ["-t", "get", "-d", "3", "-P", "32"]
        found = provoke_serving(serving, load, clients=CLIENTS, duration_s=4)
    # Where others take half of that core it is no more the thread that is too few.
    assert_named(found, Bottleneck.SINGLE_THREAD, Bottleneck.CPU)


def test_a_child_that_writes_all_data_again_and_again_is_named() -> None:
    with serve({**ALWAYS, "rdbcompression": "no"}, NARROWER) as serving:
        fill(serving)
        found = provoke_serving(
            serving,
            ["-t", "set", "-d", "100"],
            clients=8,
            duration_s=CALM_S + 14,
            meanwhile=snapshots_after(serving, CALM_S),
        )
    assert_named(found, Bottleneck.FORK)


def fill(serving: Serving) -> None:
    """Put in so much that a snapshot takes seconds."""
    for first in range(0, KEYS, KEYS // 10):
        serving.ask("EVAL", FILL, "0", str(first), str(first + KEYS // 10 - 1))
    assert f"keys={KEYS}" in serving.ask("INFO", "keyspace")


def snapshots_after(serving: Serving, calm_s: float) -> Callable[[], None]:
    """Ask for one snapshot after the other, once it has been calm for a while."""
    begun_s = time.monotonic()

    def ask() -> None:
        if time.monotonic() - begun_s > calm_s:
            # Refused while one is under way.
            serving.ask("BGSAVE")

    return ask
