"""Made-up evidence of one trial: eight clients for five seconds, looked at fifty times.

`waits` are mean sessions by "Class:Event"; what is left of the clients is outside of the server.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.analyse.bottleneck import diagnose
from groundspeed.analyse.diagnosis import Course, Diagnosis
from groundspeed.record import CreditsLeft, Evidence, Series
from groundspeed.record.evidence import (
    CheckpointWork,
    DatabaseWork,
    PersistenceWork,
    PostgresWork,
    ProbeLevel,
    ServerSizes,
    ServingWork,
    WaitCount,
    WaitGroup,
    WalWork,
)
from groundspeed.record.machine import CpuWork, DiskWork, GroupWork, HostWork, NetworkWork
from tests.examples import (
    make_measured,
    make_provenance,
    make_record,
    make_server,
    make_storage,
    make_storage_work,
    make_trial,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    # Fields of whatever struct is made.
    More = Any

    from groundspeed.record import Record

CLIENTS = 8
SAMPLES = 50
ELAPSED_S = 5.0
MIB = 1024**2


def course() -> Course:
    return Course(trial_id="t", steady_from_s=0.0, cv_ratio=math.nan, worst_ratio=math.nan)


def waits_of(
    sessions: Mapping[str, float], *, group: WaitGroup = WaitGroup.CLIENT, backend_type: str = ""
) -> tuple[WaitCount, ...]:
    return tuple(
        WaitCount(
            group=group,
            wait_class=name.partition(":")[0],
            event=name.partition(":")[2],
            backend_type=backend_type,
            sample_count=round(mean * SAMPLES),
        )
        for name, mean in sessions.items()
    )


def cpu(**more: More) -> CpuWork:
    """Eight cores, half idle, nothing special."""
    facts: dict[str, Any] = {
        "core_count": 8,
        "server_cpu_count": 2.0,
        "load_cpu_count": 0.3,
        "own_cpu_count": 0.02,
        "other_cpu_count": 0.1,
        "load_thread_ratio": 0.3,
        "idle_ratio": 0.6,
        "io_wait_ratio": 0.05,
        "steal_ratio": 0.0,
        "busiest_core_ratio": 0.5,
        "run_queue_count": 2.0,
        "context_switches_per_s": 20_000.0,
    }
    return CpuWork(**{**facts, **more})


def disk(**more: More) -> DiskWork:
    """An NVMe with little to do."""
    facts: dict[str, Any] = {
        "device": "nvme0n1",
        "reads_per_s": 0.0,
        "writes_per_s": 400.0,
        "read_bytes_per_s": 0.0,
        "write_bytes_per_s": 400 * 8192.0,
        "flushes_per_s": 200.0,
        "read_wait_s": None,
        "write_wait_s": 0.0001,
        "depth_count": 0.1,
        "utilisation_ratio": 0.1,
    }
    return DiskWork(**{**facts, **more})


def database(**more: More) -> DatabaseWork:
    facts: dict[str, Any] = {
        "commit_count": 5000,
        "rollback_count": 0,
        "block_hit_count": 100_000,
        "block_read_count": 10,
        "temp_file_count": 0,
        "temp_bytes": 0,
        "deadlock_count": 0,
        "conflict_count": 0,
    }
    return DatabaseWork(**{**facts, **more})


def sizes(**more: More) -> ServerSizes:
    facts: dict[str, Any] = {
        "database_bytes": 170 * MIB,
        "touched_bytes": 160 * MIB,
        "shared_buffers_bytes": 1024 * MIB,
        "max_connections_count": 100,
        "round_trip_s": 0.00004,
    }
    return ServerSizes(**{**facts, **more})


def wal(**more: More) -> WalWork:
    facts: dict[str, Any] = {
        "record_count": 20_000,
        "full_page_count": 100,
        "bytes": 10 * MIB,
        "buffers_full_count": 0,
        "sync_count": 1000,
    }
    return WalWork(**{**facts, **more})


def checkpoints(**more: More) -> CheckpointWork:
    facts: dict[str, Any] = {
        "timed_count": 0,
        "requested_count": 0,
        "write_s": 0.0,
        "sync_s": 0.0,
        "buffer_count": 0,
        "cleaned_buffer_count": 0,
        "stopped_clean_count": 0,
        "allocated_buffer_count": 10,
        "backend_buffer_count": 0,
    }
    return CheckpointWork(**{**facts, **more})


class Case:
    """What a test says of a trial; the rest is quiet."""

    def __init__(self, waits: Mapping[str, float], **more: More) -> None:
        self.waits = waits_of(waits)
        self.cpu = cpu()
        self.disk: DiskWork | None = disk()
        self.group: GroupWork | None = None
        self.network: NetworkWork | None = None
        self.postgres = PostgresWork(
            sizes=sizes(), database=database(), wal=wal(), checkpoints=checkpoints()
        )
        self.serving: ServingWork | None = None
        self.persistence: PersistenceWork | None = None
        self.work: Mapping[str, Any] | None = None
        self.profile: str | None = None
        self.series = Series()
        self.trial: Mapping[str, Any] = {}
        self.events: tuple[Any, ...] = ()
        self.latency_s: float | None = None
        self.initial_connection_s: float | None = 0.004
        self.samples = SAMPLES
        self.has_host = True
        self.settings: tuple[tuple[str, str, str | None], ...] = ()
        for name, value in more.items():
            assert hasattr(self, name), name
            setattr(self, name, value)

    def sql(self, **parts: More) -> Case:
        self.postgres = msgspec.structs.replace(self.postgres, **parts)
        return self

    def evidence(self) -> Evidence:
        host = HostWork(cpu=self.cpu, disk=self.disk, group=self.group, network=self.network)
        return Evidence(
            level=ProbeLevel.FULL if self.samples else ProbeLevel.LIGHT,
            started_at_s=0.0,
            elapsed_s=ELAPSED_S,
            wait_source="pg_stat_activity" if self.samples else None,
            activity_sample_count=self.samples,
            waits=self.waits if self.samples else (),
            events=self.events,
            postgres=None if self.serving is not None else self.postgres,
            serving=self.serving,
            persistence=self.persistence,
            host=host if self.has_host else None,
        )

    def record(self) -> Record:
        trial = make_trial(**{"clients": CLIENTS, "workload": "simple-update", **self.trial})
        # By Little's law, unless the test hides time: make_measured's mean is 1.1 medians.
        latency_s = self.latency_s or trial.cell.clients / 1000.0
        measured = msgspec.structs.replace(
            make_measured(1000.0, p50_s=latency_s / 1.1),
            initial_connection_s=self.initial_connection_s,
        )
        storage = make_storage(emulated=self.profile is not None)
        storage = msgspec.structs.replace(storage, profile=self.profile)
        provenance = make_provenance(storage=storage, server=make_server(settings=self.settings))
        record = make_record(trial, measured)
        work = None
        if self.work is not None:
            work = msgspec.structs.replace(make_storage_work(), **self.work)
        return msgspec.structs.replace(
            record, provenance=provenance, evidence=self.evidence(), storage_work=work
        )

    def diagnosis(self, went: Course | None = None) -> Diagnosis:
        return diagnose(self.record(), series=self.series, course=went or course())


def credits_of(*buckets: Mapping[str, Any]) -> tuple[CreditsLeft, ...]:
    return tuple(CreditsLeft(**bucket) for bucket in buckets)
