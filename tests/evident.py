"""Made-up evidence for tests of reports: what probes would have seen of `example_findings`.

The numbers are made up and look like it, the names as awkward as those of `tests.examples`.
"""

from __future__ import annotations

import math
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.diagnosis import (
    Bottleneck,
    CellDiagnosis,
    CellKey,
    Clue,
    Confidence,
    Course,
    Diagnosis,
    GuardFinding,
    GuardKind,
    Scaling,
    ScalingPoint,
    Stall,
    Step,
)
from groundspeed.analyse.findings import TrialEvidence
from groundspeed.record import Evidence, SecondRow, Series, StorageSecond
from groundspeed.record.evidence import (
    Absent,
    EventKind,
    ProbeCost,
    ProbeLevel,
    ServerEvent,
    WaitCount,
    WaitGroup,
)
from groundspeed.record.machine import CpuWork, DiskWork, HostWork
from tests.examples import AWKWARD, EMULATED, PIPED, example_findings, make_storage_work

if TYPE_CHECKING:
    from groundspeed.analyse import CellSummary, Findings

HOSTILE = "</title><script>alert('x|y')</script>"
_SYNC = Clue(
    name="of database time waits for the log to be synced",
    value=0.83,
    unit="ratio",
    source="pg_stat_activity, 600 samples",
)
_BOTTLENECKS = {
    PIPED: (Bottleneck.LOCK, Confidence.LIKELY),
    AWKWARD: (Bottleneck.CPU, Confidence.SURE),
    EMULATED: (Bottleneck.WAL_SYNC, Confidence.SURE),
}


def make_diagnosis(
    bottleneck: Bottleneck = Bottleneck.WAL_SYNC,
    confidence: Confidence = Confidence.SURE,
    *,
    trial_id: str = "t",
    clues: tuple[Clue, ...] | None = None,
) -> Diagnosis:
    """Make a diagnosis with three clues, whatever it names."""
    further = (
        Clue(name="each sync takes", value=0.0029, unit="s", source="pg_stat_io"),
        Clue(name="of the log are written", value=6.2e6, unit="bytes_per_s", source="pg_stat_wal"),
    )
    return Diagnosis(
        trial_id=trial_id,
        bottleneck=bottleneck,
        confidence=confidence,
        clues=(_SYNC, *further) if clues is None else clues,
        remedy="a device that syncs sooner, or commit_delay for more commits in one sync",
        others=(Bottleneck.LOCK,),
    )


def make_series(length: int, *, seed: int = 3) -> Series:
    """Make what probes saw of each second: waits, a disk and processors."""
    rng = Random(seed)
    columns: dict[str, list[float | None]] = {
        "second_index": [float(i) for i in range(length)],
        "cpu_server_count": [rng.uniform(0.8, 1.4) for _ in range(length)],
        "cpu_load_count": [rng.uniform(0.3, 0.5) for _ in range(length)],
        "cpu_own_count": [0.02] * length,
        "cpu_other_count": [rng.uniform(0, 0.2) for _ in range(length)],
        "disk_reads_per_s": [rng.uniform(10, 90) for _ in range(length)],
        "disk_writes_per_s": [rng.uniform(700, 900) for _ in range(length)],
        "disk_depth_count": [rng.uniform(0.5, 2) for _ in range(length)],
        "wait_cpu_count": [rng.uniform(0.8, 1.2) for _ in range(length)],
        "wait_io_count": [rng.uniform(4, 5) for _ in range(length)],
        "wait_lwlock_count": [rng.uniform(0.5, 1.5) for _ in range(length)],
        "wait_lock_count": [rng.uniform(0, 1) for _ in range(length)],
        "wait_client_count": [0.0] * length,
    }
    return Series(
        columns=tuple(columns), values=tuple(tuple(values) for values in columns.values())
    )


def make_host(*, disk: bool = True) -> HostWork:
    """Make a machine of four cores."""
    return HostWork(
        cpu=CpuWork(
            core_count=4,
            server_cpu_count=1.12,
            load_cpu_count=0.41,
            own_cpu_count=0.02,
            other_cpu_count=0.1,
            load_thread_ratio=0.4,
            idle_ratio=0.55,
            io_wait_ratio=0.1,
            steal_ratio=0.004,
            busiest_core_ratio=0.71,
            run_queue_count=2.1,
            context_switches_per_s=12000.0,
        ),
        disk=DiskWork(
            device="example1",
            reads_per_s=48.0,
            writes_per_s=802.0,
            read_bytes_per_s=4e5,
            write_bytes_per_s=6.6e6,
            flushes_per_s=310.0,
            read_wait_s=0.0004,
            write_wait_s=0.0031,
            depth_count=1.25,
            utilisation_ratio=0.97,
        )
        if disk
        else None,
    )


