"""Measurements of a device become the profile that plays it.

Two figures cannot be read off and are fitted: how many requests are served at once, from where
latency begins to rise with depth, and what a flush takes beyond the write that it waits for. Both
carry how well they fit. Pure.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec

from groundspeed.storage.distribution import quantile_s
from groundspeed.storage.profile import (
    Counted,
    CpuTime,
    Device,
    Direction,
    Figure,
    Latency,
    Limit,
    Profile,
    Standing,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

QUANTILE_RATIOS = (0.01, 0.05, 0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99, 0.999)
# EBS merges up to this; the kernel of most disks too. It cannot be measured from outside.
REQUEST_BYTES = 256 * 1024
MOST_PARALLEL_COUNT = 256
_PARALLEL_STEPS_COUNT = 512
# Residuals that differ by less are the same fit, where a cap hides the difference.
_AS_WELL_RATIO, _AS_WELL_RESIDUAL = 1.1, 0.005
_REACHED_RATIO = 0.95
_GRID = tuple((i + 0.5) / 80 for i in range(80))
_SUM_PLACES_COUNT = 200
_FIRST_STEP_RATIO, _LAST_STEP_RATIO = 0.5, 0.01
# A round that wins less is followed by a finer one.
_WORTH_RATIO = 0.98
# A time that costs nothing and still has a logarithm.
_LEAST_S = 1e-8
_BODY_RATIO = 0.95

Quantiles = tuple[tuple[float, float], ...]


class DepthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """Mean latency at a number of requests in flight, and the rate that came of it."""

    depth_count: int
    rate_per_s: float
    mean_s: float


class ParallelFit(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests are served at once, as fitted to latency against depth.

    `residual_ratio` is how far the fitted latencies are from the measured ones, as the root mean
    square of their log ratio: 0.1 is about 10%. Not `reached`: latency had not begun to rise, and
    `servers_count` is the greatest depth that was tried.
    """

    servers_count: float
    reached: bool
    residual_ratio: float


