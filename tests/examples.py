"""Made-up records, runs and findings for tests: deterministic, and awkward on purpose.

`example_run()` has what breaks reports: an environment whose name holds quotes and HTML, an
emulated one, a failed, a skipped and an untried trial, cautions, per-second rows. The numbers are
made up and look like it; no test may take them for a measurement.
"""

from __future__ import annotations

import math
from functools import cache
from random import Random
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse import Findings, RunRecords, analyse
from groundspeed.plan import Cell, Trial
from groundspeed.record import (
    Caution,
    CreditsLeft,
    Failed,
    Histogram,
    HostFacts,
    LatencySummary,
    Measured,
    Outcome,
    Phase,
    Provenance,
    Record,
    SecondRow,
    ServerFacts,
    Setting,
    Skipped,
    StorageFacts,
    StorageSecond,
    StorageWork,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

AWKWARD = "mem <b>'x\""
PIPED = "disk|a"
EMULATED = "slow-disk"
ENVIRONMENTS = (PIPED, AWKWARD, EMULATED)
WORKLOADS = ("tpcb-like", "select-only")
_TPS_AT_ONE_CLIENT = {PIPED: 800.0, AWKWARD: 1700.0, EMULATED: 310.0}
_DURATION_S = 5


def make_trial(  # noqa: PLR0913 - each factor is one argument
    *,
    environment: str = "a",
    workload: str = "tpcb-like",
    clients: int = 1,
    threads: int = 1,
    scale: int = 10,
    repeat_index: int = 0,
    block_index: int | None = None,
    trial_id: str | None = None,
    duration_s: int = _DURATION_S,
    protocol: str = "prepared",
    rate_per_s: float | None = None,
) -> Trial:
    """Make a trial; block and id follow from the repeat unless they are given."""
    slug = "".join(c for c in environment if c.isalnum())
    return Trial(
        trial_id=trial_id or f"{slug}.{workload}-c{clients}-j{threads}.r{repeat_index + 1}",
        block_index=repeat_index if block_index is None else block_index,
        repeat_index=repeat_index,
        cell=Cell(
            environment=environment,
            workload=workload,
            clients=clients,
            threads=threads,
            scale=scale,
        ),
        duration_s=duration_s,
        warm_up_s=1.0,
        protocol=protocol,
        rate_per_s=rate_per_s,
        random_seed=7,
    )


def make_measured(
    tps_per_s: float = 1000.0,
    *,
    p50_s: float = 0.001,
    failed_count: int = 0,
    log_sampling_ratio: float = 1.0,
) -> Measured:
    """Make a measurement whose latencies all follow from the median one."""
    count = round(tps_per_s * _DURATION_S) if math.isfinite(tps_per_s) else 0
    return Measured(
        tps_per_s=tps_per_s,
        transaction_count=count,
        failed_count=failed_count,
        serialization_failure_count=failed_count,
        deadlock_failure_count=0,
        retried_count=0,
        retries_count=0,
        skipped_count=0,
        initial_connection_s=0.004,
        latency=LatencySummary(
            mean_s=p50_s * 1.1,
            stddev_s=p50_s * 0.5,
            p50_s=p50_s,
            p90_s=p50_s * 1.6,
            p95_s=p50_s * 2,
            p99_s=p50_s * 4,
            p999_s=p50_s * 9,
            max_s=p50_s * 30,
        ),
        log_sampling_ratio=log_sampling_ratio,
        histogram=Histogram(sub_bucket_bits=7, buckets=((100, count),)),
    )


def make_host(*, kernel: str = "6.1.0-example") -> HostFacts:
    """Make a machine."""
    return HostFacts(
        kernel=kernel,
        cpu_model="Example CPU",
        cpu_count=8,
        memory_bytes=16 * 1024**3,
        virtualization="none",
        governor="performance",
        clock_source="tsc",
        transparent_huge_pages="madvise",
    )


def make_server(
    *, version: str = "16.4", settings: Sequence[tuple[str, str, str | None]] = ()
) -> ServerFacts:
    """Make a server; `settings` are (name, value, unit)."""
    return ServerFacts(
        version=version,
        version_num=160004,
        settings=tuple(
            Setting(name=name, value=value, unit=unit, source="configuration file")
            for name, value, unit in settings
        ),
        extensions=("plpgsql",),
    )


def make_storage(
    *, label: str = "this-disk", emulated: bool = False, filesystem: str = "ext4"
) -> StorageFacts:
    """Make a place for a data directory."""
    return StorageFacts(
        label=label,
        emulated=emulated,
        path="/srv/example/data",
        filesystem=filesystem,
        device="/dev/example1",
        mount_options="rw,relatime",
    )


def make_storage_work(  # noqa: PLR0913 - what tests vary
    *,
    read_waited_s: float = 0.2,
    sync_waited_s: float = 4.5,
    late_s: float = 0.0,
    error_count: int = 0,
    full_count: int = 0,
    refused_count: int = 0,
    forgotten_file_count: int = 0,
    credit_count: float | None = None,
) -> StorageWork:
    """Make what an emulated device did in five seconds; the last credits of 1000 as given."""
    return StorageWork(
        elapsed_s=float(_DURATION_S),
        read_call_count=3000,
        read_bytes=3000 * 8192,
        hit_page_count=5400,
        miss_page_count=600,
        read_request_count=300,
        read_request_bytes=300 * 8192,
        read_waited_s=read_waited_s,
        readahead_page_count=0,
        write_call_count=5000,
        write_bytes=5000 * 8192,
        write_request_count=4000,
        write_request_bytes=4000 * 8192,
        write_waited_s=0.01,
        sync_call_count=1550,
        sync_waited_s=sync_waited_s,
        mean_depth_count=1.25,
        max_depth_count=3.5,
        throttled_s=0.3,
        late_count=2 if late_s else 0,
        late_s=late_s,
        dirty_peak_bytes=40 * 1024**2,
        error_count=error_count,
        full_count=full_count,
        refused_count=refused_count,
        forgotten_file_count=forgotten_file_count,
        credits=()
        if credit_count is None
        else (
            CreditsLeft(
                tier="device", of="requests", on="both", left=credit_count, capacity=1000.0
            ),
        ),
        seconds=(
            StorageSecond(
                index=0,
                read_request_count=60,
                write_request_count=800,
                bytes=860 * 8192,
                depth_count=1.25,
                throttled_s=0.06,
            ),
        ),
    )


def make_provenance(
    *,
    server: ServerFacts | None = None,
    host: HostFacts | None = None,
    storage: StorageFacts | None = None,
    reset: str | None = "vacuum: the tables are vacuumed before each trial",
) -> Provenance:
    """Make circumstances; what is not given is ordinary."""
    return Provenance(
        groundspeed_version="0.1.0",
        command=("pgbench", "-T", str(_DURATION_S)),
        tool_version="pgbench (PostgreSQL) 16.4",
        server=server or make_server(settings=[("shared_buffers", "16384", "8kB")]),
        host=host or make_host(),
        storage=storage or make_storage(),
        reset=reset,
    )


def make_record(  # noqa: PLR0913 - each factor is one argument
    trial: Trial | None = None,
    outcome: Outcome | None = None,
    *,
    attempt: int = 1,
    number: int = 0,
    provenance: Provenance | None = None,
    cautions: tuple[Caution, ...] = (),
    storage_work: StorageWork | None = None,
) -> Record:
    """Make a record; `number` sets when it started."""
    minutes, seconds = divmod(number * 7, 60)
    return Record(
        trial=trial or make_trial(),
        attempt=attempt,
        started_at=f"2026-01-02T{3 + minutes // 60:02}:{minutes % 60:02}:{seconds:02}+00:00",
        elapsed_s=6.5,
        phases=(Phase(name="warm up", elapsed_s=1.0), Phase(name="measure", elapsed_s=5.0)),
        outcome=outcome or make_measured(),
        provenance=provenance or make_provenance(),
        cautions=cautions,
        storage_work=storage_work,
    )


def make_run(
    records: Sequence[Record],
    *,
    run_id: str = "20260102-example",
    planned_trial_count: int | None = None,
    seconds: dict[str, tuple[SecondRow, ...]] | None = None,
    cautions: tuple[Caution, ...] = (),
) -> RunRecords:
    """Make a run of these records, with their environments and workloads in order."""
    return RunRecords(
        run_id=run_id,
        suite_name="example",
        description="Made-up numbers for tests",
        planned_trial_count=len(records) if planned_trial_count is None else planned_trial_count,
        environments=tuple(dict.fromkeys(r.trial.cell.environment for r in records)),
        workloads=tuple(dict.fromkeys(r.trial.cell.workload for r in records)),
        records=tuple(records),
        seconds=seconds or {},
        cautions=cautions,
    )


def make_paired_records(  # noqa: PLR0913 - each factor is one argument
    ratios: Sequence[float],
    *,
    clients: int = 1,
    environment: str = "b",
    baseline: str = "a",
    workload: str = "tpcb-like",
    first_block: int = 0,
) -> list[Record]:
    """Make one block for each ratio, the environment's TPS over the baseline's."""
    records = []
    for index, ratio in enumerate(ratios):
        base_tps = 1000.0 + 10 * index
        for name, tps in ((baseline, base_tps), (environment, base_tps * ratio)):
            trial = make_trial(
                environment=name,
                workload=workload,
                clients=clients,
                repeat_index=index,
                block_index=first_block + index,
            )
            records.append(
                make_record(trial, make_measured(tps, p50_s=clients / tps if tps else math.nan))
            )
    return records


def make_seconds(rng: Random, tps_per_s: float, length: int = _DURATION_S) -> tuple[SecondRow, ...]:
    """Make the per-second rows of a trial; the third second has no answer at all."""
    rows = []
    for index in range(length):
        count = 0 if index == 2 else round(tps_per_s * rng.uniform(0.9, 1.1))
        p50_us = 1e6 / tps_per_s
        rows.append(
            SecondRow(
                index=index,
                count=count,
                failed=0,
                skipped=0,
                mean_us=p50_us * 1.1 if count else None,
                p50_us=p50_us if count else None,
                p95_us=p50_us * 2 if count else None,
                p99_us=p50_us * 4 if count else None,
                max_us=p50_us * 30 if count else None,
            )
        )
    return tuple(rows)


def _circumstances(environment: str) -> Provenance:
    buffers = "131072" if environment == AWKWARD else "16384"
    return make_provenance(
        server=make_server(settings=[("shared_buffers", buffers, "8kB")]),
        storage=make_storage(
            label="cloud-volume" if environment == EMULATED else environment,
            emulated=environment == EMULATED,
            filesystem="tmpfs" if environment == AWKWARD else "ext4",
        ),
    )


def _outcome(trial: Trial, tps_per_s: float) -> Outcome:
    cell = trial.cell
    if cell.environment == EMULATED and cell.workload == "select-only":
        return Skipped(reason="the dataset does not fit <on> the device")
    if cell.environment == PIPED and cell.clients == 8 and trial.repeat_index == 6:
        return Failed(reason="pgbench: error | connection to server was lost", retryable=True)
    return make_measured(
        tps_per_s, p50_s=0.9 * cell.clients / tps_per_s, failed_count=cell.clients // 8
    )


def example_records(repeats: int = 9) -> list[Record]:
    """Make the records of an awkward run: two workloads, two numbers of clients, three blocks."""
    rng = Random(20260102)
    records: list[Record] = []
    combinations = [(w, c) for w in WORKLOADS for c in (1, 8)]
    for repeat_index in range(repeats):
        for place, (workload, clients) in enumerate(combinations):
            mood = rng.gauss(1, 0.05)
            for environment in ENVIRONMENTS:
                trial = make_trial(
                    environment=environment,
                    workload=workload,
                    clients=clients,
                    repeat_index=repeat_index,
                    block_index=repeat_index * len(combinations) + place,
                )
                gain = clients**0.7 * (12 if workload == "select-only" else 1)
                # What memory wins in writing it does not win in reading from the page cache.
                level = 800.0 if workload == "select-only" else _TPS_AT_ONE_CLIENT[environment]
                tps = level * gain * mood * rng.gauss(1, 0.02)
                cautions: tuple[Caution, ...] = ()
                if repeat_index == 0:
                    cautions = (Caution(code="page-cache", message="buffers were <half> filled"),)
                records.append(
                    make_record(
                        trial,
                        _outcome(trial, tps),
                        number=len(records),
                        provenance=_circumstances(environment),
                        cautions=cautions,
                        storage_work=make_storage_work(credit_count=437.0)
                        if environment == EMULATED
                        else None,
                    )
                )
    return records


def example_run(repeats: int = 9) -> RunRecords:
    """Make an awkward run, with per-second rows of the write trials and two trials untried."""
    records = example_records(repeats)
    rng = Random(7)
    seconds = {
        r.trial.trial_id: make_seconds(rng, r.outcome.tps_per_s)
        for r in records
        if isinstance(r.outcome, Measured) and r.trial.cell.workload == "tpcb-like"
    }
    return make_run(
        records,
        planned_trial_count=len(records) + 2,
        seconds=seconds,
        cautions=(Caution(code="torn-line", message="the last line was torn and is left out"),),
    )


@cache
def example_findings(repeats: int = 9) -> Findings:
    """Analyse the awkward run."""
    return analyse([example_run(repeats)])


def pool_runs(*records: Record) -> Findings:
    """Analyse records as one run each; at different times, for two that agree in all are one."""
    return analyse(
        [
            make_run([msgspec.structs.replace(r, started_at=f"2026-01-0{i}")], run_id=f"run-{i}")
            for i, r in enumerate(records, 1)
        ]
    )


def caution_codes(findings: Findings) -> list[str]:
    """List the codes of the cautions on the whole."""
    return [caution.code for caution in findings.cautions]


def caution_messages(findings: Findings, code: str) -> list[str]:
    """List what the cautions of one code say."""
    return [c.message for c in findings.cautions if c.code == code]


def footnotes_of(findings: Findings, index: int = 0) -> list[str]:
    """List what the footnotes of one cell say."""
    return [findings.footnotes[i].message for i in findings.cells[index].footnotes]
