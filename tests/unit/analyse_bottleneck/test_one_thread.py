"""Servers with one thread for all clients: what holds them back is where that thread is."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from groundspeed.analyse.bottleneck import diagnose
from groundspeed.analyse.diagnosis import Bottleneck, Confidence
from groundspeed.plan import REQUESTS
from groundspeed.record import Series
from groundspeed.record.evidence import (
    EventKind,
    LogSync,
    PersistenceWork,
    ServerEvent,
    ServingWork,
)
from groundspeed.record.machine import NetworkWork
from tests.unit.analyse_bottleneck import scenes
from tests.unit.analyse_bottleneck.scenes import MIB, Case
from tests.unit.analyse_bottleneck.test_named import assert_named, profile_with, value_of

EACH_WRITE = PersistenceWork(log_sync=LogSync.EACH_WRITE, log_bytes=2 * MIB)
EACH_SECOND = PersistenceWork(log_sync=LogSync.EACH_SECOND, log_bytes=500 * MIB)
NARROW = profile_with({"of": "bytes", "on": "write", "rate_per_s": 100e6})
FULL = {
    "write_request_bytes": 495_000_000,
    "read_request_bytes": 0,
    "throttled_s": 200.0,
    "sync_waited_s": 4.0,
    "write_waited_s": 1.0,
}


def serving(**more: Any) -> ServingWork:  # noqa: ANN401 - fields of the struct
    facts = {"request_count": 5000, "main_busy_ratio": 0.1, "main_ready_ratio": 0.02}
    return ServingWork(**{**facts, "round_trip_s": 3e-5, **more})


def case(waits: dict[str, float], kept: PersistenceWork | None = None, **more: Any) -> Case:  # noqa: ANN401 - what a case takes
    """`waits` are shares of the thread's time."""
    facts = {"serving": serving(), "persistence": kept, "initial_connection_s": None}
    return Case(waits, **{**facts, **more})


# -- the log


def test_a_thread_that_syncs_before_each_answer_stalls() -> None:
    work = {"sync_waited_s": 4.6, "sync_call_count": 920, "write_waited_s": 0.0, "throttled_s": 0.0}
    found = case({"IO:Device": 0.92, "CPU:": 0.06}, EACH_WRITE, work=work, profile=profile_with())
    diagnosis = found.diagnosis()
    assert_named(diagnosis, Bottleneck.FSYNC_STALL, Confidence.SURE)
    assert value_of(diagnosis, "waits for the log") == pytest.approx(0.92)
    assert value_of(diagnosis, "one sync takes") == pytest.approx(0.005)
    assert value_of(diagnosis, "share one sync") == pytest.approx(5000 / 920)
    assert "syncs faster" in diagnosis.remedy


def test_so_it_does_on_a_real_disk() -> None:
    busy = scenes.disk(utilisation_ratio=0.97)
    found = case({"IO:LogSync": 0.9, "CPU:": 0.06}, EACH_WRITE, disk=busy).diagnosis()
    assert_named(found, Bottleneck.FSYNC_STALL, Confidence.SURE)


def test_a_sync_behind_the_answers_stalls_only_where_writes_wait_for_it() -> None:
    busy = scenes.disk(utilisation_ratio=0.97)
    waits = {"IO:LogWrite": 0.7, "CPU:": 0.2}
    delayed = msgspec.structs.replace(EACH_SECOND, delayed_sync_count=3)
    found = case(waits, delayed, disk=busy).diagnosis()
    assert found.bottleneck is Bottleneck.FSYNC_STALL
    assert value_of(found, "gave up") == 3
    assert "behind" not in found.remedy
    pending = msgspec.structs.replace(EACH_SECOND, pending_sync_s=4.0)
    assert case(waits, pending, disk=busy).diagnosis().bottleneck is Bottleneck.FSYNC_STALL
    assert case(waits, EACH_SECOND, disk=busy).diagnosis().bottleneck is Bottleneck.WRITE_BANDWIDTH
    wide = scenes.disk(utilisation_ratio=0.97, writes_per_s=400, write_bytes_per_s=200e6)
    assert case(waits, delayed, disk=wide).diagnosis().bottleneck is Bottleneck.WRITE_BANDWIDTH


# -- the device


@pytest.mark.parametrize("kept", [EACH_WRITE, EACH_SECOND])
def test_a_device_that_is_full_of_writes(kept: PersistenceWork) -> None:
    found = case({"IO:Device": 0.7, "CPU:": 0.2}, kept, work=FULL, profile=NARROW).diagnosis()
    assert_named(found, Bottleneck.WRITE_BANDWIDTH, Confidence.SURE)
    assert value_of(found, "of the device's limit") == pytest.approx(99e6)
    assert "snapshots" in found.remedy


