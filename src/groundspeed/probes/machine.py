"""The machine under load: processors, memory, disks, network and control group, once a second.

It reads /proc and /sys, starts no program, changes nothing and needs no privilege. What it cannot
see is None and told as `Absent`; nothing is raised.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.probes.control_group import ControlGroup, GroupUnseenError
from groundspeed.probes.disk_watch import DiskWatch
from groundspeed.probes.memory_counters import MemoryCounters, resident_bytes
from groundspeed.probes.network_counters import (
    NetworkCounters,
    NetworkUnseenError,
    interface_of,
)
from groundspeed.probes.numa_nodes import NumaNodes
from groundspeed.probes.pressure import Pressure
from groundspeed.probes.processes import Owner
from groundspeed.probes.processor_work import ProcessorWork
from groundspeed.probes.sampling import Part
from groundspeed.record.evidence import Absent, ProbeCost
from groundspeed.record.machine import HostWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.ports import WatchPoints

# What costs a file for each process or processor, and changes slowly, is asked this seldom.
_SLOW_EVERY_COUNT = 10
_ELSEWHERE = "the server runs elsewhere"


class MachineSampler:
    """Implements `probes.sampling.Sampler` for Linux."""

    def __init__(
        self,
        points: WatchPoints,
        *,
        proc: Path = Path("/proc"),
        sys: Path = Path("/sys"),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open nothing but names. Other roots and another clock (seconds) are for tests."""
        self._points = points
        self._proc = proc
        self._clock = clock
        # What holds for as long as it is open, and what is of one trial.
        self._known_absent: list[Absent] = []
        self._absent: list[Absent] = []
        self._numa = NumaNodes(sys)
        self._processors = ProcessorWork(points, proc=proc, sys=sys, places=self._numa.several)
        self._memory = MemoryCounters(proc)
        self._pressure = Pressure(proc)
        self._disks = DiskWatch(points.data_directory, points.wal_directory, proc=proc, sys=sys)
        self._network = self._find_network(sys)
        self._group: ControlGroup | None = None
        self._begin_s = self._last_s = clock()
        self._resident_peak_bytes: int | None = None
        self._second_count = 0
        self._cost = _Cost()

    def begin(self) -> None:
        """Take the first snapshot."""
        self._cost = _Cost()
        with self._cost:
            self._absent = []
            self._second_count = 0
            self._resident_peak_bytes = None
            self._memory.begin()
            self._begin_group()
            if self._network:
                self._network.begin()
            if not self._pressure.begin():
                self._miss("pressure", "the kernel keeps no account of it (/proc/pressure)")
            self._disks.begin()
            self._begin_s = self._last_s = self._clock()
            self._processors.begin(self._begin_s)

    def tick(self) -> None:
        """Do nothing: the kernel counts by itself."""

    def second(self) -> dict[str, float | None]:
        """Give this side's columns of `Series` for the time since the last call."""
        with self._cost:
            now_s = self._clock()
            elapsed_s = now_s - self._last_s
            if elapsed_s <= 0:
                return {}
            columns = self._advance(now_s, elapsed_s)
            # Not in the first second: clients may still connect.
            if self._second_count % _SLOW_EVERY_COUNT == 1:
                self._look_slowly()
            self._second_count += 1
            return columns

    def end(self) -> Part:
        """Take the last snapshot and sum up; without any time since `begin`, nothing was seen."""
        with self._cost:
            now_s = self._clock()
            if now_s > self._last_s:
                self._advance(now_s, now_s - self._last_s)
                if self._second_count <= 1:
                    self._look_slowly()
            host = self._sum_up(now_s - self._begin_s)
        absent = (*self._known_absent, *self._disks.absent, *self._absent)
        return Part(host=host, absent=absent, costs=(self._cost.told(),))

    def close(self) -> None:
        """Let go of all files."""
        self._processors.close()
        self._memory.close()
        self._disks.close()
        if self._group:
            self._group.close()

    def _advance(self, now_s: float, elapsed_s: float) -> dict[str, float | None]:
        self._last_s = now_s
        columns = self._processors.advance(now_s, elapsed_s)
        columns |= self._disks.advance(elapsed_s)
        available, dirty = self._memory.advance()
        columns["memory_available_bytes"] = available
        columns["dirty_bytes"] = dirty
        columns["group_throttled_ratio"] = self._group.advance() if self._group else None
        return columns

    def _look_slowly(self) -> None:
        self._processors.ask_frequency()
        resident = resident_bytes(self._processors.server_pids(), self._proc)
        if resident is not None:
            self._resident_peak_bytes = max(resident, self._resident_peak_bytes or 0)

    def _sum_up(self, elapsed_s: float) -> HostWork | None:
        cpu = self._processors.work()
        if cpu is None:
            self._miss("machine", "/proc/stat tells no time of processors, or none went by")
            return None
        self._note_processes()
        network = self._network.work(elapsed_s) if self._network else None
        if self._network and network is None:
            self._miss("network", "the interface has no line in /proc/net/dev")
        memory = self._memory.work(
            server_resident_bytes=self._resident_peak_bytes,
            remote_numa_ratio=self._remote_numa_ratio(),
        )
        if memory is None:
            self._miss("memory", "/proc/meminfo tells no available memory")
        if cpu.frequency_hz is None:
            self._miss("cpu-frequency", "the kernel tells none; virtual machines seldom have one")
        return HostWork(
            cpu=cpu,
            pressure=self._pressure.work(elapsed_s),
            memory=memory,
            disk=self._disks.data_work(elapsed_s),
            wal_disk=self._disks.wal_work(elapsed_s),
            network=network,
            group=self._group.work() if self._group else None,
        )

    def _note_processes(self) -> None:
        if self._points.server_pid is None:
            self._miss("server-processes", _ELSEWHERE)
        elif not self._processors.has_seen(Owner.SERVER):
            reason = f"process {self._points.server_pid} is not to be seen in {self._proc}"
            self._miss("server-processes", reason)
        if not self._processors.has_seen(Owner.LOAD):
            name = self._points.load_program
            self._miss("load-processes", f"no process named {name} was seen below groundspeed")

    def _remote_numa_ratio(self) -> float | None:
        if not self._numa.several or not self._processors.has_seen(Owner.SERVER):
            return None
        ticks = self._processors.server_ticks_by_processor
        ratio = self._numa.remote_ratio(self._processors.server_pids(), ticks, self._proc)
        if ratio is None:
            self._miss("server-numa", "the server's numa_maps cannot be read, or it used no time")
        return ratio

    def _begin_group(self) -> None:
        if self._group:
            self._group.close()
        self._group = None
        if self._points.server_pid is None:
            self._miss("control-group", _ELSEWHERE)
            return
        try:
            # Anew for each trial: somebody may have moved the server.
            self._group = ControlGroup(self._points.server_pid, self._proc)
            self._group.begin()
        except GroupUnseenError as error:
            self._miss("control-group", str(error))

    def _find_network(self, sys: Path) -> NetworkCounters | None:
        points = self._points
        try:
            interface = interface_of(points.conninfo, dict(points.variables), self._proc)
        except NetworkUnseenError as error:
            self._known_absent.append(Absent(what="network", reason=str(error)))
            return None
        # A unix socket is no network: there is nothing to see, so nothing is absent.
        return NetworkCounters(interface, proc=self._proc, sys=sys) if interface else None

    def _miss(self, what: str, reason: str) -> None:
        self._absent.append(Absent(what=what, reason=reason))


class _Cost:
    """What looking costs: entered at each look."""

    def __init__(self) -> None:
        self._count = 0
        self._cpu_s = self._elapsed_s = self._slowest_s = 0.0
        self._began = (0.0, 0.0)

    def __enter__(self) -> None:
        self._began = (time.thread_time(), time.perf_counter())

    def __exit__(self, *_: object) -> None:
        cpu_s, at_s = self._began
        took_s = time.perf_counter() - at_s
        self._count += 1
        self._cpu_s += time.thread_time() - cpu_s
        self._elapsed_s += took_s
        self._slowest_s = max(self._slowest_s, took_s)

    def told(self) -> ProbeCost:
        """Sum up; `elapsed_s` is time at work, not the time between looks."""
        return ProbeCost(
            probe="machine",
            call_count=self._count,
            cpu_s=self._cpu_s,
            elapsed_s=self._elapsed_s,
            slowest_s=self._slowest_s,
        )
