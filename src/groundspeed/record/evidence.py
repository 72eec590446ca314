"""Evidence: what probes saw while a trial was measured, and a series of it for each second.

Everything is of the measured time alone, without the warm-up. What a probe could not see is None,
and why it could not is told once, as `Absent`. This module measures nothing and judges nothing.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from groundspeed.record.cluster_work import ClusterWork
from groundspeed.record.machine import HostWork


class ProbeLevel(Enum):
    """How much is watched: nothing; counters and host once a second; and waits at 10 Hz too."""

    OFF = "off"
    LIGHT = "light"
    FULL = "full"


class Absent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that could not be seen. `what` is a stable slug such as "io-timing"."""

    what: str
    reason: str


# `ProbeCost.probe` of what looks before a trial and after it, and never meanwhile.
AROUND_PROBE = "cluster"


class ProbeCost(msgspec.Struct, frozen=True, kw_only=True):
    """What watching cost: processor time of the probe process, and time its queries took."""

    probe: str
    call_count: int
    cpu_s: float
    elapsed_s: float
    slowest_s: float


class WaitGroup(Enum):
    """Who waited: clients that were at work, or the server's own processes."""

    CLIENT = "client"
    BACKGROUND = "background"


class WaitCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many samples found a session in one wait.

    `wait_class` is pg_stat_activity's wait_event_type, "CPU" where a session at work waits for
    nothing. Idle sessions and ClientRead are no database time and not here. `backend_type` is the
    server's own word for background processes, "" for clients. Mean sessions in this wait:
    sample_count / Evidence.activity_sample_count.

    Of a server with one thread for all clients (`Evidence.serving`) samples are of that thread, and
    all clients wait while it waits: "CPU" where it runs or wants to (with `LogHeld` while a sync of
    the log in the background holds back its writes), else "IO" with `LogSync`, `LogWrite` or
    `Device` (asleep in an emulated one), or "Other"; waiting for clients is not here.
    """

    group: WaitGroup
    wait_class: str
    event: str
    sample_count: int
    backend_type: str = ""


class EventKind(Enum):
    """What may coincide with a stall."""

    CHECKPOINT = "checkpoint"
    AUTOVACUUM = "autovacuum"
    WAL_SWITCH = "wal-switch"
    # Of a server whose data are in memory: a child writes all of them, or their log anew.
    SNAPSHOT = "snapshot"
    LOG_REWRITE = "log-rewrite"
    # Writes went on without waiting any longer for a sync of the log that took too long.
    DELAYED_SYNC = "delayed-sync"


class ServerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something on the time line; seconds since the measured load began.

    `elapsed_s` is None where its end was not seen. `detail`: the table of an autovacuum, whether
    a checkpoint was timed or requested.
    """

    kind: EventKind
    at_s: float
    elapsed_s: float | None = None
    detail: str = ""


class DatabaseWork(msgspec.Struct, frozen=True, kw_only=True):
    """pg_stat_database of the database under test: growth over the trial. Blocks have 8 KiB.

    `block_read_s` and `block_write_s` are None unless track_io_timing is on. `cached_ratio` of
    all reads is hit / (hit + read): found in shared buffers.
    """

    commit_count: int
    rollback_count: int
    block_hit_count: int
    block_read_count: int
    block_read_s: float | None = None
    block_write_s: float | None = None
    temp_file_count: int
    temp_bytes: int
    deadlock_count: int
    conflict_count: int

    @property
    def cached_ratio(self) -> float | None:
        """Share of block reads that found their block in shared buffers; None without any."""
        total = self.block_hit_count + self.block_read_count
        return self.block_hit_count / total if total else None


