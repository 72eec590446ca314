"""What emulated devices did, as a table: why an environment is slow, in waits a transaction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse import digits
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import NOTHING, format_bytes, format_seconds
from groundspeed.report.shapes import DeviceRow, DeviceTable

if TYPE_CHECKING:
    from groundspeed.analyse import DeviceWork, Findings


def device_table(findings: Findings) -> DeviceTable:
    """Word the work of all emulated devices; empty where none was emulated."""
    works = findings.device_work
    return DeviceTable(
        rows=tuple(_row(work) for work in works),
        threads_vary=len({work.threads for work in works}) > 1,
        scale_varies=len({work.scale for work in works}) > 1,
        has_credits=any(work.credits_left_ratio is not None for work in works),
    )


def _row(work: DeviceWork) -> DeviceRow:
    return DeviceRow(
        environment=work.environment,
        label=label_of(work.environment, (work.environment,)),
        workload=work.workload,
        clients=work.clients,
        threads=work.threads,
        scale=work.scale,
        read_wait=format_seconds(work.read_wait_s),
        write_wait=format_seconds(work.write_wait_s),
        sync_wait=format_seconds(work.sync_wait_s),
        throttled_wait=format_seconds(work.throttled_wait_s),
        iops=f"{digits(work.reads_per_s)} + {digits(work.writes_per_s)}",
        bandwidth=f"{format_bytes(work.read_bytes_per_s + work.write_bytes_per_s)}/s",
        depth=f"{digits(work.mean_depth_count)} ({digits(work.max_depth_count)})",
        hit_ratio=format_percent(work.hit_ratio),
        credits_left=NOTHING
        if work.credits_left_ratio is None
        else format_percent(work.credits_left_ratio),
    )


def format_percent(ratio: float) -> str:
    """Write a share: 99.8%, or a dash where there is nothing to share."""
    return f"{ratio:.1%}" if math.isfinite(ratio) else NOTHING