def test_standing_in_line_for_a_core_hides_no_full_device() -> None:
    """The device works on meanwhile: without it nothing would be faster."""
    waits = {"IO:Device": 0.35, "CPU:": 0.65}
    starved = serving(main_busy_ratio=0.1, main_ready_ratio=0.55)
    found = case(waits, EACH_SECOND, serving=starved, work=FULL, profile=NARROW).diagnosis()
    assert found.bottleneck is Bottleneck.WRITE_BANDWIDTH
    idle = {**FULL, "write_request_bytes": 50_000_000}
    found = case(waits, EACH_SECOND, serving=starved, work=idle, profile=NARROW).diagnosis()
    assert found.bottleneck is not Bottleneck.WRITE_BANDWIDTH


# -- work beside the device

BUSY = serving(main_busy_ratio=0.9, main_ready_ratio=0.02, received_bytes=500 * MIB)
# Of its time the thread is at work, in half of that while its log is held back.
AT_WORK = {"CPU:": 0.44, "CPU:LogHeld": 0.46, "IO:Device": 0.06}


def beside(waits: dict[str, float], used_ratio: float, **more: Any) -> Case:  # noqa: ANN401 - what a case takes
    """A thread on a device of 100 MB/s that writes so much of it."""
    work = {**FULL, "write_request_bytes": round(used_ratio * 100e6 * scenes.ELAPSED_S)}
    facts = {"serving": BUSY, "work": work, "profile": NARROW, **more}
    return case(waits, facts.pop("persistence", EACH_SECOND), **facts)


def test_work_on_a_log_that_a_full_device_holds_back_is_the_devices() -> None:
    found = beside(AT_WORK, 0.92).diagnosis()
    assert_named(found, Bottleneck.WRITE_BANDWIDTH, Confidence.SURE)
    assert value_of(found, "of the device's limit") == pytest.approx(92e6)
    # A thread that took no time at all would gain 8%.
    assert value_of(found, "or works held back") == pytest.approx(0.88, abs=0.02)
    assert value_of(found, "it waits") == pytest.approx(0.06, abs=0.02)
    assert Bottleneck.SINGLE_THREAD not in found.others


@pytest.mark.parametrize("used_ratio", [0.0, 0.1, 0.5, 0.6])
def test_a_device_that_is_half_used_leaves_the_thread_to_blame(used_ratio: float) -> None:
    found = beside(AT_WORK, used_ratio).diagnosis()
    assert_named(found, Bottleneck.SINGLE_THREAD, Confidence.SURE)
    assert value_of(found, "at work or ready to be") == pytest.approx(0.9, abs=0.02)


def test_between_half_used_and_full_it_is_a_matter_of_degree() -> None:
    parts = [
        value_of(beside({**AT_WORK, "IO:Device": 0.1}, used).diagnosis(), "or works held back")
        for used in (0.78, 0.82, 0.86)
    ]
    assert parts == sorted(parts)
    assert parts[0] < parts[2]


def test_a_full_device_that_the_thread_does_not_feel_is_not_what_it_lacks() -> None:
    """It empties the page cache behind a thread that has all the work it can do."""
    found = beside({"CPU:": 0.98}, 0.99).diagnosis()
    assert_named(found, Bottleneck.SINGLE_THREAD, Confidence.SURE)


def test_a_device_full_of_snapshots_is_not_full_of_the_log() -> None:
    little = msgspec.structs.replace(EACH_SECOND, log_bytes=20 * MIB)
    sent = serving(main_busy_ratio=0.95, received_bytes=20 * MIB)
    found = beside(AT_WORK, 0.99, persistence=little, serving=sent).diagnosis()
    assert found.bottleneck is Bottleneck.SINGLE_THREAD
    no_log = PersistenceWork(log_sync=LogSync.NO_LOG, fork_count=1, snapshot_s=5.0)
    found = beside({"CPU:": 0.95}, 0.99, persistence=no_log, serving=BUSY).diagnosis()
    assert found.bottleneck is Bottleneck.SINGLE_THREAD


def linked(link_bytes_per_s: float, **more: object) -> str:
    """JSON of a device with replicas behind a link, one of them on this side of it."""
    data = json.loads(profile_with())
    trip = {"median_s": 0.0, "p99_s": 0.0}
    data["replication"] = {
        "replicas_count": 2,
        "acknowledge_count": 2,
        "round_trip": trip,
        "one_is_local": True,
        "link_bytes_per_s": link_bytes_per_s,
        **more,
    }
    return json.dumps(data)