class WalWork(msgspec.Struct, frozen=True, kw_only=True):
    """pg_stat_wal (from 14): growth over the trial; writes and syncs as far as the version tells.

    PostgreSQL 18 moved writes and syncs to pg_stat_io; they are here all the same. Times are None
    unless track_wal_io_timing is on.
    """

    record_count: int
    full_page_count: int
    bytes: int
    buffers_full_count: int
    write_count: int | None = None
    sync_count: int | None = None
    write_s: float | None = None
    sync_s: float | None = None


class CheckpointWork(msgspec.Struct, frozen=True, kw_only=True):
    """Checkpoints and who wrote dirty buffers: pg_stat_bgwriter, from 17 pg_stat_checkpointer.

    `backend_buffer_count` is what client backends had to write themselves (from 17: pg_stat_io).
    """

    timed_count: int
    requested_count: int
    write_s: float
    sync_s: float
    buffer_count: int
    cleaned_buffer_count: int
    stopped_clean_count: int
    allocated_buffer_count: int
    backend_buffer_count: int | None = None
    backend_sync_count: int | None = None


class IoWork(msgspec.Struct, frozen=True, kw_only=True):
    """One row of pg_stat_io (from 16) with growth over the trial; rows of zeros are left out.

    Times are None unless track_io_timing is on.
    """

    backend_type: str
    object: str
    context: str
    read_count: int
    read_bytes: int
    write_count: int
    write_bytes: int
    extend_count: int
    hit_count: int
    eviction_count: int
    sync_count: int
    read_s: float | None = None
    write_s: float | None = None
    sync_s: float | None = None


class TableWork(msgspec.Struct, frozen=True, kw_only=True):
    """One table that the workload touched: its size with indexes at the end, growth otherwise."""

    name: str
    size_bytes: int
    sequential_scan_count: int
    index_scan_count: int
    insert_count: int
    update_count: int
    hot_update_count: int
    delete_count: int
    dead_row_count: int
    autovacuum_count: int


class StatementWork(msgspec.Struct, frozen=True, kw_only=True):
    """A statement by pg_stat_statements, where that is installed; growth over the trial."""

    query: str
    call_count: int
    elapsed_s: float
    block_read_count: int
    wal_bytes: int


class ServerSizes(msgspec.Struct, frozen=True, kw_only=True):
    """What the guards compare: sizes of what is touched and of what could hold it.

    `touched_bytes` are the tables of the workload with their indexes, before the trial.
    """

    database_bytes: int
    touched_bytes: int
    shared_buffers_bytes: int
    max_connections_count: int
    huge_pages_status: str | None = None
    data_checksums: str | None = None
    is_encrypted: bool | None = None
    round_trip_s: float | None = None
    replication_lag_bytes: int | None = None


class PostgresWork(msgspec.Struct, frozen=True, kw_only=True):
    """All that was asked of the server over SQL."""

    sizes: ServerSizes | None = None
    database: DatabaseWork | None = None
    wal: WalWork | None = None
    checkpoints: CheckpointWork | None = None
    io: tuple[IoWork, ...] = ()
    tables: tuple[TableWork, ...] = ()
    statements: tuple[StatementWork, ...] = ()


class LogSync(Enum):
    """When a server that keeps a log of its writes brings it onto the device."""

    NO_LOG = "no log"
    EACH_WRITE = "each write"
    EACH_SECOND = "each second"
    SYSTEM = "left to the system"


