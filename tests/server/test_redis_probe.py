"""The probe of a Redis against a real server: what it sees, what it is refused, what it costs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.probes.redis import RedisSampler
from groundspeed.probes.watching import ProcessWatcher
from groundspeed.record.evidence import EventKind, LogSync, ProbeLevel
from tests.server.provoked.serving import CLI, LOAD, SERVER, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.server.provoked.serving import Serving

LOGGED = {"appendonly": "yes", "appendfsync": "everysec", "latency-monitor-threshold": "1"}
PASSWORD = "open-sesame"


@pytest.fixture(autouse=True)
def _installed() -> None:
    for program in (SERVER, LOAD, CLI):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not on this machine")


@pytest.fixture
def serving() -> Iterator[Serving]:
    with serve(LOGGED) as running:
        yield running


def points(serving: Serving, **more: Any) -> WatchPoints:  # noqa: ANN401 - fields of the struct
    facts = {
        "conninfo": serving.url,
        "password": None,
        "groundspeed_pid": os.getpid(),
        "load_program": LOAD,
        "server_pid": serving.pid,
        "engine": "redis",
    }
    return WatchPoints(**{**facts, **more})


def fill(serving: Serving, count: int = 1000) -> None:
    """Write so many values and be done."""
    subprocess.run(
        [LOAD, "-s", serving.socket, "-t", "set", "-n", str(count), "-c", "4", "-q"],
        check=True,
        capture_output=True,
    )


def absent(part: Any) -> dict[str, str]:  # noqa: ANN401 - a part, or evidence
    return {one.what: one.reason for one in part.absent}


def test_what_was_served_and_kept_is_told(serving: Serving) -> None:
    sampler = RedisSampler(points(serving))
    try:
        fill(serving)
        sampler.begin()
        fill(serving, 5000)
        sampler.tick()
        first = sampler.second()
        serving.ask("EVAL", "local t=0 for i=1,3e6 do t=t+i end return t", "0")
        serving.ask("BGSAVE")
        serving.until(lambda: "rdb_bgsave_in_progress:0" in serving.ask("INFO", "persistence"))
        sampler.second()
        part = sampler.end()
    finally:
        sampler.close()
    served, kept = part.serving, part.persistence
    assert served is not None
    assert kept is not None
    assert served.request_count is not None
    # Besides the load: what redis-cli and redis-benchmark ask by themselves.
    assert 5000 <= served.request_count < 5400
    assert first["requests_per_s"] is not None
    assert first["requests_per_s"] > 0
    assert served.main_busy_ratio is not None
    assert 0 < served.main_busy_ratio <= 1
    assert served.slow_count is not None
    assert served.slow_count >= 1
    assert "command" in {delay.name for delay in served.delays}
    assert served.round_trip_s is not None
    assert kept.log_sync is LogSync.EACH_SECOND
    assert kept.log_bytes is not None
    assert kept.log_bytes > 5000 * 30
    assert kept.fork_count == 1
    assert EventKind.SNAPSHOT in {event.kind for event in part.events}
    assert part.activity_sample_count == 1
    assert absent(part) == {}


def test_a_second_trial_begins_with_nothing(serving: Serving) -> None:
    sampler = RedisSampler(points(serving))
    try:
        for _ in range(2):
            sampler.begin()
            fill(serving)
            sampler.second()
            part = sampler.end()
            assert part.serving is not None
            assert part.serving.request_count is not None
            assert 1000 <= part.serving.request_count < 1400
    finally:
        sampler.close()


def test_without_a_latency_monitor_that_is_said() -> None:
    with serve({}) as running:
        sampler = RedisSampler(points(running))
        sampler.begin()
        part = sampler.end()
        sampler.close()
    assert absent(part).keys() == {"latency-monitor"}
    assert part.persistence is not None
    assert part.persistence.log_sync is LogSync.NO_LOG


def test_what_a_user_may_not_ask_is_absent_and_the_rest_is_there(serving: Serving) -> None:
    serving.ask("ACL", "SETUSER", "watcher", "on", f">{PASSWORD}", "+ping", "+info", "~*")
    url = serving.url.replace("unix://", "unix://watcher@")
    sampler = RedisSampler(points(serving, conninfo=url, password=PASSWORD))
    try:
        sampler.begin()
        fill(serving)
        sampler.second()
        part = sampler.end()
    finally:
        sampler.close()
    assert part.serving is not None
    assert part.serving.request_count
    assert absent(part).keys() == {"server-settings", "slow-log", "latency-monitor"}
    assert "NOPERM" in absent(part)["slow-log"]
    assert part.serving.slow_count is None


def test_a_user_who_may_ask_nothing_still_gets_the_thread(serving: Serving) -> None:
    serving.ask("ACL", "SETUSER", "blind", "on", f">{PASSWORD}", "~*")
    url = serving.url.replace("unix://", "unix://blind@")
    sampler = RedisSampler(points(serving, conninfo=url, password=PASSWORD))
    try:
        sampler.begin()
        sampler.tick()
        columns = sampler.second()
        part = sampler.end()
    finally:
        sampler.close()
    assert part.serving is None
    assert part.persistence is None
    assert columns["main_busy_ratio"] is not None
    assert columns["requests_per_s"] is None
    assert "server-counters" in absent(part)
    assert PASSWORD not in str(part)


def test_a_wrong_password_is_told_without_it(serving: Serving) -> None:
    serving.ask("CONFIG", "SET", "requirepass", "another")
    with pytest.raises(TargetError, match="cannot connect") as caught:
        RedisSampler(points(serving, password=PASSWORD))
    assert PASSWORD not in caught.value.message


def test_a_server_elsewhere_has_no_thread_to_look_at(serving: Serving) -> None:
    sampler = RedisSampler(points(serving, server_pid=None))
    try:
        sampler.begin()
        sampler.tick()
        fill(serving)
        sampler.second()
        part = sampler.end()
    finally:
        sampler.close()
    assert absent(part) == {"serving-thread": "the server runs elsewhere"}
    assert (part.wait_source, part.activity_sample_count) == (None, 0)
    # The server itself counts what its thread ran.
    assert part.serving is not None
    assert part.serving.main_busy_ratio is not None


def test_a_server_that_dies_is_told_and_nothing_is_raised() -> None:
    with ExitStack() as stack:
        running = stack.enter_context(serve({}))
        sampler = RedisSampler(points(running))
        stack.callback(sampler.close)
        sampler.begin()
        running.ask("SHUTDOWN", "NOSAVE")
        sampler.tick()
        sampler.second()
        part = sampler.end()
    assert "server was gone" in absent(part)["server"]


def test_a_stuck_server_holds_up_nobody(serving: Serving) -> None:
    """While it answers nobody the thread is still looked at, and the answer is taken later."""
    sampler = RedisSampler(points(serving))
    stuck = subprocess.Popen(
        [CLI, "-s", serving.socket, "EVAL", "local t=0 for i=1,3e8 do t=t+i end return t", "0"],
        stdout=subprocess.DEVNULL,
    )
    try:
        sampler.begin()
        begun_s = time.monotonic()
        serving.until(
            lambda: sampler.second()["requests_per_s"] is None or stuck.poll() is not None
        )
        for _ in range(10):
            sampler.tick()
        assert time.monotonic() - begun_s < 20
        serving.until(lambda: stuck.poll() is not None)
        part = sampler.end()
    finally:
        stuck.kill()
        stuck.wait()
        sampler.close()
    assert part.serving is not None
    assert part.activity_sample_count == 10


def test_the_probe_process_watches_it(serving: Serving) -> None:
    watch = ProcessWatcher(ProbeLevel.FULL, patience_s=60.0).open(points(serving))
    assert watch is not None
    try:
        watch.begin()
        deadline_s = time.monotonic() + 3
        while time.monotonic() < deadline_s:
            fill(serving, 200)
        seen = watch.end()
    finally:
        watch.close()
    evidence = seen.evidence
    assert evidence.postgres is None
    assert evidence.serving is not None
    assert evidence.host is not None
    assert evidence.host.cpu.server_cpu_count is not None
    assert any(seen.series.column("requests_per_s"))
    (asked,) = (cost for cost in evidence.costs if cost.probe == "server")
    # One INFO a second, and the one that everything is reckoned from.
    assert asked.call_count <= len(seen.series.column("second_index")) + 2
