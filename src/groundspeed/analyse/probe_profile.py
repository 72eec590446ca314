"""From the rows of a probe to a profile and the doubts that ride on it."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.probe_caps import Cap, find_caps, limits
from groundspeed.analyse.probed import What, drift_ratio
from groundspeed.stats.median import values_needed
from groundspeed.storage.fit import DepthPoint, Fit, Measured, fit
from groundspeed.storage.profile import CpuTime
from groundspeed.tools import probe_plan
from groundspeed.tools.fio import Access

if TYPE_CHECKING:
    from groundspeed.analyse.probed import Probed

# A p99.9 of fewer requests is the slowest one or none.
_ENOUGH_COUNT = 1000
_DRIFT_RATIO = 0.75
_FIT_RESIDUAL_RATIO = 0.25
_FLUSH_RESIDUAL_RATIO = 0.05


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe comes to: the profile with its fits, the caps, and the doubts as sentences."""

    fit: Fit
    caps: tuple[Cap, ...]
    cautions: tuple[str, ...]


def outcome(probed: Probed) -> Outcome:
    """Make the profile of what was measured. Raises ValueError where measurements lack."""
    caps = find_caps(probed)
    seen = probed.circumstances
    how = (
        f"fio {probed.fio_version} psync, {'O_DIRECT' if seen.direct else 'through the page cache'}"
    )
    fitted = fit(
        Measured(
            name=seen.name,
            about=_about(probed),
            date=seen.date[:10],
            how=f"{how}, {probed.block_count} blocks",
            read=probed.row(probe_plan.random_name(Access.RANDOM_READ, 1), What.READ).quantiles,
            write=probed.row(probe_plan.random_name(Access.RANDOM_WRITE, 1), What.WRITE).quantiles,
            # The write itself only reaches the page cache, here and in the emulator alike; what
            # is waited for is the flush, which holds the write to the device.
            write_and_sync=probed.row(probe_plan.SYNC_NAME, What.SYNC).quantiles,
            reads=_points(probed, Access.RANDOM_READ, What.READ),
            writes=_points(probed, Access.RANDOM_WRITE, What.WRITE),
            cpu=_cpu(probed),
            limits=limits(caps),
            burst_rate_per_s=max(
                (
                    b.cliff.before
                    for b in probed.bursts
                    if b.cliff and b.access is Access.RANDOM_READ
                ),
                default=0.0,
            ),
            readahead_bytes=seen.readahead_bytes,
        )
    )
    return Outcome(fit=fitted, caps=caps, cautions=_cautions(probed, fitted, caps))


def _about(probed: Probed) -> str:
    seen = probed.circumstances
    emulated = "emulated storage, " if seen.emulated else ""
    return (
        f"Measured by groundspeed probe on {seen.date[:10]}: {emulated}{seen.filesystem} on"
        f" {seen.device}, for {seen.time_s:g} s in {seen.size_bytes / 1024**2:.0f} MiB."
    )


def _points(probed: Probed, access: Access, what: What) -> tuple[DepthPoint, ...]:
    rows = [probed.row(probe_plan.random_name(access, d), what) for d in probe_plan.DEPTHS]
    return tuple(
        DepthPoint(
            depth_count=row.depth_count,
            rate_per_s=median(row.rates_per_s),
            mean_s=median(row.mean_s),
        )
        for row in rows
    )


def _cpu(probed: Probed) -> CpuTime:
    """Read off what one request takes of a processor in the kernel, at depth 1."""

    # All blocks together: some kernels count processor time in ticks, and a block has few of them.
    def per_request_s(load: str, what: What) -> float:
        row = probed.row(load, what)
        return sum(row.kernel_cpu_counts) / sum(row.rates_per_s)

    return CpuTime(
        read_s=per_request_s(probe_plan.random_name(Access.RANDOM_READ, 1), What.READ),
        write_s=per_request_s(probe_plan.random_name(Access.RANDOM_WRITE, 1), What.WRITE),
        sync_s=per_request_s(probe_plan.SYNC_NAME, What.WRITE),
    )


def _cautions(probed: Probed, fitted: Fit, caps: tuple[Cap, ...]) -> tuple[str, ...]:
    told = [*_place_cautions(probed), *_sample_cautions(probed)]
    if any("processors busy" in cap.why for cap in caps):
        told.append(
            "fio kept the processors of this machine busy: the device may be capable of more than"
            " was measured at the greatest depths"
        )
    for what, parallel in (("reads", fitted.reads), ("writes", fitted.writes)):
        if parallel.residual_ratio > _FIT_RESIDUAL_RATIO:
            told.append(
                f"latency of {what} does not rise with depth as the model has it: off by"
                f" {parallel.residual_ratio:.0%} (root mean square)"
            )
    if fitted.flush.residual_ratio > _FLUSH_RESIDUAL_RATIO:
        told.append(
            "write and flush of the profile together are off by up to"
            f" {fitted.flush.residual_ratio:.0%} from what was measured, up to p95"
        )
    return tuple(told)


def _place_cautions(probed: Probed) -> list[str]:
    seen = probed.circumstances
    told = []
    if seen.emulated:
        told.append("the storage was emulated: this is a profile of a model, not of a device")
    if seen.in_memory:
        told.append(f"{seen.filesystem} keeps files in memory: no device was measured")
    if not seen.direct:
        told.append(
            f"{seen.filesystem} refuses O_DIRECT here: reads and writes went through the page"
            " cache of the host, which answers for the device where it can"
        )
    return told


def _sample_cautions(probed: Probed) -> list[str]:
    told = []
    needed = values_needed(CONFIDENCE_RATIO)
    if probed.block_count < needed:
        told.append(
            f"{probed.block_count} blocks are too few for intervals, which take {needed}: give it"
            " more --time"
        )
    few = [row for row in probed.rows if row.depth_count == 1 and row.count < _ENOUGH_COUNT]
    if few:
        least = min(row.count for row in few)
        told.append(
            f"latencies rest on as few as {least:,} requests: their p99.9 is hardly more than the"
            " slowest of them; give it more --time"
        )
    drift = drift_ratio(probed)
    if drift is not None and not _DRIFT_RATIO < drift < 1 / _DRIFT_RATIO:
        told.append(
            f"rates of the last blocks were {drift:.2f} times those of the first: the device or its"
            " neighbours changed while it was measured; a burst may have ended"
        )
    return told