class Delay(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of delay that the server itself timed; `name` is its own word for it."""

    name: str
    count: int
    total_s: float
    longest_s: float


class ServingWork(msgspec.Struct, frozen=True, kw_only=True):
    """A server that keeps its data in memory and serves all clients from one thread.

    Counts are growth over the trial, memory is the most that was seen. `main_busy_ratio` is what
    that thread ran, of one core; `main_ready_ratio` how long it waited to be let on a core.
    `slow_count` are the commands that the server found slow by its own threshold.
    """

    request_count: int | None = None
    new_client_count: int | None = None
    client_peak_count: int | None = None
    received_bytes: int | None = None
    sent_bytes: int | None = None
    main_busy_ratio: float | None = None
    main_ready_ratio: float | None = None
    memory_peak_bytes: int | None = None
    memory_limit_bytes: int | None = None
    eviction_count: int | None = None
    key_count: int | None = None
    slow_count: int | None = None
    slowest_s: float | None = None
    round_trip_s: float | None = None
    replication_lag_bytes: int | None = None
    delays: tuple[Delay, ...] = ()


class PersistenceWork(msgspec.Struct, frozen=True, kw_only=True):
    """How such a server brought its data onto a device meanwhile; growth over the trial.

    `log_bytes` were appended to its log; None without one, and where it was written anew too often
    to tell. `pending_sync_s` are seconds at whose end a sync in the background was not done;
    `delayed_sync_count` is how often a write waited until it was, and gave up. `rewrite_s` and
    `snapshot_s` are the time in which a child wrote the log anew, or all data; `copied_bytes` the
    most memory that had to be copied meanwhile.
    """

    log_sync: LogSync | None = None
    log_bytes: int | None = None
    pending_sync_s: float | None = None
    delayed_sync_count: int | None = None
    fork_count: int | None = None
    fork_s: float | None = None
    longest_fork_s: float | None = None
    rewrite_s: float | None = None
    snapshot_s: float | None = None
    copied_bytes: int | None = None


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Columns of equal length, one value for each second of a trial; None where unknown.

    The first column is `second_index`, counted from the begin of the measured load, ascending and
    without gaps. Every other name ends with its unit. Names that are known:

    cpu_server_count, cpu_load_count, cpu_own_count, cpu_other_count   cores
    cpu_busiest_ratio, steal_ratio, io_wait_ratio                      0..1
    run_queue_count                                                    tasks
    disk_reads_per_s, disk_writes_per_s, disk_bytes_per_s, disk_depth_count, disk_utilisation_ratio
    memory_available_bytes, dirty_bytes
    group_throttled_ratio
    wait_<class>_count         mean sessions of clients in a class: cpu, lwlock, lock, io, ipc,
                               client, bufferpin, timeout, extension, other
    background_<class>_count   the same for the server's own processes
    wal_bytes_per_s, blocks_read_per_s, commits_per_s
    requests_per_s, clients_count, received_bytes_per_s, sent_bytes_per_s, evictions_per_s,
    memory_used_bytes, latest_fork_s      of a server that keeps its data in memory
    log_bytes_per_s, log_size_bytes, pending_syncs_count, delayed_syncs_count   its log
    log_rewrite_ratio, snapshot_ratio     1 where a child was at it, else 0
    main_busy_ratio                       what its one thread for all clients ran
    main_cpu_ratio, main_log_ratio, main_device_ratio, main_other_ratio   where it was seen
    """

    columns: tuple[str, ...] = ()
    values: tuple[tuple[float | None, ...], ...] = ()

    def column(self, name: str) -> tuple[float | None, ...]:
        """Give a column, empty where there is none of that name."""
        return self.values[self.columns.index(name)] if name in self.columns else ()


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that probes saw during one trial.

    `wait_source` is "pg_stat_activity" or "pg_wait_sampling", None without waits; of a server with
    one thread for all clients it is the kernel's file on that thread.
    `started_at_s` is the wall clock (since 1970) at second 0.
    """

    level: ProbeLevel
    started_at_s: float
    elapsed_s: float
    wait_source: str | None = None
    activity_sample_count: int = 0
    waits: tuple[WaitCount, ...] = ()
    events: tuple[ServerEvent, ...] = ()
    postgres: PostgresWork | None = None
    serving: ServingWork | None = None
    persistence: PersistenceWork | None = None
    host: HostWork | None = None
    # None of a server that is not in Kubernetes, and in records that are older.
    cluster: ClusterWork | None = None
    costs: tuple[ProbeCost, ...] = ()
    absent: tuple[Absent, ...] = ()
