"""A probe of a device that is made up: rates and latencies follow its numbers exactly."""

from __future__ import annotations

from random import Random

import msgspec

from groundspeed.analyse.probed import Circumstances, Probed, make_probed
from groundspeed.tools import probe_plan
from groundspeed.tools.fio import Access, Job, Latencies, Output, Result, Side


class Disk(msgspec.Struct, frozen=True, kw_only=True):
    """`servers` requests at once, capped; `scatter_ratio` is that of a block around the others."""

    read_s: float = 1e-4
    write_s: float = 5e-5
    sync_s: float = 1e-3
    servers: float = 64.0
    requests_per_s: float = 1e9
    shared: bool = True
    bytes_per_s: float = 5e8
    scatter_ratio: float = 0.02
    busy_cpus: float = 0.1
    kernel_cpus: float = 0.08
    slower_ratio: float = 1.0


CIRCUMSTANCES = Circumstances(
    name="made-up",
    date="2026-01-31 12:00:00 +0000",
    directory="/mnt/<b>",
    filesystem="ext4",
    device="/dev/sdz",
    mount_options="rw",
    in_memory=False,
    direct=True,
    emulated=False,
    cpu_count=2,
    readahead_bytes=131072,
    size_bytes=1024**3,
    time_s=60.0,
    seed=1,
    groundspeed_version="0.1.0",
)


def _latencies(mean_s: float) -> Latencies:
    ns = round(mean_s * 1e9)
    bins = ((ns * 9 // 10, 400), (ns, 500), (ns * 12 // 10, 95), (ns * 3, 5))
    return Latencies(count=1000, mean_s=mean_s, min_s=mean_s * 0.9, max_s=mean_s * 3, bins_ns=bins)


def _side(job: Job, base_s: float, share: float, disk: Disk, factor: float) -> Side:
    most_per_s = min(
        disk.requests_per_s * share,
        disk.bytes_per_s * share / job.block_bytes,
        disk.servers / base_s,
    )
    rate_per_s = min(job.depth_count * share / base_s, most_per_s) * factor
    return Side(
        rate_per_s=rate_per_s,
        bytes_per_s=rate_per_s * job.block_bytes,
        latency=_latencies(job.depth_count * share / rate_per_s),
    )


def _result(job: Job, disk: Disk, factor: float) -> Result:
    mixed = job.access in (Access.MIXED, Access.BOTH)
    share = 1.0 if not mixed or not disk.shared else 0.7 if job.access is Access.MIXED else 0.5
    reads = mixed or job.access in (Access.RANDOM_READ, Access.READ)
    writes = mixed or not reads
    return Result(
        name=job.name,
        read=_side(job, disk.read_s, share, disk, factor) if reads else None,
        write=_side(job, disk.write_s, 1 - share if mixed and disk.shared else 1.0, disk, factor)
        if writes
        else None,
        sync=_latencies(disk.sync_s / factor) if job.sync else None,
        cpu_count=disk.busy_cpus,
        kernel_cpu_count=disk.kernel_cpus,
    )


def probe(
    disk: Disk,
    *,
    time_s: float = 60.0,
    logs: tuple[tuple[float, ...], ...] = ((1e6,) * 30, (1e6,) * 30),
    **circumstances: object,
) -> Probed:
    """Probe a disk that is made up."""
    rng = Random(5)
    plan = probe_plan.make_plan(size_bytes=1024**3, time_s=time_s, seed=1, rng=Random(1))
    count = len(plan.blocks)
    outputs = [
        Output(
            version="3.33",
            results=tuple(
                _result(
                    job,
                    disk,
                    (1 + rng.uniform(-1, 1) * disk.scatter_ratio)
                    * (disk.slower_ratio if 2 * number > count else 1.0),
                )
                for job in block
            ),
        )
        for number, block in enumerate(plan.blocks)
    ]
    seen = msgspec.structs.replace(CIRCUMSTANCES, **circumstances)
    return make_probed(plan, outputs, logs, seen)
