"""Each bottleneck is named from evidence that shows it, and told by figures and a remedy."""

from __future__ import annotations

import json

import msgspec
import pytest

from groundspeed.analyse.bottleneck import diagnose
from groundspeed.analyse.diagnosis import Bottleneck, Confidence, Diagnosis, Stall, Step
from groundspeed.record import Failed, Series
from groundspeed.record.evidence import EventKind, ServerEvent, WaitGroup
from groundspeed.record.machine import GroupWork, NetworkWork
from groundspeed.storage import catalogue
from groundspeed.storage.encode import encode_json
from tests.examples import make_record, make_trial
from tests.unit.analyse_bottleneck import scenes
from tests.unit.analyse_bottleneck.scenes import MIB, Case

SLOW_SYNC = {"IO:WalSync": 0.95, "LWLock:WALWrite": 6.0, "CPU:": 0.4}
READS = {"IO:DataFileRead": 6.5, "CPU:": 0.8}


def profile_with(*limits: dict[str, object]) -> str:
    """JSON of a device with these limits."""
    data = json.loads(encode_json(catalogue.profile("null")))
    data["device"]["limits"] = list(limits)
    return json.dumps(data)


def value_of(diagnosis: Diagnosis, name: str) -> float:
    (clue,) = [c for c in diagnosis.clues if name in c.name]
    return clue.value


def assert_named(diagnosis: Diagnosis, bottleneck: Bottleneck, confidence: Confidence) -> None:
    assert (diagnosis.bottleneck, diagnosis.confidence) == (bottleneck, confidence), diagnosis
    assert len(diagnosis.clues) == 3
    assert all(clue.source and clue.name for clue in diagnosis.clues)
    assert bottleneck not in diagnosis.others


# -- the log


def test_commits_that_wait_for_the_log_of_a_slow_device() -> None:
    work = {"sync_waited_s": 4.7, "sync_call_count": 470, "throttled_s": 0.0}
    found = Case(SLOW_SYNC, work=work, profile=profile_with()).diagnosis()
    assert_named(found, Bottleneck.WAL_SYNC, Confidence.SURE)
    # The line behind the one that syncs waits for the sync, not for a lock of the server's.
    assert Bottleneck.LOCK not in found.others
    assert value_of(found, "log to be written and synced") == pytest.approx(6.95 / 7.35, rel=0.01)
    assert value_of(found, "one sync takes") == pytest.approx(0.01)
    assert value_of(found, "share one sync") == pytest.approx(5000 / 470)
    assert "commit_delay" in found.remedy


@pytest.mark.parametrize("event", ["WALSync", "WalSync", "WALWrite", "WalWrite"])
def test_names_of_waits_of_all_versions(event: str) -> None:
    busy = scenes.disk(utilisation_ratio=0.97)
    found = Case({f"IO:{event}": 1.0, "LWLock:WALWrite": 6.0}, disk=busy).diagnosis()
    assert_named(found, Bottleneck.WAL_SYNC, Confidence.SURE)


def test_one_client_has_nobody_to_share_a_sync_with() -> None:
    case = Case({"IO:WalSync": 0.9}, disk=scenes.disk(utilisation_ratio=0.9))
    case.trial = {"clients": 1}
    found = case.diagnosis()
    assert found.bottleneck is Bottleneck.WAL_SYNC
    assert "more clients" in found.remedy


def test_a_log_in_memory_is_no_slow_device_however_many_stand_in_line() -> None:
    """Preempted inside of the call, a process seems to wait for the log."""
    waits = {"IO:WalSync": 0.7, "LWLock:WALWrite": 4.5, "CPU:": 2.0}
    spent = scenes.cpu(idle_ratio=0.02, io_wait_ratio=0.0, server_cpu_count=6.5)
    found = Case(waits, disk=None, cpu=spent).diagnosis()
    assert_named(found, Bottleneck.CPU, Confidence.SURE)
    assert Bottleneck.WAL_SYNC not in found.others