def test_a_full_link_to_the_replicas_is_a_full_device() -> None:
    found = beside(AT_WORK, 0.92, profile=linked(100e6)).diagnosis()
    assert_named(found, Bottleneck.WRITE_BANDWIDTH, Confidence.SURE)
    assert value_of(found, "of the link to its replicas") == pytest.approx(92e6)
    wide = beside(AT_WORK, 0.92, profile=linked(1000e6)).diagnosis()
    assert wide.bottleneck is Bottleneck.SINGLE_THREAD
    # Each remote replica gets its copy over the same link.
    three = linked(200e6, replicas_count=3, acknowledge_count=3)
    found = beside(AT_WORK, 0.92, profile=three).diagnosis()
    assert found.bottleneck is Bottleneck.WRITE_BANDWIDTH
    assert value_of(found, "of the link to its replicas") == pytest.approx(184e6)


def test_what_is_read_from_remote_replicas_passes_the_link_too() -> None:
    work = {**FULL, "write_request_bytes": 0, "read_request_bytes": 980_000_000}
    work |= {"read_waited_s": 36.0, "sync_waited_s": 0.0, "write_waited_s": 0.0}
    waits = {"IO:DataFileRead": 0.9, "CPU:": 0.05}
    for reads, named in (("spread", True), ("local", False)):
        profile = linked(100e6, reads=reads)
        found = Case({k: 8 * v for k, v in waits.items()}, work=work, profile=profile).diagnosis()
        assert found.bottleneck is Bottleneck.READ_IO
        assert any("of the link" in clue.name for clue in found.clues) is named


def test_a_real_disk_full_of_the_log_has_the_work_beside_it() -> None:
    full = scenes.disk(utilisation_ratio=0.97, writes_per_s=400, write_bytes_per_s=100e6)
    found = case(AT_WORK, EACH_SECOND, serving=BUSY, disk=full).diagnosis()
    assert found.bottleneck is Bottleneck.WRITE_BANDWIDTH
    others = scenes.disk(utilisation_ratio=0.97, writes_per_s=1600, write_bytes_per_s=400e6)
    found = case(AT_WORK, EACH_SECOND, serving=BUSY, disk=others).diagnosis()
    assert found.bottleneck is Bottleneck.SINGLE_THREAD


def test_without_samples_syncs_in_the_background_tell_what_is_held_back() -> None:
    pending = msgspec.structs.replace(EACH_SECOND, pending_sync_s=4.0)
    found = beside({}, 0.92, persistence=pending, samples=0).diagnosis()
    assert found.bottleneck is Bottleneck.WRITE_BANDWIDTH
    found = beside({}, 0.92, samples=0).diagnosis()
    assert found.bottleneck is Bottleneck.SINGLE_THREAD


# -- children


def seconds_of(*rates: float) -> Series:
    indices = tuple(float(index) for index in range(len(rates)))
    return Series(columns=("second_index", "requests_per_s"), values=(indices, rates))


SNAPSHOT = ServerEvent(kind=EventKind.SNAPSHOT, at_s=3.5, elapsed_s=6.0)


def test_fewer_answers_while_a_snapshot_is_written() -> None:
    kept = msgspec.structs.replace(
        EACH_WRITE, fork_count=1, fork_s=0.02, longest_fork_s=0.02, snapshot_s=6.0
    )
    series = seconds_of(1000, 1000, 1000, 1000, 100, 100, 100, 100, 100, 100)
    found = case({"CPU:": 0.9}, kept, events=(SNAPSHOT,), series=series).diagnosis()
    assert_named(found, Bottleneck.FORK, Confidence.LIKELY)
    assert value_of(found, "of throughput is lost") == pytest.approx(1 - 460 / 1000)
    assert Bottleneck.SINGLE_THREAD in found.others


def test_a_snapshot_that_costs_nothing_is_not_named() -> None:
    kept = msgspec.structs.replace(EACH_WRITE, fork_count=1, fork_s=0.001, snapshot_s=6.0)
    series = seconds_of(*[1000.0] * 10)
    found = case({"CPU:": 0.9}, kept, events=(SNAPSHOT,), series=series).diagnosis()
    assert Bottleneck.FORK not in {found.bottleneck, *found.others}


