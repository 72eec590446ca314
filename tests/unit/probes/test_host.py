from __future__ import annotations

import os
from pathlib import Path

import pytest

from groundspeed.probes.host import Host, is_memory_backed, storage_facts_of

FILES = {
    "proc/sys/kernel/osrelease": "6.1.0-test\n",
    "proc/cpuinfo": """\
processor\t: 0
model name\t: Test  CPU @ 2GHz
flags\t\t: fpu vme hypervisor

processor\t: 1
model name\t: Test  CPU @ 2GHz
""",
    "proc/self/status": "Name:\tx\nCpus_allowed_list:\t0-3,8\n",
    "proc/meminfo": "MemTotal:       1000 kB\nMemAvailable:    600 kB\nHugePages_Total:       7\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/dmi/id/sys_vendor": "Example Cloud\n",
    "sys/class/dmi/id/product_name": "m1.large\n",
}


def machine(root: Path, **changes: str | None) -> Host:
    """Write a machine; changes are by path with / as __, None takes a file away."""
    files = {**FILES, **{name.replace("__", "/"): text for name, text in changes.items()}}
    for name, text in files.items():
        if text is not None:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return Host(proc=root / "proc", sys=root / "sys")


def test_the_facts_of_a_machine(tmp_path: Path) -> None:
    facts = machine(tmp_path).host_facts()
    assert facts.kernel == "6.1.0-test"
    assert facts.cpu_model == "Test CPU @ 2GHz"
    assert facts.cpu_count == 5
    assert facts.memory_bytes == 1000 * 1024
    assert facts.virtualization == "virtual machine (Example Cloud m1.large)"
    assert facts.governor == "performance, powersave"
    assert facts.clock_source == "tsc"
    assert facts.transparent_huge_pages == "madvise"


def test_a_machine_that_tells_nothing_is_no_crash(tmp_path: Path) -> None:
    host = Host(proc=tmp_path / "proc", sys=tmp_path / "sys")
    facts = host.host_facts()
    assert facts.kernel == facts.cpu_model == "unknown"
    assert facts.cpu_count == 1
    assert facts.memory_bytes == host.available_memory_bytes() == host.huge_pages_count() == 0
    assert facts.virtualization == "none seen"
    assert (facts.governor, facts.clock_source, facts.transparent_huge_pages) == (None, None, None)


def test_a_container_gets_what_its_control_group_allows(tmp_path: Path) -> None:
    host = machine(
        tmp_path,
        **{
            "sys/fs/cgroup/cpu.max": "250000 100000\n",
            "sys/fs/cgroup/memory.max": "512000\n",
            "sys/fs/cgroup/memory.current": "400000\n",
            "sys/fs/cgroup/memory.stat": "anon 100000\ninactive_file 50000\n",
        },
    )
    assert host.cpu_count() == 2
    assert host.memory_bytes() == 512000
    assert host.available_memory_bytes() == 512000 - 400000 + 50000


def test_no_limit_is_no_limit(tmp_path: Path) -> None:
    unlimited = {"sys/fs/cgroup/cpu.max": "max 100000\n", "sys/fs/cgroup/memory.max": "max\n"}
    host = machine(tmp_path, **unlimited)
    assert host.cpu_count() == 5
    assert host.available_memory_bytes() == 600 * 1024
    assert host.huge_pages_count() == 7


def test_an_arm_processor_has_numbers_for_a_name(tmp_path: Path) -> None:
    text = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    facts = machine(tmp_path, proc__cpuinfo=text).host_facts()
    assert facts.cpu_model == "Arm implementer 0x41 part 0xd0c"


def test_processors_are_counted_where_no_affinity_is_told(tmp_path: Path) -> None:
    assert machine(tmp_path, proc__self__status="Name:\tx\n").cpu_count() == 2


def mountinfo(*mounts: tuple[str, str, str]) -> str:
    lines = (
        f"{n} 1 {number} / {point} rw,noatime shared:1 - {kind} /dev/{kind} rw,data=ordered\n"
        for n, (number, point, kind) in enumerate(mounts)
    )
    return "".join(lines)


def number_of(path: Path) -> str:
    device = path.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


def test_the_mount_with_the_number_of_the_path_is_found(tmp_path: Path) -> None:
    table = mountinfo(("0:1", "/", "overlay"), (number_of(tmp_path), str(tmp_path.parent), "xfs"))
    mount = machine(tmp_path, proc__self__mountinfo=table).mount_of(tmp_path / "not" / "yet")
    assert mount.mount_point == str(tmp_path.parent)
    assert mount.filesystem == "xfs"
    assert mount.device == "/dev/xfs"
    assert mount.mount_options == "rw,noatime,data=ordered"
    assert mount.free_bytes > 0
    assert not mount.in_memory


def test_a_mount_that_hides_another_is_the_one(tmp_path: Path) -> None:
    number, point = number_of(tmp_path), str(tmp_path)
    table = mountinfo((number, point, "ext4"), (number, point, "tmpfs"))
    mount = machine(tmp_path, proc__self__mountinfo=table).mount_of(tmp_path)
    assert mount.filesystem == "tmpfs"
    assert mount.in_memory


def test_a_number_in_no_table_falls_back_to_the_longest_path(tmp_path: Path) -> None:
    table = mountinfo(("0:1", "/", "ext4"), ("0:2", str(tmp_path), "btrfs"))
    mount = machine(tmp_path, proc__self__mountinfo=table).mount_of(tmp_path)
    assert mount.filesystem == "btrfs"


def test_blanks_in_a_mount_point_are_read(tmp_path: Path) -> None:
    place = tmp_path / "my disk"
    place.mkdir()
    table = mountinfo((number_of(place), str(place).replace(" ", "\\040"), "xfs"))
    mount = machine(tmp_path, proc__self__mountinfo=table).mount_of(place)
    assert mount.mount_point == str(place)


def test_a_root_of_overlayfs_is_a_container(tmp_path: Path) -> None:
    table = mountinfo(("0:1", "/", "overlay"))
    facts = machine(tmp_path, proc__self__mountinfo=table, proc__cpuinfo="").host_facts()
    assert facts.virtualization == "Example Cloud m1.large, in a container"


def test_lines_that_are_no_mounts_are_passed_over(tmp_path: Path) -> None:
    mount = machine(tmp_path, proc__self__mountinfo="nonsense\n1 2 - x\n").mount_of(tmp_path)
    assert mount.filesystem == "unknown"


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm here")
def test_this_machine_has_memory_at_dev_shm() -> None:
    assert is_memory_backed(Path("/dev/shm"))
    assert storage_facts_of(Path("/dev/shm")).free_bytes > 0
