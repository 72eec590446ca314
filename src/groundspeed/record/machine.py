"""What probes saw of the machine while a load was measured: processors, memory, disk, network."""

from __future__ import annotations

import msgspec


class CpuWork(msgspec.Struct, frozen=True, kw_only=True):
    """Who burnt the processors, in cores (1.5 = one and a half cores, mean over the trial).

    `server_allowed_count` are the cores the server may run on (taskset, cpuset).
    `load_thread_ratio` is the busiest thread of the load tool, of one core; `steal_ratio` and
    `idle_ratio` are shares of all cores; `busiest_core_ratio` is the mean of the busiest core of
    each second.
    """

    core_count: int
    server_cpu_count: float | None
    load_cpu_count: float | None
    own_cpu_count: float | None
    other_cpu_count: float | None
    load_thread_ratio: float | None
    idle_ratio: float
    io_wait_ratio: float
    steal_ratio: float
    busiest_core_ratio: float
    run_queue_count: float | None
    context_switches_per_s: float | None
    frequency_hz: float | None = None
    thermal_throttle_count: int | None = None
    server_allowed_count: int | None = None


class PressureWork(msgspec.Struct, frozen=True, kw_only=True):
    """Pressure stall information: share of the time in which some task (or all) stood still."""

    cpu_some_ratio: float | None = None
    memory_some_ratio: float | None = None
    memory_full_ratio: float | None = None
    io_some_ratio: float | None = None
    io_full_ratio: float | None = None


class MemoryWork(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of the machine; the least and the most that was seen."""

    available_least_bytes: int
    page_cache_bytes: int
    dirty_peak_bytes: int
    swap_in_bytes: int
    swap_out_bytes: int
    server_resident_bytes: int | None = None
    huge_pages_used_count: int | None = None
    remote_numa_ratio: float | None = None


class DiskWork(msgspec.Struct, frozen=True, kw_only=True):
    """The real disk of the data directory, by /proc/diskstats; None in memory file systems.

    Waits are those of a finished request, mean over the trial; utilisation in 0..1.
    """

    device: str
    reads_per_s: float
    writes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    flushes_per_s: float | None
    read_wait_s: float | None
    write_wait_s: float | None
    depth_count: float
    utilisation_ratio: float


class NetworkWork(msgspec.Struct, frozen=True, kw_only=True):
    """Interface between load and server: loopback, or that of the route to a given server."""

    interface: str
    received_bytes_per_s: float
    sent_bytes_per_s: float
    retransmits_per_s: float | None = None
    link_bytes_per_s: float | None = None


class GroupWork(msgspec.Struct, frozen=True, kw_only=True):
    """A control group's limits (v1 or v2) and how often they bit; None is no limit.

    `throttled_ratio` is the share of periods in which the group was held back, `throttled_s` how
    long its tasks stood still for it, together.
    """

    version: int
    cpu_limit_count: float | None = None
    throttled_ratio: float | None = None
    throttled_s: float | None = None
    memory_limit_bytes: int | None = None
    memory_used_bytes: int | None = None


class HostWork(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine did, and who on it. `group` is the control group of the server."""

    cpu: CpuWork
    pressure: PressureWork = PressureWork()
    memory: MemoryWork | None = None
    disk: DiskWork | None = None
    wal_disk: DiskWork | None = None
    network: NetworkWork | None = None
    group: GroupWork | None = None
