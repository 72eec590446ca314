from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.ports import WatchPoints
from groundspeed.probes.machine import MachineSampler
from groundspeed.record.evidence import Series
from tests.unit.probes.kernel_trees import device_of, end_process, write_files, write_process

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.record.machine import HostWork

GROUNDSPEED, POSTMASTER, BACKEND, PGBENCH = 50, 60, 61, 70
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
NAMES = {
    "cpu_server_count",
    "cpu_load_count",
    "cpu_own_count",
    "cpu_other_count",
    "cpu_busiest_ratio",
    "steal_ratio",
    "io_wait_ratio",
    "run_queue_count",
    "disk_reads_per_s",
    "disk_writes_per_s",
    "disk_bytes_per_s",
    "disk_depth_count",
    "disk_utilisation_ratio",
    "memory_available_bytes",
    "dirty_bytes",
    "group_throttled_ratio",
}


class Machine:
    """A machine of two processors in text files, on which time goes by as told."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.proc, self.sys, self.data = root / "proc", root / "sys", root / "data"
        (self.data / "pg_wal").mkdir(parents=True)
        self.now_s = 1000.0
        self.busy_s = self.stolen_s = 0.0
        self.used_s = {BACKEND: 0.0, PGBENCH: 0.0, GROUNDSPEED: 0.0}
        self.begun_s = self.now_s
        group = root / "cgroup"
        write_files(
            root,
            {
                f"proc/{POSTMASTER}/cgroup": "0::/server\n",
                f"proc/{POSTMASTER}/statm": "900 300 200 1 0 9 0\n",
                f"proc/{BACKEND}/statm": "900 230 220 1 0 9 0\n",
                "proc/self/mountinfo": f"30 22 0:26 / {group} rw - cgroup2 cgroup2 rw\n",
                "cgroup/server/cpu.max": "100000 100000\n",
                "proc/vmstat": "pswpin 0\npswpout 0\n",
                "proc/net/dev": "a\nb\n    lo: 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
            },
        )
        self.tell()

    def tell(self) -> None:
        """Write what the kernel would say now."""

        def ticks(seconds: float) -> int:
            return round(seconds * TICKS_PER_S)

        passed_s = self.now_s - self.begun_s
        idle = ticks(2 * passed_s - self.busy_s - self.stolen_s)
        busy, stolen = ticks(self.busy_s), ticks(self.stolen_s)
        major, minor = device_of(self.data)
        reads = round(passed_s * 100)
        write_files(
            self.root,
            {
                "proc/stat": f"cpu {busy} 0 0 {idle} 0 0 0 {stolen} 0 0\n"
                f"cpu0 {busy} 0 0 {ticks(passed_s) - busy} 0 0 0 0 0 0\n"
                f"cpu1 0 0 0 {ticks(passed_s) - stolen} 0 0 0 {stolen} 0 0\n"
                f"ctxt {round(1000 * passed_s)}\nprocs_running 3\n",
                "proc/meminfo": "MemAvailable: 500 kB\nCached: 300 kB\nDirty: 20 kB\nShmem: 9 kB\n",
                "proc/diskstats": f" {major} {minor} vda {reads} 0 {reads * 16} {reads * 2} "
                f"0 0 0 0 0 {reads * 5} {reads * 20} 0 0 0 0 7 0\n",
                "proc/pressure/cpu": f"some avg10=1 total={round(passed_s * 250_000)}\n",
                "cgroup/server/cpu.stat": f"nr_periods {round(passed_s * 10)}\n"
                f"nr_throttled {round(passed_s * 4)}\nthrottled_usec {round(passed_s * 300_000)}\n",
            },
        )
        used = {pid: ticks(seconds) for pid, seconds in self.used_s.items()}
        write_process(self.proc, GROUNDSPEED, parent=1, name="py", used=used[GROUNDSPEED])
        write_process(self.proc, POSTMASTER, parent=GROUNDSPEED)
        write_process(self.proc, BACKEND, parent=POSTMASTER, used=used[BACKEND])
        if PGBENCH in used:
            write_process(
                self.proc,
                PGBENCH,
                parent=GROUNDSPEED,
                name="pgbench",
                used=used[PGBENCH],
                threads={PGBENCH: used[PGBENCH]},
            )

    def pass_second(self, *, stolen_s: float = 0.0, **used_s: float) -> None:
        """Let a second go by, in which processes and strangers use processor time."""
        self.now_s += 1
        self.stolen_s += stolen_s
        self.busy_s += sum(used_s.values())
        self.used_s[BACKEND] += used_s.get("server", 0)
        self.used_s[PGBENCH] += used_s.get("load", 0)
        self.used_s[GROUNDSPEED] += used_s.get("own", 0)
        self.tell()

    def sampler(self, points: WatchPoints) -> MachineSampler:
        return MachineSampler(points, proc=self.proc, sys=self.sys, clock=lambda: self.now_s)

    def points(self) -> WatchPoints:
        return WatchPoints(
            conninfo="host=127.0.0.1 port=5432",
            password=None,
            groundspeed_pid=GROUNDSPEED,
            server_pid=POSTMASTER,
            data_directory=str(self.data),
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def work_of(sampler: MachineSampler) -> HostWork:
    host = sampler.end().host
    assert host is not None
    return host


def test_a_second_has_every_column_of_this_side(machine: Machine) -> None:
    sampler = machine.sampler(machine.points())
    sampler.begin()
    machine.pass_second(server=0.4, load=0.3, own=0.02, other=0.1, stolen_s=0.2)
    columns = sampler.second()
    sampler.close()
    assert set(columns) == NAMES
    assert all(name in (Series.__doc__ or "") for name in NAMES)
    assert columns == pytest.approx(
        {
            "cpu_server_count": 0.4,
            "cpu_load_count": 0.3,
            "cpu_own_count": 0.02,
            "cpu_other_count": 0.1,
            "cpu_busiest_ratio": 0.82,
            "steal_ratio": 0.1,
            "io_wait_ratio": 0.0,
            "run_queue_count": 2,
            "disk_reads_per_s": 100,
            "disk_writes_per_s": 0,
            "disk_bytes_per_s": 100 * 16 * 512,
            "disk_depth_count": 2.0,
            "disk_utilisation_ratio": 0.5,
            "memory_available_bytes": 500 * 1024,
            "dirty_bytes": 20 * 1024,
            "group_throttled_ratio": 0.4,
        }
    )


def test_the_sum_of_a_trial(machine: Machine) -> None:
    machine.pass_second(server=1.0)
    sampler = machine.sampler(machine.points())
    sampler.begin()
    for server in (0.2, 0.4, 0.6):
        machine.pass_second(server=server, load=0.3)
        sampler.tick()
        sampler.second()
    # The last part has no row of its own and counts all the same.
    machine.pass_second(server=0.8, load=0.3, stolen_s=0.8)
    part = sampler.end()
    sampler.close()
    assert part.host is not None
    cpu = part.host.cpu
    assert cpu.core_count == 2
    assert cpu.server_cpu_count == pytest.approx(0.5)
    assert cpu.load_cpu_count == cpu.load_thread_ratio == pytest.approx(0.3)
    assert cpu.other_cpu_count == pytest.approx(0.0)
    assert cpu.steal_ratio == pytest.approx(0.1)
    assert cpu.idle_ratio == pytest.approx(0.5)
    assert cpu.busiest_core_ratio == pytest.approx((0.5 + 0.7 + 0.9 + 1.0) / 4, abs=0.03)
    assert cpu.run_queue_count == 2
    assert cpu.context_switches_per_s == pytest.approx(1000)
    assert part.host.pressure.cpu_some_ratio == pytest.approx(0.25)
    assert part.host.disk is not None
    assert part.host.disk.flushes_per_s == 0
    assert part.host.wal_disk is None
    assert part.host.network is not None
    assert part.host.network.interface == "lo"
    assert part.host.group is not None
    assert part.host.group.throttled_ratio == pytest.approx(0.4)
    assert part.host.group.throttled_s == pytest.approx(1.2)
    assert part.host.memory is not None
    assert part.host.memory.server_resident_bytes == (100 + 10 + 220) * os.sysconf("SC_PAGE_SIZE")
    assert [absent.what for absent in part.absent] == ["cpu-frequency"]
    assert part.costs[0].probe == "machine"
    assert part.costs[0].call_count == 5
    assert part.costs[0].cpu_s > 0


def test_the_next_trial_begins_at_nothing(machine: Machine) -> None:
    sampler = machine.sampler(machine.points())
    sampler.begin()
    machine.pass_second(server=0.9)
    work_of(sampler)
    sampler.begin()
    machine.pass_second(server=0.1)
    cpu = work_of(sampler).cpu
    sampler.close()
    assert cpu.server_cpu_count == pytest.approx(0.1)


def test_strangers_and_interrupts_are_others(machine: Machine) -> None:
    sampler = machine.sampler(machine.points())
    sampler.begin()
    machine.pass_second(server=0.2, stranger=0.7)
    assert work_of(sampler).cpu.other_cpu_count == pytest.approx(0.7)
    sampler.close()


def test_a_load_that_has_ended_when_it_is_summed_up(machine: Machine) -> None:
    sampler = machine.sampler(machine.points())
    sampler.begin()
    machine.pass_second(load=0.6)
    sampler.second()
    end_process(machine.proc, PGBENCH)
    del machine.used_s[PGBENCH]
    machine.now_s += 1
    machine.tell()
    cpu = work_of(sampler).cpu
    sampler.close()
    assert cpu.load_cpu_count == pytest.approx(0.3)
    assert cpu.load_thread_ratio == pytest.approx(0.6)


def test_a_server_elsewhere(machine: Machine) -> None:
    points = WatchPoints(
        conninfo="host=/run/postgresql", password=None, groundspeed_pid=GROUNDSPEED
    )
    sampler = machine.sampler(points)
    sampler.begin()
    machine.pass_second(load=0.3)
    columns = sampler.second()
    assert columns["cpu_server_count"] is None
    assert columns["disk_reads_per_s"] is None
    assert columns["group_throttled_ratio"] is None
    machine.pass_second(load=0.3)
    part = sampler.end()
    sampler.close()
    assert part.host is not None
    assert part.host.cpu.server_cpu_count is None
    assert part.host.cpu.load_cpu_count == pytest.approx(0.3)
    assert (part.host.disk, part.host.group, part.host.network) == (None, None, None)
    reasons = {absent.what: absent.reason for absent in part.absent}
    assert set(reasons) == {"disk", "control-group", "server-processes", "cpu-frequency"}
    assert reasons["server-processes"] == "the server runs elsewhere"


def test_several_nodes_are_asked_for_remote_memory(machine: Machine) -> None:
    for node, cpulist in enumerate(("0", "1")):
        write_files(machine.sys, {f"devices/system/node/node{node}/cpulist": cpulist})
    sampler = machine.sampler(machine.points())
    sampler.begin()
    machine.pass_second(server=0.5)
    part = sampler.end()
    assert "server-numa" in {absent.what for absent in part.absent}
    # All of the server runs on the first node, a quarter of its pages are on the second.
    maps = "7f default anon=4 N0=3 N1=1 kernelpagesize_kB=4\n"
    write_files(machine.proc, {f"{POSTMASTER}/numa_maps": maps})
    sampler.begin()
    machine.pass_second(server=0.5)
    memory = work_of(sampler).memory
    sampler.close()
    assert memory is not None
    assert memory.remote_numa_ratio == pytest.approx(0.25)


def test_a_machine_that_tells_nothing_is_no_crash(tmp_path: Path) -> None:
    now_s = iter(range(100))
    points = WatchPoints(
        conninfo="host=192.0.2.1",
        password=None,
        groundspeed_pid=GROUNDSPEED,
        server_pid=POSTMASTER,
        data_directory=str(tmp_path / "missing"),
    )
    sampler = MachineSampler(
        points, proc=tmp_path / "proc", sys=tmp_path / "sys", clock=lambda: float(next(now_s))
    )
    sampler.begin()
    assert set(sampler.second().values()) == {None}
    part = sampler.end()
    sampler.close()
    assert part.host is None
    whats = {absent.what for absent in part.absent}
    assert whats == {"network", "disk", "control-group", "pressure", "machine"}


def test_no_time_at_all_is_no_crash(machine: Machine) -> None:
    sampler = machine.sampler(machine.points())
    sampler.begin()
    assert sampler.second() == {}
    assert sampler.end().host is None
    sampler.close()


BURN = """
import sys, time
sys.stdin.readline()
until = time.process_time() + 0.5
while time.process_time() < until: pass
print("burnt", flush=True)
sys.stdin.read()
"""


def test_this_machine_under_a_real_load(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        points = WatchPoints(
            conninfo="host=127.0.0.1",
            password=None,
            groundspeed_pid=os.getpid(),
            server_pid=server.pid,
            data_directory=str(tmp_path),
            wal_directory=str(tmp_path),
        )
        sampler = MachineSampler(points)
        try:
            sampler.begin()
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(b"begin\n")
            server.stdin.flush()
            assert server.stdout.readline() == b"burnt\n"
            columns = sampler.second()
            part = sampler.end()
        finally:
            server.kill()
            sampler.close()
    assert set(columns) == NAMES
    assert part.host is not None
    cpu = part.host.cpu
    server_cpu = columns["cpu_server_count"]
    assert server_cpu is not None
    # Half a second of one core, in however long that took.
    assert 0.05 < server_cpu <= cpu.core_count
    assert cpu.server_cpu_count == pytest.approx(server_cpu, rel=0.3)
    assert 0.05 < cpu.busiest_core_ratio <= 1
    assert 0 <= cpu.idle_ratio < 1
    assert (cpu.context_switches_per_s or 0) > 0
    assert part.host.memory is not None
    assert (part.host.memory.server_resident_bytes or 0) > 1024 * 1024
    assert part.host.network is not None
    assert part.host.network.interface == "lo"
    # All of it can be kept.
    assert msgspec.json.decode(msgspec.json.encode(part), type=type(part)) == part