def _client_waits(length: int) -> tuple[WaitCount, ...]:
    return tuple(
        WaitCount(group=WaitGroup.CLIENT, wait_class=kind, event=event, sample_count=count)
        for kind, event, count in (
            ("IO", "WalSync", 83 * length),
            ("CPU", "", 9 * length),
            ("Lock", "transactionid", 4 * length),
            ("LWLock", "WALWrite", 2 * length),
            ("IO", "DataFileRead", length),
            ("IPC", "ProcArrayGroupUpdate", length),
        )
    )


def make_evidence(length: int = 5, *, wait_source: str | None = "pg_stat_activity") -> Evidence:
    """Make what probes saw of a trial of `length` seconds."""
    walwriter = WaitCount(
        group=WaitGroup.BACKGROUND,
        wait_class="Activity",
        event="WalWriterMain",
        sample_count=10 * length,
        backend_type="walwriter",
    )
    return Evidence(
        level=ProbeLevel.FULL,
        started_at_s=1.7e9,
        elapsed_s=float(length),
        wait_source=wait_source,
        activity_sample_count=10 * length,
        waits=(*_client_waits(length), walwriter),
        events=(
            ServerEvent(
                kind=EventKind.CHECKPOINT,
                at_s=0.35 * length,
                elapsed_s=0.2 * length,
                detail="requested",
            ),
            ServerEvent(
                kind=EventKind.AUTOVACUUM,
                at_s=0.7 * length,
                elapsed_s=0.03 * length,
                detail="pgbench_tellers",
            ),
            ServerEvent(kind=EventKind.WAL_SWITCH, at_s=0.4 * length),
        ),
        host=make_host(),
        costs=(
            ProbeCost(
                probe="postgres",
                call_count=10 * length,
                cpu_s=0.008 * length,
                elapsed_s=0.03 * length,
                slowest_s=0.004,
            ),
            ProbeCost(
                probe="host",
                call_count=length,
                cpu_s=0.002 * length,
                elapsed_s=0.002 * length,
                slowest_s=0.003,
            ),
        ),
        absent=(
            Absent(what="io-timing", reason="track_io_timing is off"),
            Absent(what="numa", reason="the kernel has no /proc/PID/numa_maps"),
        ),
    )


def make_course(length: int = 5, *, trial_id: str = "t") -> Course:
    """Make the course of a trial with a stall in its third second."""
    return Course(
        trial_id=trial_id,
        steady_from_s=1.0,
        cv_ratio=0.123,
        worst_ratio=0.62 if length >= 10 else math.nan,
        stalls=(
            Stall(
                first_second_index=2,
                second_count=1,
                lowest_per_s=0.0,
                coincides=EventKind.CHECKPOINT,
            ),
        ),
    )


def make_trial_evidence(  # noqa: PLR0913 - what tests vary
    trial_id: str = "t",
    *,
    environment: str = "a",
    length: int = 5,
    repeat_index: int = 0,
    tps_per_s: float = 1334.0,
    diagnosis: Diagnosis | None = None,
) -> TrialEvidence:
    """Make one watched trial."""
    return TrialEvidence(
        environment=environment,
        workload="tpcb-like",
        clients=8,
        threads=1,
        scale=10,
        trial_id=trial_id,
        repeat_index=repeat_index,
        evidence=make_evidence(length),
        series=make_series(length, seed=repeat_index),
        diagnosis=diagnosis or make_diagnosis(trial_id=trial_id),
        course=make_course(length, trial_id=trial_id),
        tps_per_s=tps_per_s,
        p99_s=0.0216,
    )


def make_rows(length: int, tps_per_s: float, *, seed: int = 1) -> tuple[SecondRow, ...]:
    """Make seconds that scatter, with a stall in the third."""
    rng = Random(seed)
    return tuple(
        SecondRow(
            index=index,
            count=0 if index == 2 else round(tps_per_s * rng.uniform(0.85, 1.1)),
            failed=0,
            skipped=0,
            mean_us=None if index == 2 else 6000.0,
            p50_us=None if index == 2 else 5000.0,
            p95_us=None if index == 2 else 9000.0,
            p99_us=None if index == 2 else rng.uniform(15_000, 27_000),
            max_us=None if index == 2 else 60_000.0,
        )
        for index in range(length)
    )


def make_scaling(environment: str = PIPED, *, why: str = "") -> Scaling:
    """Make a fit with a knee at 11 and a peak at 32 clients, or with `why` none."""
    lambda_per_s, sigma, kappa = 900.0, 0.03, 0.00095
    clients = (1, 2, 4, 8, 16, 32, 64)

    def law(n: int) -> float:
        return lambda_per_s * n / (1 + sigma * (n - 1) + kappa * n * (n - 1))

    points = tuple(
        ScalingPoint(
            clients=n,
            tps_per_s=law(n) * (1.03 if n % 3 else 0.97),
            fitted_per_s=None if why else law(n),
            used=n < 64 and not why,
        )
        for n in clients
    )
    if why:
        return Scaling(
            environment=environment, workload="tpcb-like", scale=10, points=points, why=why
        )
    return Scaling(
        environment=environment,
        workload="tpcb-like",
        scale=10,
        points=points,
        lambda_per_s=lambda_per_s,
        sigma_ratio=sigma,
        sigma_low=0.021,
        sigma_high=0.042,
        kappa_ratio=kappa,
        kappa_low=0.0007,
        kappa_high=0.0012,
        residual_ratio=0.021,
        knee_clients=11.2,
        peak_clients=32.0,
    )