def test_a_server_elsewhere_is_believed_its_waits() -> None:
    found = Case(SLOW_SYNC, has_host=False).diagnosis()
    assert_named(found, Bottleneck.WAL_SYNC, Confidence.LIKELY)


# -- reads and memory


def test_reads_that_wait_for_an_emulated_device() -> None:
    work = {"read_waited_s": 32.0, "read_request_count": 6400, "sync_waited_s": 0.0}
    case = Case(READS, work={**work, "throttled_s": 0.0}, profile=profile_with())
    case.sql(
        database=scenes.database(block_read_count=7000, block_hit_count=14_000),
        sizes=scenes.sizes(shared_buffers_bytes=16 * MIB),
    )
    found = case.diagnosis()
    assert_named(found, Bottleneck.READ_IO, Confidence.SURE)
    assert value_of(found, "one read takes") == pytest.approx(0.005)
    assert value_of(found, "reach the device") == pytest.approx(1280)


def test_reads_that_wait_for_a_real_disk() -> None:
    disk = scenes.disk(reads_per_s=1300.0, read_wait_s=0.005, depth_count=6.5)
    assert_named(Case(READS, disk=disk).diagnosis(), Bottleneck.READ_IO, Confidence.SURE)


def test_reads_that_the_page_cache_answers_are_a_lack_of_shared_buffers() -> None:
    case = Case(READS).sql(
        database=scenes.database(block_read_count=2_000_000, block_hit_count=1_000_000),
        sizes=scenes.sizes(shared_buffers_bytes=16 * MIB),
    )
    case.settings = (("shared_buffers", "2048", "8kB"),)
    found = case.diagnosis()
    assert_named(found, Bottleneck.MEMORY, Confidence.SURE)
    assert value_of(found, "in shared buffers") == pytest.approx(1 / 3)
    assert value_of(found, "times shared buffers") == pytest.approx(10)
    assert "(now 16MB)" in found.remedy


def test_reads_of_an_emulated_page_cache_are_no_reads_of_a_device() -> None:
    work = {"read_waited_s": 0.0, "read_request_count": 0, "sync_waited_s": 0.0}
    case = Case(READS, work={**work, "write_waited_s": 0.0}, profile=profile_with())
    found = case.sql(sizes=scenes.sizes(shared_buffers_bytes=16 * MIB)).diagnosis()
    assert found.bottleneck is Bottleneck.MEMORY
    assert Bottleneck.READ_IO not in found.others


def test_reads_of_a_server_elsewhere_are_told_by_their_length() -> None:
    slow = scenes.database(block_read_count=1000, block_read_s=5.0)
    found = Case(READS, has_host=False).sql(database=slow).diagnosis()
    assert_named(found, Bottleneck.READ_IO, Confidence.SURE)
    untimed = scenes.database(block_read_count=1000, block_hit_count=1000)
    found = Case(READS, has_host=False).sql(database=untimed).diagnosis()
    assert_named(found, Bottleneck.READ_IO, Confidence.LIKELY)


def test_sorts_that_spill() -> None:
    work = scenes.database(temp_file_count=900, temp_bytes=900 * MIB)
    waits = {"IO:BuffileWrite": 3.5, "IO:BuffileRead": 2.0, "CPU:": 2.0}
    found = Case(waits, disk=None).sql(database=work).diagnosis()
    assert_named(found, Bottleneck.MEMORY, Confidence.SURE)
    assert "work_mem" in found.remedy


# -- limits