class FlushFit(msgspec.Struct, frozen=True, kw_only=True):
    """What a write and a flush take, so that together they take what was measured.

    `residual_ratio` is the greatest deviation of a quantile of their sum, up to p95.
    """

    write: Quantiles
    sync: Quantiles
    residual_ratio: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe found. `write_and_sync` is a write of one page with the flush that follows it.

    `burst_rate_per_s` is the level before a burst ended, which the device must be able to serve.
    """

    name: str
    about: str
    date: str
    how: str
    read: Quantiles
    write: Quantiles
    write_and_sync: Quantiles
    reads: tuple[DepthPoint, ...]
    writes: tuple[DepthPoint, ...]
    limits: tuple[tuple[Limit, str], ...]
    burst_rate_per_s: float = 0.0
    readahead_bytes: int | None = None
    cpu: CpuTime = CpuTime()


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """A profile, and how well its fitted figures fit."""

    profile: Profile
    reads: ParallelFit
    writes: ParallelFit
    flush: FlushFit


def fit_parallel(points: Sequence[DepthPoint], cap_per_s: float = math.inf) -> ParallelFit:
    """Fit k of latency(depth) = latency(1) max(1, depth / k): a closed loop on k servers.

    That is Little's law with a rate of depth / latency(1) up to k / latency(1) and no more. Where
    requests are capped, latency is depth / cap at least, and of all k that fit as well the greatest
    is taken: what the cap explains needs no queue. Least squares of log latency over k from 1 to
    256. The first point is the one at depth 1. Raises ValueError for fewer than two points.
    """
    if len(points) < 2:  # noqa: PLR2004 - one point has no slope
        raise ValueError("latency against depth takes two depths")
    base_s = points[0].mean_s

    def residual(servers: float) -> float:
        off = 0.0
        for point in points:
            depth = point.depth_count
            told_s = max(base_s * max(1.0, depth / servers), depth / cap_per_s)
            off += math.log(point.mean_s / told_s) ** 2
        return math.sqrt(off / (len(points) - 1))

    steps = [
        MOST_PARALLEL_COUNT ** (i / _PARALLEL_STEPS_COUNT)
        for i in range(_PARALLEL_STEPS_COUNT, -1, -1)
    ]
    least = min(map(residual, steps))
    allowed = least * _AS_WELL_RATIO + _AS_WELL_RESIDUAL if cap_per_s < math.inf else least
    best = next(servers for servers in steps if residual(servers) <= allowed)
    deepest = max(point.depth_count for point in points)
    reached = best < deepest * _REACHED_RATIO
    return ParallelFit(
        servers_count=best if reached else float(deepest),
        reached=reached,
        residual_ratio=residual(best),
    )


def _cap_per_s(measured: Measured, on: Direction) -> float:
    caps = [
        limit.rate_per_s
        for limit, _ in measured.limits
        if limit.of is Counted.REQUESTS and limit.on in (on, Direction.BOTH)
    ]
    return min(caps, default=math.inf)


def fit_flush(write: Quantiles, total: Quantiles) -> FlushFit:
    """Find the flush whose independent sum with a write has the quantiles of `total`.

    Subtracting quantiles would keep the mean but not the spread: slow writes and slow flushes do
    not come together. So the flush is moved, quantile by quantile, until the sum fits. Where
    a write alone takes longer than a write with its flush did (the page cache's writes can be
    cheaper than those past it), the write is taken to be as fast as both together. Least squares
    of the log quantiles.
    """
    capped = tuple((ratio, min(time_s, quantile_s(total, ratio))) for ratio, time_s in write)
    writes = [quantile_s(capped, ratio) for ratio in _GRID]
    ratios = [ratio for ratio, _ in total]
    # Slow flushes do not meet slow writes, so the furthest ones are the sum but for a usual write.
    # No grid sees them often enough to correct them.
    last_s = max(_LEAST_S, total[-1][1] - quantile_s(capped, 0.5))

    def off(flushes: list[float]) -> list[float]:
        sync = tuple(zip(ratios, [*flushes, last_s], strict=True))
        got = _quantiles_of_sum(writes, sync)
        return [math.log(quantile_s(got, ratio) / want) for ratio, want in total[:-1]]

    first = [max(_LEAST_S, time_s - quantile_s(capped, r)) for r, time_s in total[:-1]]
    start = [min(time_s, last_s) for time_s in accumulate(first, max)]
    flushes = _descend(start, last_s, lambda times: sum(d * d for d in off(times)))
    body = [d for d, ratio in zip(off(flushes), ratios, strict=False) if ratio <= _BODY_RATIO]
    return FlushFit(
        write=capped,
        sync=tuple(zip(ratios, [*flushes, last_s], strict=True)),
        residual_ratio=max(map(abs, map(math.expm1, body))),
    )


def _descend(start: list[float], most: float, loss: Callable[[list[float]], float]) -> list[float]:
    """Move one value at a time, as long as it lowers the loss; values stay ascending.

    Not all at once, each by its own error: the quantiles of a sum answer to several of its part's.
    """
    best, least, step = start, loss(start), _FIRST_STEP_RATIO
    while step > _LAST_STEP_RATIO:
        before = least
        for place in range(len(best)):
            for factor in (1 + step, 1 / (1 + step)):
                moved = max(_LEAST_S, best[place] * factor)
                # What would be overtaken is taken along.
                tried = [max(v, moved) if i > place else min(v, moved) for i, v in enumerate(best)]
                tried[place] = moved
                if tried[-1] <= most and (found := loss(tried)) < least:
                    best, least = tried, found
        if least > before * _WORTH_RATIO:
            step /= 2
    return best


def _quantiles_of_sum(writes: Sequence[float], sync: Quantiles) -> Quantiles:
    flushes = [quantile_s(sync, ratio) for ratio in _GRID]
    sums = sorted(write + flush for write in writes for flush in flushes)
    step = len(sums) / _SUM_PLACES_COUNT
    places = [(i + 0.5) / _SUM_PLACES_COUNT for i in range(_SUM_PLACES_COUNT)]
    return tuple((ratio, sums[int((i + 0.5) * step)]) for i, ratio in enumerate(places))


def fit(measured: Measured) -> Fit:
    """Make the profile of what was measured. Raises ValueError where measurements lack."""
    reads = fit_parallel(measured.reads, _cap_per_s(measured, Direction.READ))
    writes = fit_parallel(measured.writes, _cap_per_s(measured, Direction.WRITE))
    flush = fit_flush(measured.write, measured.write_and_sync)
    # What was served before a burst ended went through at once too (Little's law).
    burst = measured.burst_rate_per_s * measured.reads[0].mean_s
    parallel = math.ceil(max(reads.servers_count, writes.servers_count, burst) - 1e-6)
    parallel = min(parallel, MOST_PARALLEL_COUNT)
    profile = Profile(
        name=measured.name,
        about=measured.about,
        device=Device(
            read=_latency(measured.read),
            write=_latency(flush.write),
            sync=_latency(flush.sync),
            parallel_count=parallel,
            limits=tuple(limit for limit, _ in measured.limits),
        ),
        request_bytes=REQUEST_BYTES,
        cpu=_rounded(measured.cpu),
        figures=_figures(measured, reads, writes, flush),
    )
    if measured.readahead_bytes is not None:
        profile = msgspec.structs.replace(profile, readahead_bytes=measured.readahead_bytes)
    return Fit(profile=profile, reads=reads, writes=writes, flush=flush)


def _latency(quantiles: Quantiles) -> Latency:
    rounded = tuple((ratio, round(time_s, 9)) for ratio, time_s in quantiles)
    told = dict(rounded)
    return Latency(median_s=told[0.5], p99_s=told[0.99], quantiles=rounded)


def _rounded(cpu: CpuTime) -> CpuTime:
    return CpuTime(**{name: round(s, 9) for name, s in msgspec.structs.asdict(cpu).items()})


def _figures(
    measured: Measured, reads: ParallelFit, writes: ParallelFit, flush: FlushFit
) -> tuple[Figure, ...]:
    def figure(what: str, standing: Standing, source: str) -> Figure:
        return Figure(what=what, standing=standing, source=source, date=measured.date)

    how = measured.how
    slower = flush.write != measured.write
    write = f"{how}: random 8 KiB writes at depth 1"
    if slower:
        write += ", not above what a write with its fdatasync took"
    sync = (
        f"{how}: 8 KiB writes with fdatasync, less device.write; the sum of both is within"
        f" {flush.residual_ratio:.1%} of what was measured, up to p95"
    )
    return (
        figure("device.read", Standing.MEASURED, f"{how}: random 8 KiB reads at depth 1"),
        figure("device.write", Standing.MEASURED, write),
        figure("device.sync", Standing.FITTED, sync),
        figure(
            "device.parallel_count",
            Standing.FITTED,
            f"{how}: latency against depth, {_told(reads)} for reads, {_told(writes)} for writes",
        ),
        *(
            figure(
                f"device.limits: {limit.of.value}, {limit.on.value}",
                Standing.MEASURED,
                f"{how}: {why}",
            )
            for limit, why in measured.limits
        ),
        figure("cpu", Standing.MEASURED, f"{how}: time of fio in the kernel, a request at depth 1"),
        figure("request_bytes", Standing.ASSUMED, "cannot be seen from outside the kernel"),
        figure(
            "readahead_bytes",
            Standing.ASSUMED if measured.readahead_bytes is None else Standing.MEASURED,
            "the kernel's default"
            if measured.readahead_bytes is None
            else "the kernel of the host",
        ),
    )


def _told(fitted: ParallelFit) -> str:
    if not fitted.reached:
        return f"not reached at {fitted.servers_count:.0f}"
    return f"{fitted.servers_count:.1f} (residual {fitted.residual_ratio:.0%})"
