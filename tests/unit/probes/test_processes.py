from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from groundspeed.probes.processes import Burnt, LoadThreads, Owner, Processes
from tests.unit.probes.kernel_trees import end_process, write_process

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
GROUNDSPEED, POSTMASTER, BACKEND, PGBENCH, STRANGER = 50, 60, 61, 70, 90


def machine(proc: Path, *, server_pid: int | None = POSTMASTER) -> Processes:
    """Groundspeed with pgbench below it, and a server that groundspeed started."""
    write_process(proc, 1, parent=0, name="init", used=1000)
    write_process(proc, GROUNDSPEED, parent=1, name="groundspeed", used=10, reaped=500)
    write_process(proc, POSTMASTER, parent=GROUNDSPEED, used=20, reaped=300)
    write_process(proc, BACKEND, parent=POSTMASTER, used=30)
    write_process(proc, PGBENCH, parent=GROUNDSPEED, name="pgbench", used=40)
    write_process(proc, STRANGER, parent=1, name="cc1 (a) b", used=50)
    processes = Processes(
        groundspeed_pid=GROUNDSPEED, server_pid=server_pid, load_program="pgbench", proc=proc
    )
    processes.begin()
    return processes


def pids(processes: Processes, owner: Owner) -> set[int]:
    return {process.pid for process in processes.of(owner)}