def test_a_device_at_its_requests_a_second() -> None:
    limit = {"of": "requests", "on": "both", "rate_per_s": 300.0}
    work = {
        "read_waited_s": 35.0,
        "sync_waited_s": 0.0,
        "read_request_count": 1490,
        "write_request_count": 5,
        "throttled_s": 34.0,
        "mean_depth_count": 7.2,
    }
    found = Case(READS, work=work, profile=profile_with(limit)).diagnosis()
    assert_named(found, Bottleneck.IOPS_CAPPED, Confidence.SURE)
    assert value_of(found, "of the device's limit") == pytest.approx(299)
    assert value_of(found, "in the device at a time") == pytest.approx(7.2)
    assert Bottleneck.READ_IO in found.others


def test_commits_of_a_device_at_its_requests_a_second_are_not_named_by_their_wait() -> None:
    limit = {"of": "requests", "on": "write", "rate_per_s": 100.0}
    work = {"sync_waited_s": 5.0, "write_request_count": 495, "throttled_s": 20.0}
    found = Case(SLOW_SYNC, work=work, profile=profile_with(limit)).diagnosis()
    assert_named(found, Bottleneck.IOPS_CAPPED, Confidence.SURE)
    assert found.others[0] is Bottleneck.WAL_SYNC


def test_a_limit_that_is_not_reached_is_no_cause() -> None:
    limit = {"of": "requests", "on": "both", "rate_per_s": 3000.0}
    work = {"sync_waited_s": 4.9, "write_request_count": 495, "throttled_s": 0.1}
    found = Case(SLOW_SYNC, work=work, profile=profile_with(limit)).diagnosis()
    assert found.bottleneck is Bottleneck.WAL_SYNC


@pytest.mark.parametrize(("left", "named"), [(900.0, "WAL-sync-bound"), (0.0, "IOPS-capped")])
def test_a_burst_bucket_caps_once_it_is_empty(left: float, named: str) -> None:
    limit = {"of": "requests", "on": "both", "rate_per_s": 100.0, "credits_count": 1000.0}
    bucket = {"tier": "device", "of": "requests", "on": "both", "left": left, "capacity": 1000.0}
    work = {"sync_waited_s": 4.9, "write_request_count": 700, "throttled_s": 4.0}
    case = Case(SLOW_SYNC, profile=profile_with(limit))
    case.work = {**work, "credits": scenes.credits_of(bucket)}
    step = Step(at_s=3.0, before_per_s=1500.0, after_per_s=200.0, bucket_count=1000.0)
    found = case.diagnosis(msgspec.structs.replace(scenes.course(), step=step))
    assert found.bottleneck is Bottleneck(named)
    assert ("credits were spent" in found.remedy) == (left == 0.0)
    if left == 0.0:
        assert value_of(found, "until the burst credits were spent") == 3.0


def test_a_device_at_its_bytes_a_second() -> None:
    limit = {"of": "bytes", "on": "write", "rate_per_s": 10.0 * MIB}
    work = {"sync_waited_s": 5.0, "write_request_bytes": 50 * MIB, "throttled_s": 40.0}
    found = Case(SLOW_SYNC, work=work, profile=profile_with(limit)).diagnosis()
    assert_named(found, Bottleneck.WRITE_BANDWIDTH, Confidence.SURE)
    assert Bottleneck.WAL_SYNC in found.others


def test_reads_at_the_bytes_a_second_are_no_writes() -> None:
    limit = {"of": "bytes", "on": "read", "rate_per_s": 10.0 * MIB}
    work = {
        "read_waited_s": 33.0,
        "sync_waited_s": 0.0,
        "read_request_bytes": 50 * MIB,
        "write_request_bytes": 0,
        "throttled_s": 30.0,
    }
    found = Case(READS, work=work, profile=profile_with(limit)).diagnosis()
    assert found.bottleneck is Bottleneck.READ_IO


def flat_series(*rates: float) -> Series:
    return Series(
        columns=("second_index", "disk_reads_per_s", "disk_writes_per_s"),
        values=(tuple(map(float, range(len(rates)))), rates, (0.0,) * len(rates)),
    )


