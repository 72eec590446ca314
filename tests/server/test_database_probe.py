"""The database probe on real servers, while pgbench loads them."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.probes.database import DatabaseSampler
from groundspeed.probes.sampling import Part
from groundspeed.probes.waits import CLASSES
from groundspeed.record.evidence import EventKind, ServerEvent, WaitGroup
from tests.server.given import serve
from tests.server.watched_load import (
    CLIENTS,
    LOAD_S,
    TICKS_PER_SECOND,
    Load,
    drive,
    transactions_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


VERSIONS = (15, 16, 18)
CHECKPOINT_TICK = 20
EVENT_LIMIT_S = 30.0


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """A load as the probe saw it, and what is known of it otherwise."""

    version: int
    part: Part
    seconds: tuple[Mapping[str, float | None], ...]
    transaction_count: int
    checkpoint_at_s: float

    def event(self, kind: EventKind, detail: str = "") -> ServerEvent:
        found = [e for e in self.part.events if e.kind is kind and detail in e.detail]
        assert found, self.part.events
        return found[0]

    def absent(self) -> set[str]:
        return {absent.what for absent in self.part.absent}


@pytest.fixture(scope="module", params=VERSIONS)
def load(request: pytest.FixtureRequest) -> Iterator[Load]:
    with serve(request.param) as given:
        made = Load(given, request.param)
        made.fill()
        yield made


@pytest.fixture(scope="module")
def watched(load: Load) -> Watched:
    """Watch one load with a checkpoint in its middle; all looks of a trial are at this one."""
    sampler = DatabaseSampler(load.points(), waits=True)
    issued: list[float] = []

    def checkpoint() -> None:
        issued.append(time.monotonic() - begun_s)
        load.given.execute("CHECKPOINT")

    try:
        begun_s = time.monotonic()
        sampler.begin()
        seconds, printed = drive(sampler, load.start(), {CHECKPOINT_TICK: checkpoint})
        part = sampler.end()
    finally:
        sampler.close()
    return Watched(
        version=load.version,
        part=part,
        seconds=tuple(seconds),
        transaction_count=transactions_of(printed),
        checkpoint_at_s=issued[0],
    )


def test_clients_that_update_the_same_row_wait_for_locks(watched: Watched) -> None:
    part = watched.part
    assert part.wait_source == "pg_stat_activity"
    assert part.activity_sample_count >= LOAD_S * TICKS_PER_SECOND * 0.5
    clients = [wait for wait in part.waits if wait.group is WaitGroup.CLIENT]
    locks = sum(w.sample_count for w in clients if w.wait_class == "Lock")
    assert {w.event for w in clients if w.wait_class == "Lock"} <= {"transactionid", "tuple"}
    assert locks > sum(wait.sample_count for wait in clients) / 2
    assert "ClientRead" not in {wait.event for wait in part.waits}
    assert "Activity" not in {wait.wait_class for wait in part.waits}


def test_every_second_has_waits_by_class_and_the_log(watched: Watched) -> None:
    assert len(watched.seconds) >= LOAD_S - 1
    names = {f"{group}_{name}_count" for group in ("wait", "background") for name in CLASSES}
    for second in watched.seconds:
        assert set(second) == names | {"wal_bytes_per_s", "blocks_read_per_s"}
        clients = [second[f"wait_{name}_count"] for name in CLASSES]
        assert 0 < sum(value or 0 for value in clients) <= CLIENTS
        assert (second["wal_bytes_per_s"] or 0) > 0
    # What was read in the first second is not told before the next.
    assert watched.seconds[0]["blocks_read_per_s"] is None
    assert watched.seconds[1]["blocks_read_per_s"] is not None


def test_a_checkpoint_is_on_the_time_line(watched: Watched) -> None:
    event = watched.event(EventKind.CHECKPOINT, "requested")
    # Over between two looks it is known to a second, with the time of asking for it.
    assert abs(event.at_s - watched.checkpoint_at_s) < 1.1
    assert event.elapsed_s is not None
    assert 0 <= event.elapsed_s < 2


def test_counters_agree_with_pgbench(watched: Watched) -> None:
    work = watched.part.postgres
    assert work is not None
    assert work.database is not None
    assert work.database.commit_count == pytest.approx(watched.transaction_count, rel=0.02)
    assert work.database.block_read_s is None
    assert (work.database.cached_ratio or 0) > 0.9
    assert work.wal is not None
    assert work.wal.bytes > 100 * watched.transaction_count
    assert work.wal.record_count > 4 * watched.transaction_count
    assert (work.wal.write_count or 0) > 0
    assert (work.wal.sync_count, work.wal.sync_s) == (0, None)  # fsync is off
    assert work.checkpoints is not None
    assert (work.checkpoints.requested_count, work.checkpoints.timed_count) == (1, 0)
    assert work.checkpoints.buffer_count > 0


def test_tables_are_named_with_their_sizes(watched: Watched, load: Load) -> None:
    work = watched.part.postgres
    assert work is not None
    assert work.sizes is not None
    tables = {table.name: table for table in work.tables}
    names = ("accounts", "branches", "history", "tellers")
    assert set(tables) == {f"public.pgbench_{name}" for name in names}
    accounts = tables["public.pgbench_accounts"]
    assert accounts.update_count == watched.transaction_count
    assert tables["public.pgbench_history"].insert_count == watched.transaction_count
    ((size,),) = load.given.execute("SELECT pg_total_relation_size('pgbench_accounts')")
    assert accounts.size_bytes == pytest.approx(float(str(size)), rel=0.2)
    assert work.sizes.touched_bytes == sum(table.size_bytes for table in work.tables)
    assert work.sizes.database_bytes > work.sizes.touched_bytes
    assert work.sizes.shared_buffers_bytes == 16 * 2**20
    assert work.sizes.is_encrypted is False
    assert 0 < (work.sizes.round_trip_s or 0) < 0.1
    assert work.sizes.replication_lag_bytes is None
    assert (work.sizes.huge_pages_status is not None) == (watched.version >= 17)


def test_reads_and_writes_are_told_by_who_made_them(watched: Watched) -> None:
    work = watched.part.postgres
    assert work is not None
    if watched.version < 16:
        assert work.io == ()
        return
    rows = {(row.backend_type, row.object, row.context): row for row in work.io}
    clients = rows["client backend", "relation", "normal"]
    assert clients.hit_count > watched.transaction_count
    assert clients.read_bytes == clients.read_count * 8192 or watched.version >= 18
    assert clients.read_s is None
    assert rows["checkpointer", "relation", "normal"].write_count > 0
    assert any(row.object == "wal" for row in work.io) == (watched.version >= 18)


def test_all_that_is_missing_is_named_and_nothing_else(watched: Watched) -> None:
    missing = {"statements", "io-timing", "wal-io-timing"}
    assert watched.absent() == missing | ({"io-statistics"} if watched.version < 16 else set())


def test_the_probe_tells_what_it_cost(watched: Watched) -> None:
    (cost,) = watched.part.costs
    assert cost.call_count == watched.part.activity_sample_count + len(watched.seconds)
    assert 0 < cost.slowest_s <= cost.elapsed_s
    # 3% of a core is what all probes together may take.
    assert 0 < cost.cpu_s < 0.03 * LOAD_S


def test_timed_work_has_times_and_the_next_trial_counts_anew(load: Load) -> None:
    load.given.execute("ALTER SYSTEM SET track_io_timing = on")
    load.given.execute("ALTER SYSTEM SET track_wal_io_timing = on")
    load.given.execute("SELECT pg_reload_conf()")
    sampler = DatabaseSampler(load.points(), waits=True)
    try:
        for _ in range(2):
            sampler.begin()
            _, printed = drive(sampler, load.start(), {})
            part = sampler.end()
            work = part.postgres
            assert work is not None
            assert work.database is not None
            assert work.database.commit_count == pytest.approx(transactions_of(printed), rel=0.02)
            assert {"io-timing", "wal-io-timing"} & {absent.what for absent in part.absent} == set()
            assert work.database.block_read_s is not None
            assert work.wal is not None
            assert (work.wal.write_s or 0) > 0
            assert all(row.read_s is not None for row in work.io if row.read_count)
    finally:
        sampler.close()
        load.given.execute("ALTER SYSTEM RESET ALL")
        load.given.execute("SELECT pg_reload_conf()")


def test_a_role_without_rights_sees_its_own_and_says_what_it_does_not(load: Load) -> None:
    password = load.given.create_user("weak", "")
    load.given.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO weak")
    weak = Load(load.given, load.version, "weak", password)
    sampler = DatabaseSampler(weak.points(), waits=True)
    try:
        sampler.begin()
        checkpoint = {CHECKPOINT_TICK: lambda: void(load.given.execute("CHECKPOINT"))}
        seconds, printed = drive(sampler, weak.start(), checkpoint)
        part = sampler.end()
    finally:
        sampler.close()
        load.given.execute("DROP OWNED BY weak")
        load.given.execute("DROP ROLE weak")
    absent = {absent.what: absent.reason for absent in part.absent}
    assert "pg_monitor" in absent["background-waits"]
    assert {wait.group for wait in part.waits} == {WaitGroup.CLIENT}
    assert "wait_lock_count" in seconds[0]
    assert "background_io_count" not in seconds[0]
    # The checkpointer is hidden, its counters are not.
    (event,) = [event for event in part.events if event.kind is EventKind.CHECKPOINT]
    assert event.detail == "requested"
    assert part.postgres is not None
    assert part.postgres.database is not None
    count = transactions_of(printed)
    assert part.postgres.database.commit_count == pytest.approx(count, rel=0.02)
    assert len(part.postgres.tables) == 4
    assert part.postgres.wal is not None
    assert part.postgres.sizes is not None


def void(_: object) -> None:
    """Take what a statement gave."""


def test_sessions_of_others_are_noted_where_the_role_cannot_look_into_them(load: Load) -> None:
    password = load.given.create_user("weak", "")
    sampler = DatabaseSampler(Load(load.given, load.version, "weak", password).points(), waits=True)
    try:
        sampler.begin()
        sampler.tick()
        assert "client-waits" not in {absent.what for absent in sampler.end().absent}
        sampler.begin()
        with load.given.connect():
            sampler.tick()
        part = sampler.end()
    finally:
        sampler.close()
        load.given.execute("DROP ROLE weak")
    assert "client-waits" in {absent.what for absent in part.absent}
    assert part.waits == ()
    assert part.activity_sample_count == 1


def checkpoint_count(load: Load) -> object:
    column, view = "checkpoints_req", "pg_stat_bgwriter"
    if load.version >= 17:
        column, view = "num_requested", "pg_stat_checkpointer"
    return load.given.execute(f"SELECT {column} FROM {view}")[0][0]


def test_light_watching_samples_no_waits_and_still_sees_checkpoints(load: Load) -> None:
    sampler = DatabaseSampler(load.points(), waits=False)
    try:
        before = checkpoint_count(load)
        sampler.begin()
        load.given.execute("CHECKPOINT")
        # The checkpointer counts it a moment after it has answered.
        given_up_s = time.monotonic() + EVENT_LIMIT_S
        while checkpoint_count(load) == before:
            assert time.monotonic() < given_up_s
        second = sampler.second()
        part = sampler.end()
    finally:
        sampler.close()
    assert set(second) == {"wal_bytes_per_s", "blocks_read_per_s"}
    assert (part.waits, part.wait_source, part.activity_sample_count) == ((), None, 0)
    assert [(e.kind, e.detail) for e in part.events] == [(EventKind.CHECKPOINT, "requested")]


def test_an_autovacuum_is_on_the_time_line_with_its_table(load: Load) -> None:
    load.given.execute("ALTER SYSTEM SET autovacuum_naptime = 1")
    load.given.execute("SELECT pg_reload_conf()")
    load.given.execute("CREATE TABLE dusty AS SELECT n FROM generate_series(1, 20000) AS n")
    load.given.execute(
        "ALTER TABLE dusty SET (autovacuum_vacuum_threshold = 1,"
        " autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_cost_delay = 20,"
        " autovacuum_vacuum_cost_limit = 20)"
    )
    sampler = DatabaseSampler(load.points(), waits=True)
    try:
        sampler.begin()
        load.given.execute("DELETE FROM dusty WHERE n % 2 = 0")
        deadline_s = time.monotonic() + EVENT_LIMIT_S
        part = sampler.end()
        while not vacuums_of(part, "public.dusty") and time.monotonic() < deadline_s:
            select.select([], [], [], 1 / TICKS_PER_SECOND)
            sampler.tick()
            part = sampler.end()
    finally:
        sampler.close()
        load.given.execute("ALTER SYSTEM RESET ALL")
        load.given.execute("SELECT pg_reload_conf()")
        load.given.execute("DROP TABLE dusty")
    assert part.postgres is not None
    assert "public.dusty" in {table.name for table in part.postgres.tables}
    (event,) = vacuums_of(part, "public.dusty")[:1]
    assert 0.05 < (event.elapsed_s or 0) < EVENT_LIMIT_S


def vacuums_of(part: Part, table: str) -> list[ServerEvent]:
    """Give the autovacuums of a table that have ended."""
    found = [event for event in part.events if event.kind is EventKind.AUTOVACUUM]
    return [event for event in found if event.detail == table and event.elapsed_s is not None]


def test_a_reset_in_the_middle_is_told_and_not_taken_for_work(load: Load) -> None:
    sampler = DatabaseSampler(load.points(), waits=True)
    try:
        sampler.begin()
        load.given.execute("SELECT pg_stat_reset()")
        part = sampler.end()
    finally:
        sampler.close()
    assert part.postgres is not None
    assert part.postgres.database is None
    reasons = {absent.what: absent.reason for absent in part.absent}
    assert "reset" in reasons["database-statistics"]


def test_a_server_that_dies_takes_nothing_that_was_seen_with_it() -> None:
    with serve(16) as given:
        load = Load(given, 16)
        load.fill()
        sampler = DatabaseSampler(load.points(), waits=True)
        sampler.begin()
        running = load.start()
        postmaster = int((given.home / "data/postmaster.pid").read_text().split()[0])
        kill = {TICKS_PER_SECOND + 5: lambda: os.kill(postmaster, signal.SIGQUIT)}
        drive(sampler, running, kill)
        sampler.tick()
        last = sampler.second()
        part = sampler.end()
        sampler.begin()
        again = sampler.end()
        sampler.close()
    assert part.waits
    assert part.activity_sample_count >= TICKS_PER_SECOND / 2
    assert last["wal_bytes_per_s"] is None
    assert part.postgres is not None
    assert part.postgres.database is None
    # The size of the database is known from the begin; all of it counts as touched.
    assert part.postgres.sizes is not None
    assert part.postgres.sizes.touched_bytes == part.postgres.sizes.database_bytes
    assert {"server", "touched-tables"} <= {absent.what for absent in part.absent}
    assert again.waits == ()
    assert "server" in {absent.what for absent in again.absent}


def test_a_server_that_is_not_there_is_an_error_without_the_password() -> None:
    points = WatchPoints(
        conninfo="host=/nonexistent user=owner dbname=postgres",
        password="a secret",
        groundspeed_pid=os.getpid(),
    )
    with pytest.raises(TargetError) as caught:
        DatabaseSampler(points, waits=True)
    assert "a secret" not in str(caught.value)