def test_each_process_has_its_owner(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    assert pids(processes, Owner.OWN) == {GROUNDSPEED}
    assert pids(processes, Owner.SERVER) == {POSTMASTER, BACKEND}
    assert pids(processes, Owner.LOAD) == {PGBENCH}
    processes.close()


def test_only_what_is_used_from_the_begin_on_counts(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    assert processes.advance() == Burnt(0, 0, 0)
    write_process(tmp_path, BACKEND, parent=POSTMASTER, used=37)
    write_process(tmp_path, PGBENCH, parent=GROUNDSPEED, name="pgbench", used=45)
    write_process(tmp_path, GROUNDSPEED, parent=1, name="groundspeed", used=11, reaped=500)
    write_process(tmp_path, STRANGER, parent=1, name="cc1 (a) b", used=5000)
    assert processes.advance() == Burnt(server=7, load=5, own=1)
    assert processes.advance() == Burnt(0, 0, 0)
    processes.close()


def test_a_name_may_hold_blanks_and_parentheses(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, 62, parent=POSTMASTER, name="post) S 1 (x", used=4)
    assert processes.advance() == Burnt(server=4)
    processes.close()


def test_a_long_name_of_the_load_is_known_by_what_the_kernel_keeps(tmp_path: Path) -> None:
    write_process(tmp_path, GROUNDSPEED, parent=1, name="groundspeed")
    write_process(tmp_path, 71, parent=GROUNDSPEED, name="redis-benchmark")
    write_process(tmp_path, 72, parent=71, name="sh")
    processes = Processes(
        groundspeed_pid=GROUNDSPEED,
        server_pid=None,
        load_program="redis-benchmark-custom",
        proc=tmp_path,
    )
    processes.begin()
    assert pids(processes, Owner.LOAD) == {71, 72}
    processes.close()


def test_a_child_becomes_the_load_when_it_starts_the_program(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, 71, parent=GROUNDSPEED, name="setpriv", used=3)
    assert processes.advance() == Burnt(own=3)
    write_process(tmp_path, 71, parent=GROUNDSPEED, name="pgbench", used=10)
    assert processes.advance() == Burnt(load=7)
    processes.close()


def test_a_backend_that_ends_is_counted_once(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, BACKEND, parent=POSTMASTER, used=40)
    assert processes.advance() == Burnt(server=10)
    # It used five more before it ended; the postmaster takes over all 45.
    end_process(tmp_path, BACKEND)
    write_process(tmp_path, POSTMASTER, parent=GROUNDSPEED, used=20, reaped=345)
    assert processes.advance() == Burnt(server=5)
    assert processes.advance() == Burnt()
    processes.close()


def test_an_end_that_the_parent_shows_a_look_later_is_counted_once(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    end_process(tmp_path, BACKEND)
    assert processes.advance() == Burnt()
    write_process(tmp_path, POSTMASTER, parent=GROUNDSPEED, used=20, reaped=335)
    assert processes.advance() == Burnt(server=5)
    processes.close()


def test_backends_that_no_look_saw_are_not_lost(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, POSTMASTER, parent=GROUNDSPEED, used=22, reaped=380)
    assert processes.advance() == Burnt(server=82)
    processes.close()


def test_the_last_of_the_load_is_not_groundspeeds(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    end_process(tmp_path, PGBENCH)
    write_process(tmp_path, GROUNDSPEED, parent=1, name="groundspeed", used=11, reaped=548)
    assert processes.advance() == Burnt(load=8, own=1)
    processes.close()


def test_a_tree_that_ends_as_a_whole_is_counted_once(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, 71, parent=PGBENCH, name="sh", used=100)
    assert processes.advance() == Burnt(load=100)
    end_process(tmp_path, 71)
    end_process(tmp_path, PGBENCH)
    # 40 of pgbench and 100 of its child were counted; 6 are new.
    write_process(tmp_path, GROUNDSPEED, parent=1, name="groundspeed", used=10, reaped=646)
    assert processes.advance() == Burnt(load=6)
    processes.close()


def test_a_number_that_is_given_again_begins_at_nothing(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, BACKEND, parent=POSTMASTER, used=3, start=900)
    write_process(tmp_path, POSTMASTER, parent=GROUNDSPEED, used=20, reaped=331)
    assert processes.advance() == Burnt(server=4)
    processes.close()


def test_a_process_whose_parent_ended_stays_whose_it_was(tmp_path: Path) -> None:
    processes = machine(tmp_path)
    write_process(tmp_path, PGBENCH, parent=1, name="pgbench", used=41)
    assert processes.advance() == Burnt(load=1)
    write_process(tmp_path, PGBENCH, parent=1, name="pgbench", used=43)
    assert processes.advance() == Burnt(load=2)
    processes.close()


def test_a_stranger_of_that_name_is_not_the_load(tmp_path: Path) -> None:
    write_process(tmp_path, 91, parent=1, name="pgbench", used=5)
    processes = machine(tmp_path)
    assert pids(processes, Owner.LOAD) == {PGBENCH}
    processes.close()


def test_what_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    processes = machine(tmp_path, server_pid=None)
    assert pids(processes, Owner.SERVER) == set()
    for text in ("", "62 (x", "62 (x) S 1", "62 (x) S " + "x " * 50):
        (tmp_path / "62").mkdir(exist_ok=True)
        (tmp_path / "62/stat").write_text(text)
        assert processes.advance() == Burnt()
    nothing = Processes(
        groundspeed_pid=1, server_pid=2, load_program="pgbench", proc=tmp_path / "none"
    )
    nothing.begin()
    assert nothing.advance() == Burnt()
    processes.close()


def test_the_busiest_thread_is_measured_from_its_begin(tmp_path: Path) -> None:
    threads = LoadThreads(tmp_path)
    threads.begin((), 100.0)
    write_process(tmp_path, PGBENCH, parent=1, name="pgbench", threads={70: 10, 71: 90})
    threads.advance((PGBENCH,), 101.0)
    write_process(tmp_path, PGBENCH, parent=1, name="pgbench", threads={70: 20, 71: 170})
    threads.advance((PGBENCH,), 102.0)
    assert threads.busiest_ratio(100.0) == pytest.approx(0.85)
    # It is gone at the end: as long as it was seen.
    threads.advance((), 110.0)
    assert threads.busiest_ratio(100.0) == pytest.approx(0.85)


def test_threads_of_before_count_from_the_begin_on(tmp_path: Path) -> None:
    write_process(tmp_path, PGBENCH, parent=1, name="pgbench", threads={70: 500})
    threads = LoadThreads(tmp_path)
    threads.begin((PGBENCH,), 100.0)
    assert threads.busiest_ratio(100.0) is None
    write_process(tmp_path, PGBENCH, parent=1, name="pgbench", threads={70: 550})
    threads.advance((PGBENCH,), 101.0)
    assert threads.busiest_ratio(100.0) == pytest.approx(0.5)


# Waits until it may begin, burns, says so, and stays until its input ends.
BURN = """
import sys, time
sys.stdin.readline()
until = time.process_time() + float(sys.argv[1])
while time.process_time() < until: pass
print("burnt", flush=True)
sys.stdin.read()
"""
FORKING = """
import os, sys, time
sys.stdin.readline()
for _ in range(3):
    child = os.fork()
    if child == 0:
        until = time.process_time() + float(sys.argv[1]) / 3
        while time.process_time() < until: pass
        os._exit(0)
    os.waitpid(child, 0)
print("burnt", flush=True)
sys.stdin.read()
"""


def start(program: str, burn_s: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", program, str(burn_s)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def burn(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"begin\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"burnt\n"


def watch(*, server_pid: int | None, load_program: str) -> Processes:
    processes = Processes(
        groundspeed_pid=os.getpid(),
        server_pid=server_pid,
        load_program=load_program,
        proc=Path("/proc"),
    )
    processes.begin()
    return processes


def finish(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


@pytest.mark.parametrize("program", [BURN, FORKING])
def test_a_real_server_is_charged_with_what_it_and_its_children_burn(program: str) -> None:
    server = start(program, 0.6)
    processes = watch(server_pid=server.pid, load_program="pgbench")
    try:
        burn(server)
        burnt = processes.advance()
        # It may still have been starting when it was looked at first.
        assert burnt.server / TICKS_PER_S == pytest.approx(0.65, abs=0.12)
        assert burnt.load == 0
        assert burnt.own / TICKS_PER_S < 0.3
    finally:
        finish(server)
        processes.close()


def test_a_real_load_tool_and_groundspeed_are_told_apart() -> None:
    load = start(BURN, 0.4)
    processes = watch(server_pid=None, load_program=name_of(load.pid))
    try:
        burn(load)
        until = time.process_time() + 0.3
        while time.process_time() < until:
            pass
        burnt = processes.advance()
        assert burnt.load / TICKS_PER_S == pytest.approx(0.45, abs=0.12)
        assert burnt.own / TICKS_PER_S == pytest.approx(0.35, abs=0.12)
        assert burnt.server == 0
        # It ends: none of what it burnt comes back as groundspeed's.
        finish(load)
        assert processes.advance().own / TICKS_PER_S < 0.2
    finally:
        finish(load)
        processes.close()