def test_a_real_disk_that_is_flat_at_a_round_number_is_likely_capped() -> None:
    disk = scenes.disk(reads_per_s=3000.0, read_wait_s=0.0022, depth_count=6.6)
    rates = (1800.0, 3001.0, 2999.0, 3003.0, 2998.0, 3000.0, 3002.0, 900.0)
    case = Case(READS, disk=disk, series=flat_series(*rates))
    assert_named(case.diagnosis(), Bottleneck.IOPS_CAPPED, Confidence.LIKELY)


@pytest.mark.parametrize(
    "rates",
    [
        (3400.0,) * 8,  # flat and not round
        (2400.0, 3600.0) * 4,  # round in the mean and not flat
    ],
)
def test_a_real_disk_that_is_not_flat_and_round_is_not(rates: tuple[float, ...]) -> None:
    disk = scenes.disk(reads_per_s=3000.0, read_wait_s=0.0022, depth_count=6.6)
    case = Case(READS, disk=disk, series=flat_series(*rates))
    assert case.diagnosis().bottleneck is Bottleneck.READ_IO


# -- checkpoints

OFTEN = {"requested_count": 4, "buffer_count": 6000, "write_s": 4.0, "sync_s": 0.5}


def test_checkpoints_that_fill_the_device() -> None:
    limit = {"of": "bytes", "on": "both", "rate_per_s": 20.0 * MIB}
    work = {"sync_waited_s": 5.0, "write_request_bytes": 99 * MIB, "throttled_s": 40.0}
    case = Case(SLOW_SYNC, work=work, profile=profile_with(limit))
    case.settings = (("max_wal_size", "32", "MB"),)
    case.sql(
        checkpoints=scenes.checkpoints(**OFTEN),
        wal=scenes.wal(full_page_count=6000, bytes=50 * MIB),
    )
    found = case.diagnosis()
    assert_named(found, Bottleneck.CHECKPOINT, Confidence.SURE)
    assert Bottleneck.WRITE_BANDWIDTH in found.others
    assert value_of(found, "between checkpoints") == pytest.approx(1.25)
    assert "(now 32MB)" in found.remedy


def test_checkpoints_that_write_little_of_it_are_not_to_blame() -> None:
    limit = {"of": "bytes", "on": "both", "rate_per_s": 20.0 * MIB}
    work = {"sync_waited_s": 5.0, "write_request_bytes": 99 * MIB, "throttled_s": 40.0}
    case = Case(SLOW_SYNC, work=work, profile=profile_with(limit)).sql(
        checkpoints=scenes.checkpoints(**{**OFTEN, "buffer_count": 100}),
        wal=scenes.wal(full_page_count=200, bytes=95 * MIB),
    )
    assert case.diagnosis().bottleneck is Bottleneck.WRITE_BANDWIDTH


def test_throughput_that_dips_in_checkpoints() -> None:
    rates = (1000.0,) * 4 + (50.0,) * 6
    series = Series(
        columns=("second_index", "commits_per_s"), values=(tuple(map(float, range(10))), rates)
    )
    case = Case({"LWLock:BufferContent": 2.0, "CPU:": 2.0}, series=series)
    case.events = (ServerEvent(kind=EventKind.CHECKPOINT, at_s=4.2, elapsed_s=5.5),)
    found = case.diagnosis()
    assert found.bottleneck is Bottleneck.CHECKPOINT
    assert value_of(found, "lost while checkpoints") == pytest.approx(0.57)


def test_seconds_that_a_checkpoint_stalls() -> None:
    stall = Stall(
        first_second_index=2, second_count=3, lowest_per_s=0.0, coincides=EventKind.CHECKPOINT
    )
    case = Case({"LWLock:BufferContent": 2.0, "CPU:": 2.0})
    found = case.diagnosis(msgspec.structs.replace(scenes.course(), stalls=(stall,)))
    assert found.bottleneck is Bottleneck.CHECKPOINT
    assert value_of(found, "lost while checkpoints") == pytest.approx(0.6)


