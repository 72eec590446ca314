from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.probes.control_group import ControlGroup, GroupUnseenError, read_mounts
from tests.unit.probes.kernel_trees import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator

SERVER = 60


def unified(root: Path, group: str, *, mount_root: str = "/") -> Path:
    """Write a server in a group of version 2; gives the top of the hierarchy."""
    top = root / "cgroup tree"
    mounted = str(top).replace(" ", "\\040")
    write_files(
        root,
        {
            f"proc/{SERVER}/cgroup": f"0::{group}\n",
            "proc/self/mountinfo": "22 1 8:1 / / rw - ext4 /dev/vda rw\nnonsense\n"
            f"30 22 0:26 {mount_root} {mounted} rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        },
    )
    top.mkdir(exist_ok=True)
    return top


def throttled(periods: int, held: int, microseconds: int) -> str:
    return (
        f"usage_usec 1\nnr_periods {periods}\nnr_throttled {held}\nthrottled_usec {microseconds}\n"
    )


def test_the_least_limit_of_all_levels_counts(tmp_path: Path) -> None:
    top = unified(tmp_path, "/pod/server")
    write_files(
        top,
        {
            "pod/cpu.max": "150000 100000\n",
            "pod/cpu.stat": throttled(100, 10, 1_000_000),
            "pod/memory.max": "4000000\n",
            "pod/memory.current": "3900000\n",
            "pod/memory.stat": "anon 5\ninactive_file 900000\nactive_file 3\n",
            "pod/server/cpu.max": "max 100000\n",
            "pod/server/cpu.stat": throttled(0, 0, 0),
            "pod/server/memory.max": "max\n",
            "pod/server/memory.current": "7\n",
        },
    )
    group = ControlGroup(SERVER, tmp_path / "proc")
    group.begin()
    write_files(top, {"pod/cpu.stat": throttled(120, 15, 1_500_000)})
    assert group.advance() == pytest.approx(0.25)
    assert group.advance() == 0.0
    write_files(top, {"pod/cpu.stat": throttled(140, 35, 4_000_000)})
    assert group.advance() == 1.0
    work = group.work()
    group.close()
    assert work.version == 2
    assert work.cpu_limit_count == 1.5
    assert work.throttled_ratio == pytest.approx(25 / 40)
    assert work.throttled_s == pytest.approx(3.0)
    assert work.memory_limit_bytes == 4_000_000
    # Cache that the kernel gives back first is not used up.
    assert work.memory_used_bytes == 3_000_000


def test_a_group_without_limits(tmp_path: Path) -> None:
    top = unified(tmp_path, "/server")
    write_files(top, {"server/memory.current": "700\n"})
    group = ControlGroup(SERVER, tmp_path / "proc")
    group.begin()
    assert group.advance() is None
    work = group.work()
    assert (work.cpu_limit_count, work.throttled_ratio, work.throttled_s) == (None, None, None)
    assert (work.memory_limit_bytes, work.memory_used_bytes) == (None, 700)


def test_the_first_version_has_a_tree_for_each_controller(tmp_path: Path) -> None:
    cpu, memory = tmp_path / "cpu,cpuacct", tmp_path / "memory"
    write_files(
        tmp_path,
        {
            f"proc/{SERVER}/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n"
            "1:name=systemd:/x\n0::/\n",
            "proc/self/mountinfo": f"30 22 0:26 /docker/abc {cpu} rw - cgroup none rw,cpu,cpuacct\n"
            f"31 22 0:27 / {memory} rw - cgroup cgroup rw,memory\n"
            f"32 22 0:28 / {tmp_path} rw - cgroup2 cgroup2 rw\n",
            "cpu,cpuacct/cpu.cfs_quota_us": "50000\n",
            "cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            "cpu,cpuacct/cpu.stat": "nr_periods 10\nnr_throttled 1\nthrottled_time 0\n",
            "memory/memory.limit_in_bytes": "9223372036854771712\n",
            "memory/docker/memory.limit_in_bytes": "1000000\n",
            "memory/docker/memory.usage_in_bytes": "600000\n",
            "memory/docker/memory.stat": "inactive_file 1\ntotal_inactive_file 100000\n",
            "memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n",
        },
    )
    group = ControlGroup(SERVER, tmp_path / "proc")
    group.begin()
    stat = "nr_periods 20\nnr_throttled 6\nthrottled_time 2000000000\n"
    write_files(cpu, {"cpu.stat": stat})
    assert group.advance() == 0.5
    work = group.work()
    group.close()
    assert work.version == 1
    assert work.cpu_limit_count == 0.5
    assert work.throttled_s == pytest.approx(2.0)
    assert (work.memory_limit_bytes, work.memory_used_bytes) == (1_000_000, 500_000)


def test_a_quota_of_minus_one_is_none(tmp_path: Path) -> None:
    write_files(
        tmp_path,
        {
            f"proc/{SERVER}/cgroup": "3:cpu:/\n",
            "proc/self/mountinfo": f"30 22 0:26 / {tmp_path} rw - cgroup cgroup rw,cpu\n",
            "cpu.cfs_quota_us": "-1\n",
            "cpu.cfs_period_us": "100000\n",
        },
    )
    group = ControlGroup(SERVER, tmp_path / "proc")
    group.begin()
    assert group.work().cpu_limit_count is None


def test_a_container_sees_its_group_as_the_root(tmp_path: Path) -> None:
    top = unified(tmp_path, "/docker/abc/server", mount_root="/docker/abc")
    write_files(top, {"server/cpu.max": "200000 100000\n"})
    group = ControlGroup(SERVER, tmp_path / "proc")
    group.begin()
    assert group.work().cpu_limit_count == 2.0
    group.close()


@pytest.mark.parametrize("group", ["/../../elsewhere", "/docker/other", "/docker/abcd"])
def test_a_group_outside_of_what_is_mounted_is_unseen(tmp_path: Path, group: str) -> None:
    unified(tmp_path, group, mount_root="/docker/abc")
    with pytest.raises(GroupUnseenError, match="cannot be seen"):
        ControlGroup(SERVER, tmp_path / "proc")


def test_a_kernel_without_groups(tmp_path: Path) -> None:
    assert read_mounts(tmp_path) == []
    with pytest.raises(GroupUnseenError, match="does not tell"):
        ControlGroup(SERVER, tmp_path)


def test_a_group_that_goes_away_is_no_crash(tmp_path: Path) -> None:
    top = unified(tmp_path, "/server")
    write_files(top, {"server/cpu.max": "200000 100000\n", "server/cpu.stat": throttled(1, 0, 0)})
    group = ControlGroup(SERVER, tmp_path / "proc")
    group.begin()
    (top / "server/cpu.stat").write_text("")
    assert group.advance() is None
    assert group.work().throttled_ratio is None
    group.close()


BURN = """
import sys, time
sys.stdin.readline()
until = time.process_time() + 0.4
while time.process_time() < until: pass
print("burnt", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def quota() -> Iterator[Path]:
    """Make a real group that gets a fifth of a processor, below the one we are in."""
    proc = Path("/proc")
    try:
        # Ours is found by the code under test; that it is the right one is shown by what follows.
        place = ControlGroup(os.getpid(), proc)._cpu
    except GroupUnseenError as error:
        pytest.skip(str(error))
    folder = place.leaf / f"groundspeed-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error.strerror}")
    try:
        if place.version == 1:
            (folder / "cpu.cfs_period_us").write_text("50000")
            (folder / "cpu.cfs_quota_us").write_text("10000")
        elif not (folder / "cpu.max").exists():
            pytest.skip("the processor controller is not handed down to groups here")
        else:
            (folder / "cpu.max").write_text("10000 50000")
        yield folder
    finally:
        remove_when_empty(folder)


def remove_when_empty(folder: Path) -> None:
    # A process that has been waited for may still be leaving its group.
    until = time.monotonic() + 5
    while True:
        try:
            folder.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
        else:
            return


def test_a_real_quota_is_seen_to_bite(quota: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", BURN], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        try:
            (quota / "cgroup.procs").write_text(str(process.pid))
        except OSError as error:
            pytest.skip(f"a process cannot be put into a group here: {error.strerror}")
        group = ControlGroup(process.pid, Path("/proc"))
        group.begin()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"begin\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"burnt\n"
        # 0.4 s at a fifth of a processor take two seconds, nearly all periods of which are cut.
        ratio = group.advance()
        work = group.work()
        group.close()
        assert work.cpu_limit_count == pytest.approx(0.2)
        assert ratio is not None
        assert ratio > 0.5
        assert work.throttled_ratio == pytest.approx(ratio)
        assert work.throttled_s is not None
        assert work.throttled_s > 0
    finally:
        process.kill()
        process.communicate()
