"""What the processors did while a load was measured, and who kept them busy."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.probes.host import allowed_count
from groundspeed.probes.kernel_files import KeptFile, grown
from groundspeed.probes.processes import Burnt, LoadThreads, Owner, Processes
from groundspeed.probes.processor_counters import (
    Frequencies,
    StatReading,
    Times,
    busiest_core_ratio,
    parse_stat,
)
from groundspeed.record.machine import CpuWork

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.ports import WatchPoints

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ProcessorWork:
    """Processors and processes together, from `begin` on.

    `other` is the busy time of /proc/stat without that of the server, the load tool and
    groundspeed. Interrupts that no process is charged with are in it; so is the difference of two
    accounts: /proc/stat may count whole ticks where processes are charged to the nanosecond.
    """

    def __init__(self, points: WatchPoints, *, proc: Path, sys: Path, places: bool) -> None:
        """`places`: note on which processors the server runs."""
        self._stat = KeptFile(proc / "stat")
        self._processes = Processes(
            groundspeed_pid=points.groundspeed_pid,
            server_pid=points.server_pid,
            load_program=points.load_program,
            proc=proc,
        )
        self._threads = LoadThreads(proc)
        self._frequencies = Frequencies(sys)
        self._server_status = proc / str(points.server_pid) / "status"
        self._places = places
        self._reset()

    def _reset(self) -> None:
        self._first: StatReading | None = None
        self._last: StatReading | None = None
        self._burnt = Burnt()
        self._seen: set[Owner] = set()
        self._busiest_s = self._elapsed_s = 0.0
        self._runnable: list[int] = []
        self._hz: list[float] = []
        self._throttles_before: int | None = None
        self._server_used: dict[int, int] = {}
        self.server_ticks_by_processor: Counter[int] = Counter()

    def begin(self, now_s: float) -> None:
        """Count from here."""
        self._reset()
        self._throttles_before = self._frequencies.throttle_count()
        self._processes.begin()
        self._threads.begin(self._pids(Owner.LOAD), now_s)
        self._note_processes()
        self._first = self._last = parse_stat(self._stat.read())

    def advance(self, now_s: float, elapsed_s: float) -> dict[str, float | None]:
        """Look again, `elapsed_s` (more than 0) after the last time; gives columns of `Series`."""
        burnt = self._processes.advance()
        # Close to the look at the processes, and before all that takes time of its own.
        before, after = self._last, parse_stat(self._stat.read())
        self._threads.advance(self._pids(Owner.LOAD), now_s)
        self._note_processes()
        self._burnt = Burnt(*(sum(pair) for pair in zip(self._burnt, burnt, strict=True)))
        self._elapsed_s += elapsed_s
        columns = {
            "cpu_server_count": self._cores(burnt.server, Owner.SERVER, elapsed_s),
            "cpu_load_count": self._cores(burnt.load, Owner.LOAD, elapsed_s),
            "cpu_own_count": self._cores(burnt.own, Owner.OWN, elapsed_s),
        }
        if before is None or after is None:
            return columns
        self._last = after
        busiest = busiest_core_ratio(before, after)
        self._busiest_s += busiest * elapsed_s
        if after.runnable is not None:
            self._runnable.append(after.runnable)
        every = after.every.since(before.every)
        return columns | {
            "cpu_other_count": _others(every, burnt, elapsed_s),
            "cpu_busiest_ratio": busiest,
            "steal_ratio": every.ratio(every.steal),
            "io_wait_ratio": every.ratio(every.io_wait),
            "run_queue_count": after.runnable,
        }

    def ask_frequency(self) -> None:
        """Note the frequency of this moment, for the mean; every few seconds are enough."""
        hz = self._frequencies.mean_hz()
        if hz is not None:
            self._hz.append(hz)

    def server_pids(self) -> tuple[int, ...]:
        """Give the server's processes as the last look found them."""
        return self._pids(Owner.SERVER)

    def has_seen(self, owner: Owner) -> bool:
        """Tell whether any process of an owner was seen since `begin`."""
        return owner in self._seen

    def work(self) -> CpuWork | None:
        """Sum up from `begin` to the last `advance`; None where /proc/stat told nothing."""
        first, last = self._first, self._last
        if first is None or last is None or first is last:
            return None
        every = last.every.since(first.every)
        throttles = self._frequencies.throttle_count()
        return CpuWork(
            core_count=len(last.cores),
            server_cpu_count=self._cores(self._burnt.server, Owner.SERVER, self._elapsed_s),
            load_cpu_count=self._cores(self._burnt.load, Owner.LOAD, self._elapsed_s),
            own_cpu_count=self._cores(self._burnt.own, Owner.OWN, self._elapsed_s),
            other_cpu_count=_others(every, self._burnt, self._elapsed_s),
            load_thread_ratio=self._threads.busiest_ratio(_TICKS_PER_S),
            idle_ratio=every.ratio(every.idle),
            io_wait_ratio=every.ratio(every.io_wait),
            steal_ratio=every.ratio(every.steal),
            busiest_core_ratio=self._busiest_s / self._elapsed_s,
            run_queue_count=_mean(self._runnable),
            context_switches_per_s=self._switches_per_s(first, last),
            frequency_hz=_mean(self._hz),
            thermal_throttle_count=_growth(self._throttles_before, throttles),
            server_allowed_count=self._server_allowed_count(),
        )

    def _server_allowed_count(self) -> int | None:
        try:
            return allowed_count(self._server_status.read_text())
        except OSError:
            return None

    def close(self) -> None:
        """Let go of all files."""
        self._stat.close()
        self._processes.close()

    def _cores(self, ticks: int, owner: Owner, elapsed_s: float) -> float | None:
        # The load tool may have come and gone between two looks; then its ticks are groundspeed's.
        return ticks / _TICKS_PER_S / elapsed_s if owner in self._seen else None

    def _pids(self, owner: Owner) -> tuple[int, ...]:
        return tuple(process.pid for process in self._processes.of(owner))

    def _note_processes(self) -> None:
        self._seen |= {owner for owner in Owner if self._processes.of(owner)}
        if self._places:
            used = {}
            for process in self._processes.of(Owner.SERVER):
                used[process.pid] = process.used
                more = process.used - self._server_used.get(process.pid, process.used)
                self.server_ticks_by_processor[process.processor] += max(0, more)
            self._server_used = used

    def _switches_per_s(self, first: StatReading, last: StatReading) -> float | None:
        growth = _growth(first.switches, last.switches)
        return None if growth is None else growth / self._elapsed_s


def _others(every: Times, burnt: Burnt, elapsed_s: float) -> float:
    return max(0, every.busy - sum(burnt)) / _TICKS_PER_S / elapsed_s


def _growth(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else grown(before, after)


def _mean(values: list[int] | list[float]) -> float | None:
    return sum(values) / len(values) if values else None