# -- locks

LOCKS = {"Lock:transactionid": 2.0, "Lock:tuple": 4.0, "CPU:": 0.6}


def test_clients_in_line_for_a_branch() -> None:
    case = Case(LOCKS)
    case.trial = {"workload": "tpcb-like", "scale": 1}
    found = case.diagnosis()
    assert_named(found, Bottleneck.LOCK, Confidence.SURE)
    assert value_of(found, "Lock:tuple") == pytest.approx(2 / 3)
    assert "one of 1 branches" in found.remedy
    assert Bottleneck.WAL_SYNC not in found.others


def test_locks_held_over_commits_stay_locks_and_the_commit_comes_next() -> None:
    busy = scenes.disk(utilisation_ratio=0.9)
    waits = {"Lock:transactionid": 2.0, "Lock:tuple": 4.5, "IO:WalSync": 0.9, "CPU:": 0.1}
    found = Case(waits, disk=busy).diagnosis()
    assert_named(found, Bottleneck.LOCK, Confidence.SURE)
    assert found.others[0] is Bottleneck.WAL_SYNC


def test_locks_of_the_servers_own_structures() -> None:
    found = Case({"LWLock:LockManager": 5.0, "CPU:": 1.5}).diagnosis()
    assert_named(found, Bottleneck.LOCK, Confidence.LIKELY)
    assert "fewer sessions" in found.remedy


# -- processors


def test_sessions_at_work_on_every_core() -> None:
    spent = scenes.cpu(idle_ratio=0.01, server_cpu_count=7.4, io_wait_ratio=0.0)
    found = Case({"CPU:": 7.6}, cpu=spent).diagnosis()
    assert_named(found, Bottleneck.CPU, Confidence.SURE)
    assert value_of(found, "burnt by the server") == pytest.approx(7.4)


def test_one_session_at_work_on_one_of_many_cores() -> None:
    case = Case({"CPU:": 0.97}, cpu=scenes.cpu(server_cpu_count=0.98, idle_ratio=0.85))
    case.trial = {"clients": 1}
    assert_named(case.diagnosis(), Bottleneck.CPU, Confidence.SURE)


def test_neighbours_that_take_the_cores_do_not_make_storage_a_processor() -> None:
    spent = scenes.cpu(idle_ratio=0.0, io_wait_ratio=0.0, server_cpu_count=0.4, other_cpu_count=7.0)
    work = {"sync_waited_s": 4.8, "throttled_s": 0.0}
    found = Case(SLOW_SYNC, cpu=spent, work=work, profile=profile_with()).diagnosis()
    assert found.bottleneck is Bottleneck.WAL_SYNC


def test_a_quota_that_bites() -> None:
    held = GroupWork(version=2, cpu_limit_count=0.5, throttled_ratio=0.97, throttled_s=20.0)
    waits = {"CPU:": 3.5, "Lock:transactionid": 3.9}
    found = Case(waits, group=held, cpu=scenes.cpu(server_cpu_count=0.5)).diagnosis()
    assert_named(found, Bottleneck.CPU_STARVED, Confidence.SURE)
    assert "quota" in found.remedy


def test_a_quota_that_bites_seldom_is_not_to_blame() -> None:
    held = GroupWork(version=2, cpu_limit_count=4.0, throttled_ratio=0.1, throttled_s=0.2)
    found = Case(LOCKS, group=held).diagnosis()
    assert found.bottleneck is Bottleneck.LOCK


def test_processors_that_the_host_takes_away() -> None:
    stolen = scenes.cpu(
        core_count=2, idle_ratio=0.01, io_wait_ratio=0.0, steal_ratio=0.45, server_cpu_count=1.0
    )
    found = Case({"CPU:": 7.5}, cpu=stolen).diagnosis()
    assert_named(found, Bottleneck.CPU_STARVED, Confidence.SURE)
    assert "burstable" in found.remedy


