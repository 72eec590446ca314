"""What the loads of a probe came to: a row for each, a value for each block.

It keeps what intervals need, so that a comparison made years later still has them.
"""

from __future__ import annotations

from enum import Enum
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.stats.cliff import Cliff, find_cliff
from groundspeed.stats.counted import merge, quantiles
from groundspeed.storage.fit import QUANTILE_RATIOS
from groundspeed.tools.fio import Access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.tools.fio import Job, Latencies, Output, Result
    from groundspeed.tools.probe_plan import ProbePlan

PROBED_FORMAT = 1
_SHOWN_RATIOS = (0.5, 0.95, 0.99)


class What(Enum):
    """Which requests of a load a row tells of. A flush's rate is that of its writes."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"


_SIDES = {
    Access.RANDOM_READ: (What.READ,),
    Access.READ: (What.READ,),
    Access.RANDOM_WRITE: (What.WRITE,),
    Access.WRITE: (What.WRITE,),
}


class Circumstances(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how a probe measured.

    `direct`: the page cache was passed by. `emulated`: the storage was a model itself.
    """

    name: str
    date: str
    directory: str
    filesystem: str
    device: str
    mount_options: str
    in_memory: bool
    direct: bool
    emulated: bool
    cpu_count: int
    readahead_bytes: int | None
    size_bytes: int
    time_s: float
    seed: int
    groundspeed_version: str


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One side of one load; tuples hold a value for each block.

    `quantiles` are of all blocks together, and rest on `count` requests.
    """

    load: str
    access: Access
    what: What
    block_bytes: int
    depth_count: int
    rates_per_s: tuple[float, ...]
    bytes_per_s: tuple[float, ...]
    mean_s: tuple[float, ...]
    p50_s: tuple[float, ...]
    p95_s: tuple[float, ...]
    p99_s: tuple[float, ...]
    count: int
    quantiles: tuple[tuple[float, float], ...]
    cpu_counts: tuple[float, ...]
    # Empty in probes that are older.
    kernel_cpu_counts: tuple[float, ...] = ()


class Burst(msgspec.Struct, frozen=True, kw_only=True):
    """A long load, window by window, and the fall of its rate, if there was one."""

    load: str
    access: Access
    block_bytes: int
    window_s: float
    rates_per_s: tuple[float, ...]
    cliff: Cliff | None


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """All that a probe measured."""

    format: int = PROBED_FORMAT
    fio_version: str
    circumstances: Circumstances
    rows: tuple[Row, ...]
    bursts: tuple[Burst, ...]

    @property
    def block_count(self) -> int:
        """How many values each row has."""
        return len(self.rows[0].rates_per_s)

    def row(self, load: str, what: What) -> Row:
        """Find a row. Raises KeyError where the load has no such side."""
        for row in self.rows:
            if (row.load, row.what) == (load, what):
                return row
        raise KeyError(f"{load} has no {what.value}")


def make_probed(
    plan: ProbePlan,
    outputs: Sequence[Output],
    logs: Sequence[tuple[float, ...]],
    circumstances: Circumstances,
) -> Probed:
    """Gather what fio told of each block, and the rates of each long load.

    Raises ValueError when a load of the plan did nothing.
    """
    jobs = sorted(plan.blocks[0], key=_place)
    rows = [row for job in jobs for row in _rows(job, outputs)]
    return Probed(
        fio_version=outputs[0].version,
        circumstances=circumstances,
        rows=tuple(rows),
        bursts=tuple(_burst(job, log) for job, log in zip(plan.long, logs, strict=True)),
    )


def _place(job: Job) -> tuple[int, bool, int, int]:
    return list(Access).index(job.access), job.sync, job.block_bytes, job.depth_count


def _rows(job: Job, outputs: Sequence[Output]) -> Iterable[Row]:
    results = [r for output in outputs for r in output.results if r.name == job.name]
    wanted = list(_SIDES.get(job.access, (What.READ, What.WRITE)))
    if job.sync:
        wanted.append(What.SYNC)
    return [_row(job, results, what) for what in wanted]


def _row(job: Job, results: Sequence[Result], what: What) -> Row:
    sides = [result.read if what is What.READ else result.write for result in results]
    latencies: list[Latencies] = []
    for result, side in zip(results, sides, strict=True):
        told = result.sync if what is What.SYNC else side.latency if side else None
        if told is None or not told.count:
            raise ValueError(f"{job.name}: not one {what.value} in {job.duration_s:.2f} s")
        latencies.append(told)
    shown = [quantiles(told.bins_ns, _SHOWN_RATIOS) for told in latencies]
    pooled = merge(told.bins_ns for told in latencies)
    p50, p95, p99 = (tuple(ns / 1e9 for ns in column) for column in zip(*shown, strict=True))
    return Row(
        load=job.name,
        access=job.access,
        what=what,
        block_bytes=job.block_bytes,
        depth_count=job.depth_count,
        rates_per_s=tuple(side.rate_per_s for side in sides if side),
        bytes_per_s=tuple(side.bytes_per_s for side in sides if side),
        mean_s=tuple(told.mean_s for told in latencies),
        p50_s=p50,
        p95_s=p95,
        p99_s=p99,
        count=sum(told.count for told in latencies),
        quantiles=tuple(
            (ratio, ns / 1e9)
            for ratio, ns in zip(QUANTILE_RATIOS, quantiles(pooled, QUANTILE_RATIOS), strict=True)
        ),
        cpu_counts=tuple(result.cpu_count for result in results),
        kernel_cpu_counts=tuple(result.kernel_cpu_count for result in results),
    )


def _burst(job: Job, rates_per_s: tuple[float, ...]) -> Burst:
    # The first window holds the start of the threads.
    kept = rates_per_s[1:]
    return Burst(
        load=job.name,
        access=job.access,
        block_bytes=job.block_bytes,
        window_s=job.window_s or 0.0,
        rates_per_s=kept,
        cliff=find_cliff(kept),
    )


def drift_ratio(probed: Probed) -> float | None:
    """Tell by what factor rates changed from the first third of the blocks to the last.

    The median over all loads; None for fewer than three blocks.
    """
    third = probed.block_count // 3
    if not third:
        return None
    return median(
        median(row.rates_per_s[-third:]) / median(row.rates_per_s[:third]) for row in probed.rows
    )