def test_a_child_that_fills_the_device_is_what_fills_it() -> None:
    kept = msgspec.structs.replace(EACH_WRITE, fork_count=3, fork_s=0.02, snapshot_s=4.0)
    found = case({"IO:Device": 0.7, "CPU:": 0.2}, kept, work=FULL, profile=NARROW).diagnosis()
    assert found.bottleneck is Bottleneck.FORK
    assert value_of(found, "of all that is written") > 0.9
    assert Bottleneck.WRITE_BANDWIDTH in found.others
    waits = {"IO:Device": 0.7, "CPU:": 0.2}
    logged = msgspec.structs.replace(kept, log_bytes=480_000_000)
    found = case(waits, logged, work=FULL, profile=NARROW).diagnosis()
    assert found.bottleneck is Bottleneck.WRITE_BANDWIDTH
    # Of a log that was written anew all the time what clients sent is known.
    unknown = msgspec.structs.replace(kept, log_bytes=None)
    sent = serving(received_bytes=480_000_000)
    found = case(waits, unknown, serving=sent, work=FULL, profile=NARROW).diagnosis()
    assert found.bottleneck is Bottleneck.WRITE_BANDWIDTH


# -- processors and the load


def test_one_thread_with_a_core_of_its_own_and_cores_to_spare() -> None:
    busy = serving(main_busy_ratio=0.97, main_ready_ratio=0.01)
    cpu = scenes.cpu(server_cpu_count=1.0)
    found = case({"CPU:": 0.98}, serving=busy, cpu=cpu).diagnosis()
    assert_named(found, Bottleneck.SINGLE_THREAD, Confidence.SURE)
    assert value_of(found, "of one core is what") == 0.97
    assert "more cores do not help" in found.remedy


def test_one_thread_that_others_keep_from_its_core_wants_cores() -> None:
    starved = serving(main_busy_ratio=0.4, main_ready_ratio=0.55)
    cpu = scenes.cpu(server_cpu_count=0.4, idle_ratio=0.0, io_wait_ratio=0.0, other_cpu_count=7.0)
    found = case({"CPU:": 0.95}, serving=starved, cpu=cpu).diagnosis()
    assert found.bottleneck is Bottleneck.CPU
    assert value_of(found, "waits for a core") == 0.55


def test_a_thread_that_waits_for_a_load_tool_at_its_end() -> None:
    cpu = scenes.cpu(server_cpu_count=0.2, load_cpu_count=1.0, load_thread_ratio=0.99)
    found = case({"CPU:": 0.2}, cpu=cpu).diagnosis()
    assert_named(found, Bottleneck.CLIENT, Confidence.SURE)
    assert "load tool" in found.remedy
    assert "pgbench" not in found.remedy


def test_a_long_way_is_told_from_a_busy_load_tool() -> None:
    far = serving(main_busy_ratio=0.05, round_trip_s=0.008)
    network = NetworkWork(interface="eth0", received_bytes_per_s=1e5, sent_bytes_per_s=1e5)
    found = case({"CPU:": 0.05}, serving=far, network=network).diagnosis()
    assert found.bottleneck is Bottleneck.NETWORK


def test_clients_that_hide_time_connect_only_where_connections_were_made() -> None:
    """A load tool without a time to connect is no sign of it by itself."""
    for new, expected in ((0, False), (5000, True)):
        found = case({"CPU:": 0.2}, serving=serving(new_client_count=new), latency_s=0.004)
        names = {found.diagnosis().bottleneck, *found.diagnosis().others}
        assert (Bottleneck.CONNECTION in names) is expected


# -- less evidence


def test_without_samples_counters_tell() -> None:
    work = {"sync_waited_s": 4.4, "sync_call_count": 880, "write_waited_s": 0.0, "throttled_s": 0.0}
    found = case({}, EACH_WRITE, samples=0, work=work, profile=profile_with()).diagnosis()
    assert found.bottleneck is Bottleneck.FSYNC_STALL
    busy = serving(main_busy_ratio=0.98, main_ready_ratio=None)
    found = case({}, serving=busy, samples=0).diagnosis()
    assert found.bottleneck is Bottleneck.SINGLE_THREAD


def test_nothing_speaks_of_transactions() -> None:
    record = case({"CPU:": 0.3}).record()
    record = msgspec.structs.replace(
        record, provenance=msgspec.structs.replace(record.provenance, tool="loader")
    )
    found = diagnose(record, series=Series(), course=scenes.course(), words=REQUESTS)
    told = " ".join(f"{clue.name} {clue.source}" for clue in found.clues)
    assert "transaction" not in told
    assert "pgbench" not in told
