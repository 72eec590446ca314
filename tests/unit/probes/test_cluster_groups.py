from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from groundspeed.probes import cluster_groups
from groundspeed.probes.cluster_groups import COMMAND, Group, own, told, work
from tests.unit.probes.captured_cluster import group_text

if TYPE_CHECKING:
    from pathlib import Path

VERSION_2 = {
    "cpu.stat": "usage_usec 1500000\nnr_periods 100\nnr_throttled 7\nthrottled_usec 250000\n",
    "cpuset.cpus.effective": "2-3\n",
    "memory.current": "104857600\n",
    "memory.max": "max\n",
    "memory.stat": "anon 5\ninactive_file 4857600\n",
    "memory.events": "low 0\noom 1\noom_kill 2\noom_group_kill 0\n",
}


def test_a_real_container_of_version_1_is_read() -> None:
    group = told(group_text().encode())

    assert group.version == 1
    assert group.cpu_s == pytest.approx(7.447638029)
    assert (group.period_count, group.throttled_count) == (1355, 189)
    assert group.throttled_s == pytest.approx(24.145577439)
    assert group.cpuset == "0-1"
    # The file cache that the kernel gives back first is none of its own.
    assert group.memory_used_bytes == 108011520 - 37789696
    assert group.memory_limit_bytes == 256 * 1024**2
    assert group.kill_count == 0


def test_version_2_is_read_by_ourselves(tmp_path: Path) -> None:
    for name, text in VERSION_2.items():
        (tmp_path / name).write_text(text)

    group = own(tmp_path)

    assert group == Group(
        version=2,
        cpu_s=1.5,
        period_count=100,
        throttled_count=7,
        throttled_s=0.25,
        cpuset="2-3",
        memory_used_bytes=100_000_000,
        memory_limit_bytes=None,
        kill_count=2,
    )


def test_nothing_is_known_where_nothing_can_be_read(tmp_path: Path) -> None:
    assert own(tmp_path) == Group()
    assert told(b"") == Group()
    assert work("pg-0", Group(), Group(), 5.0) is None


def test_what_a_shell_prints_is_what_we_read_ourselves(tmp_path: Path) -> None:
    for name, text in VERSION_2.items():
        (tmp_path / name).write_text(text)
    argv = [word.replace(cluster_groups.ROOT, str(tmp_path)) for word in COMMAND]

    printed = subprocess.run(argv, capture_output=True, check=True).stdout

    assert printed.startswith(b"@ ")
    assert told(printed.replace(str(tmp_path).encode(), b"/sys/fs/cgroup")) == own(tmp_path)


def test_growth_is_told_in_cores_and_periods() -> None:
    before = told(group_text().encode())
    after = told(
        group_text(nr_periods=1455, nr_throttled=239, throttled_time=29_145_577_439).encode()
    )._replace(cpu_s=8.447638029)

    seen = work("pg-0", before, after, 10.0)

    assert seen is not None
    assert seen.cpu_count == pytest.approx(0.1)
    assert (seen.period_count, seen.throttled_count) == (100, 50)
    assert seen.throttled_ratio == 0.5
    assert seen.throttled_s == pytest.approx(5.0)


def test_a_container_that_began_anew_counts_from_nothing() -> None:
    before = Group(version=2, cpu_s=100.0, period_count=900, throttled_count=90)
    after = Group(version=2, cpu_s=2.0, period_count=20, throttled_count=5)

    seen = work("pg-0", before, after, 10.0)

    assert seen is not None
    assert (seen.cpu_count, seen.period_count, seen.throttled_count) == (0.2, 20, 5)


def test_without_a_quota_nothing_is_said_of_periods() -> None:
    before, after = Group(version=2, cpu_s=1.0), Group(version=2, cpu_s=3.0)

    seen = work("pg-0", before, after, 2.0)

    assert seen is not None
    assert (seen.cpu_count, seen.throttled_ratio, seen.throttled_s) == (1.0, None, None)