# -- outside of the server


def test_a_load_tool_with_one_thread_always_at_work() -> None:
    loaded = scenes.cpu(load_thread_ratio=0.98, load_cpu_count=0.98, server_cpu_count=0.4)
    found = Case({"CPU:": 0.5}, cpu=loaded).diagnosis()
    assert_named(found, Bottleneck.CLIENT, Confidence.SURE)
    assert value_of(found, "busiest thread") == pytest.approx(0.98)


def test_a_load_tool_that_takes_the_cores_from_the_server() -> None:
    loaded = scenes.cpu(
        core_count=2,
        idle_ratio=0.01,
        io_wait_ratio=0.0,
        load_cpu_count=1.7,
        load_thread_ratio=0.85,
        server_cpu_count=0.2,
    )
    found = Case({"CPU:": 0.9}, cpu=loaded).diagnosis()
    assert_named(found, Bottleneck.CLIENT, Confidence.SURE)


def test_a_server_and_a_load_tool_that_share_all_cores_evenly() -> None:
    shared = scenes.cpu(
        core_count=2,
        idle_ratio=0.02,
        io_wait_ratio=0.0,
        load_cpu_count=0.7,
        load_thread_ratio=0.7,
        server_cpu_count=1.2,
    )
    found = Case({"CPU:": 3.5}, cpu=shared).diagnosis()
    assert_named(found, Bottleneck.CPU, Confidence.LIKELY)
    assert Bottleneck.CLIENT in found.others


@pytest.mark.parametrize(
    ("idle_ratio", "named"),
    [(0.05, Bottleneck.CPU), (0.14, Bottleneck.CPU), (0.24, Bottleneck.UNKNOWN)],
)
def test_short_statements_that_nobody_sees_at_work(idle_ratio: float, named: Bottleneck) -> None:
    """Figures of four clients of select-only on two cores, with nothing provoked."""
    shared = scenes.cpu(
        core_count=2,
        idle_ratio=idle_ratio,
        io_wait_ratio=0.0,
        load_cpu_count=0.42,
        load_thread_ratio=0.42,
        server_cpu_count=0.97,
    )
    assert Case({"CPU:": 0.13}, cpu=shared).diagnosis().bottleneck is named


def test_a_network_that_takes_its_time() -> None:
    case = Case({"CPU:": 0.3})
    case.trial = {"workload": "simple-update"}
    # Eight clients at 1,000 a second: 8 ms each, in five round trips of 1.5 ms.
    found = case.sql(sizes=scenes.sizes(round_trip_s=0.0015)).diagnosis()
    assert_named(found, Bottleneck.NETWORK, Confidence.SURE)
    assert value_of(found, "round trip") == pytest.approx(0.0015)


def test_a_round_trip_that_does_not_explain_the_time_is_no_cause() -> None:
    case = Case({"CPU:": 0.3})
    case.trial = {"workload": "select-only"}
    found = case.sql(sizes=scenes.sizes(round_trip_s=0.0003)).diagnosis()
    assert found.bottleneck is Bottleneck.UNKNOWN


def test_a_link_that_is_full() -> None:
    link = NetworkWork(
        interface="eth0",
        received_bytes_per_s=118e6,
        sent_bytes_per_s=1e6,
        link_bytes_per_s=125e6,
    )
    found = Case({"Client:ClientWrite": 4.0, "CPU:": 0.5}, network=link).diagnosis()
    assert_named(found, Bottleneck.NETWORK, Confidence.SURE)
    assert value_of(found, "of the link is used") == pytest.approx(0.944)


def test_a_standby_that_is_waited_for() -> None:
    found = Case({"IPC:SyncRep": 7.0, "CPU:": 0.4}).diagnosis()
    assert_named(found, Bottleneck.NETWORK, Confidence.SURE)
    assert "standby" in found.remedy


