"""Made-up trials for the tests of guards: environments side by side, and what probes saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.compare import compare
from groundspeed.analyse.doubts import FootnoteBook
from groundspeed.analyse.guards import guards
from groundspeed.record import Evidence
from groundspeed.record.evidence import PostgresWork, ProbeLevel, ServerSizes
from groundspeed.record.machine import CpuWork, GroupWork, HostWork, MemoryWork
from tests.examples import make_measured, make_record, make_run, make_trial

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse import RunRecords
    from groundspeed.analyse.diagnosis import GuardFinding
    from groundspeed.record import Provenance, Record, StorageWork

MIB, GIB = 1024**2, 1024**3


def sizes(**changed: object) -> ServerSizes:
    """Sizes of a small server; what is not given is ordinary."""
    plain = ServerSizes(
        database_bytes=1600 * MIB,
        touched_bytes=1500 * MIB,
        shared_buffers_bytes=128 * MIB,
        max_connections_count=100,
    )
    return msgspec.structs.replace(plain, **changed)


def host_work(
    *,
    other_cpu_count: float | None = 0.0,
    steal_ratio: float = 0.0,
    group: GroupWork | None = None,
    available_bytes: int | None = None,
) -> HostWork:
    """A machine of four cores."""
    return HostWork(
        cpu=CpuWork(
            core_count=4,
            server_cpu_count=1.0,
            load_cpu_count=0.5,
            own_cpu_count=0.01,
            other_cpu_count=other_cpu_count,
            load_thread_ratio=0.5,
            idle_ratio=0.5,
            io_wait_ratio=0.0,
            steal_ratio=steal_ratio,
            busiest_core_ratio=0.9,
            run_queue_count=1.0,
            context_switches_per_s=1000.0,
        ),
        memory=None
        if available_bytes is None
        else MemoryWork(
            available_least_bytes=available_bytes,
            page_cache_bytes=available_bytes,
            dirty_peak_bytes=0,
            swap_in_bytes=0,
            swap_out_bytes=0,
        ),
        group=group,
    )


def evidence(seen: ServerSizes | None = None, host: HostWork | None = None) -> Evidence:
    """What probes saw of the server's sizes and of the machine."""
    return Evidence(
        level=ProbeLevel.FULL,
        started_at_s=0.0,
        elapsed_s=5.0,
        postgres=None if seen is None else PostgresWork(sizes=seen),
        host=host,
    )


def side_by_side(  # noqa: PLR0913 - what tests vary
    environments: Mapping[str, Provenance],
    *,
    workloads: Sequence[str] = ("select-only",),
    clients: Sequence[int] = (1,),
    scale: int = 100,
    blocks: int = 2,
    seen: Mapping[str, Evidence] | None = None,
    work: Mapping[str, StorageWork] | None = None,
) -> list[Record]:
    """Measure each environment in each cell, once in each block, at exactly 1,000 TPS a client."""
    records = []
    cells = [(w, c) for w in workloads for c in clients]
    for block in range(blocks):
        for place, (workload, count) in enumerate(cells):
            for name, provenance in environments.items():
                trial = make_trial(
                    environment=name,
                    workload=workload,
                    clients=count,
                    scale=scale,
                    repeat_index=block,
                    block_index=block * len(cells) + place,
                )
                record = make_record(
                    trial,
                    # The mean of make_measured is 1.1 times its median.
                    make_measured(1000.0 * count, p50_s=0.001 / 1.1),
                    provenance=provenance,
                    storage_work=(work or {}).get(name),
                )
                records.append(msgspec.structs.replace(record, evidence=(seen or {}).get(name)))
    return records


def guarded(
    records: Sequence[Record], *, baseline: str = "a", **changed: object
) -> tuple[GuardFinding, ...]:
    """Let the guards look at a run of these records; `changed` are its other fields."""
    run: RunRecords = msgspec.structs.replace(make_run(records), **changed)
    settled = settle([run])
    return guards(settled, compare(settled, baseline, FootnoteBook()))


def codes(found: Sequence[GuardFinding]) -> list[str]:
    return [finding.code for finding in found]