def key_of(cell: CellSummary) -> CellKey:
    """Name a cell by its factors."""
    return CellKey(
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
    )


def make_guards(cells: tuple[CellSummary, ...]) -> tuple[GuardFinding, ...]:
    """Make a finding on all reads, one on a cell, one on two workloads and one on the whole."""
    reads = tuple(key_of(c) for c in cells if c.workload == "select-only")
    return (
        GuardFinding(
            kind=GuardKind.BURST,
            code="cpu-credits",
            message="the machine is a <t3.large>: its processors run on CPU credits",
        ),
        GuardFinding(
            kind=GuardKind.DATASET,
            code="did-not-measure-storage",
            message="the data of select-only fit in shared buffers: this did not measure storage",
            cells=reads,
        ),
        GuardFinding(
            kind=GuardKind.SANITY,
            code="scale-below-clients",
            message="8 clients update the same few rows of pgbench_branches; take a larger scale",
            cells=(CellKey(environment="", workload="tpcb-like", clients=8, threads=1, scale=10),),
        ),
        GuardFinding(
            kind=GuardKind.PARITY,
            code="confounded",
            message=f"{PIPED} and {AWKWARD} differ in shared_buffers (128MB, 1GB) too",
            cells=tuple(key_of(c) for c in cells if c.environment == AWKWARD),
            environments=(PIPED, AWKWARD),
        ),
    )


def _diagnose(cell: CellSummary) -> CellDiagnosis:
    bottleneck, confidence = _BOTTLENECKS[cell.environment]
    if cell.workload == "select-only":
        bottleneck, confidence = Bottleneck.CPU, Confidence.SURE
        if cell.environment == AWKWARD:
            bottleneck = Bottleneck.UNKNOWN
    clues = (
        msgspec.structs.replace(_SYNC, value=0.83 if cell.clients == 1 else 0.91),
        Clue(name="each sync takes", value=0.0029, unit="s", source="pg_stat_io"),
    )
    trial_id = cell.trial_ids[0]
    return CellDiagnosis(
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        diagnosis=make_diagnosis(bottleneck, confidence, trial_id=trial_id, clues=clues),
        agreeing_count=cell.tps_per_s.n - (cell.environment == PIPED),
        trial_count=cell.tps_per_s.n,
    )


def _watched(cell: CellSummary, trial_id: str, repeat_index: int) -> TrialEvidence:
    emulated = cell.environment == EMULATED
    rng = Random(repeat_index)
    work = msgspec.structs.replace(
        make_storage_work(credit_count=437.0),
        seconds=tuple(
            StorageSecond(
                index=index,
                read_request_count=60,
                write_request_count=700 + rng.randrange(200),
                bytes=860 * 8192,
                depth_count=rng.uniform(1, 2),
                throttled_s=0.06,
            )
            for index in range(5)
        ),
    )
    bottleneck, confidence = _BOTTLENECKS[cell.environment]
    course = make_course(trial_id=trial_id)
    if emulated:
        step = Step(
            at_s=3.2, before_per_s=1400.0, after_per_s=410.0, bucket_count=3200.0, cause="credits"
        )
        course = msgspec.structs.replace(course, step=step, steady_from_s=None)
    trial = make_trial_evidence(
        trial_id,
        environment=cell.environment,
        repeat_index=repeat_index,
        tps_per_s=cell.tps_per_s.median * (1 + 0.01 * (repeat_index - 3)),
        diagnosis=make_diagnosis(bottleneck, confidence, trial_id=trial_id),
    )
    return msgspec.structs.replace(
        trial,
        workload=cell.workload,
        clients=cell.clients,
        course=course,
        storage_work=work if emulated else None,
    )


@cache
def evident_findings(repeats: int = 9) -> Findings:
    """Give the findings of the awkward run as if it had been watched."""
    findings = example_findings(repeats)
    return msgspec.structs.replace(
        findings,
        diagnoses=tuple(_diagnose(cell) for cell in findings.cells),
        trials=tuple(
            _watched(cell, trial_id, index)
            for cell in findings.cells
            if cell.workload == "tpcb-like"
            for index, trial_id in enumerate(cell.trial_ids)
        ),
        scalings=(
            make_scaling(),
            make_scaling(AWKWARD, why="a plateau made by a cap, from 8 clients on"),
        ),
        guards=make_guards(findings.cells),
    )