def test_clients_that_connect_for_each_transaction() -> None:
    spent = scenes.cpu(idle_ratio=0.0, io_wait_ratio=0.0, server_cpu_count=6.0, load_cpu_count=1.8)
    # A thousand a second of 0.4 ms each keep 0.4 of eight clients busy.
    case = Case({"CPU:": 0.5}, cpu=spent, latency_s=0.0004, initial_connection_s=None)
    found = case.diagnosis()
    assert_named(found, Bottleneck.CONNECTION, Confidence.SURE)
    assert value_of(found, "no transaction") == pytest.approx(0.95, abs=0.01)
    assert "pool" in found.remedy


def test_a_thread_that_has_not_come_round_to_a_client_does_not_connect() -> None:
    """pgbench tells an initial connection time: its sessions are kept."""
    loaded = scenes.cpu(load_thread_ratio=0.98, load_cpu_count=0.98, server_cpu_count=0.4)
    found = Case({"CPU:": 0.5}, cpu=loaded, latency_s=0.0004).diagnosis()
    assert_named(found, Bottleneck.CLIENT, Confidence.SURE)
    assert found.others == ()


# -- unknown, and said so


def test_time_that_is_spread_has_no_name() -> None:
    waits = {"CPU:": 1.6, "Lock:tuple": 1.8, "IO:WalSync": 0.9, "IO:DataFileRead": 1.5}
    found = Case(waits, has_host=False).diagnosis()
    assert found.bottleneck is Bottleneck.UNKNOWN
    assert found.confidence is Confidence.WEAK
    assert len(found.clues) == 3
    assert "spread" in found.remedy


def test_a_rate_that_was_reached_held_nothing_back() -> None:
    case = Case(SLOW_SYNC)
    case.trial = {"rate_per_s": 1000.0}
    found = case.diagnosis()
    assert found.bottleneck is Bottleneck.UNKNOWN
    assert "rate" in found.remedy


def test_without_evidence_nothing_is_named() -> None:
    record = make_record()
    assert record.evidence is None
    found = diagnose(record, series=Series(), course=scenes.course())
    assert (found.bottleneck, found.clues) == (Bottleneck.UNKNOWN, ())
    assert "--probes full" in found.remedy


def test_a_trial_that_failed_has_no_bottleneck() -> None:
    record = make_record(make_trial(), Failed(reason="the server died", retryable=True))
    found = diagnose(record, series=Series(), course=scenes.course())
    assert found.bottleneck is Bottleneck.UNKNOWN


def test_counters_alone_still_name_an_emulated_device() -> None:
    """Light probes take no samples of waits."""
    work = {"sync_waited_s": 39.0, "sync_call_count": 3900, "throttled_s": 0.0}
    found = Case({}, samples=0, work=work, profile=profile_with()).diagnosis()
    assert_named(found, Bottleneck.WAL_SYNC, Confidence.LIKELY)
    assert "emulated device" in found.clues[0].source


def test_counters_alone_still_name_processors_that_are_used_up() -> None:
    spent = scenes.cpu(idle_ratio=0.01, io_wait_ratio=0.0, server_cpu_count=7.0)
    found = Case({}, samples=0, cpu=spent).diagnosis()
    assert_named(found, Bottleneck.CPU, Confidence.LIKELY)


def test_counters_alone_name_nothing_where_nothing_is_used_up() -> None:
    found = Case({}, samples=0).diagnosis()
    assert (found.bottleneck, found.others) == (Bottleneck.UNKNOWN, ())


def test_background_processes_are_no_clients() -> None:
    case = Case({"CPU:": 7.5}, cpu=scenes.cpu(server_cpu_count=7.5, idle_ratio=0.02))
    case.waits += scenes.waits_of(
        {"IO:WalSync": 1.0}, group=WaitGroup.BACKGROUND, backend_type="walwriter"
    )
    assert case.diagnosis().bottleneck is Bottleneck.CPU
