from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from groundspeed.cli import needs
from groundspeed.errors import TargetError
from groundspeed.probes.host import Host
from tests.unit.cli.conftest import SMALL_SUITE, small_plan

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1024**3


def machine(root: Path, *, available_bytes: int, filesystem: str = "ext4") -> Host:
    """Write a machine whose only disk is the one of `root`."""
    number = root.stat().st_dev
    device = f"{os.major(number)}:{os.minor(number)}"
    proc = root / "proc"
    (proc / "self").mkdir(parents=True)
    (proc / "self/mountinfo").write_text(f"1 1 {device} / / rw - {filesystem} /dev/x rw\n")
    (proc / "meminfo").write_text(f"MemAvailable: {available_bytes // 1024} kB\n")
    return Host(proc=proc, sys=root / "sys")


def suite_in(root: Path) -> str:
    return SMALL_SUITE.replace("./", f"{root}/")


def test_environments_on_one_disk_are_added_up(tmp_path: Path) -> None:
    plan = small_plan(suite_in(tmp_path))
    disk, memory = needs.needs_of(plan, machine(tmp_path, available_bytes=GIB))
    assert disk.most_bytes == 2 * plan.estimate.disk_bytes_per_environment
    assert disk.least_bytes < disk.most_bytes
    assert memory.most_bytes == plan.estimate.memory_bytes
    assert memory.free_bytes == GIB


def test_what_lies_in_memory_counts_as_memory_too(tmp_path: Path) -> None:
    plan = small_plan(suite_in(tmp_path))
    host = machine(tmp_path, available_bytes=GIB, filesystem="tmpfs")
    disk, memory = needs.needs_of(plan, host)
    assert memory.most_bytes == plan.estimate.memory_bytes + disk.most_bytes


def test_too_little_is_refused_with_figures(tmp_path: Path) -> None:
    plan = small_plan(suite_in(tmp_path))
    found = needs.needs_of(plan, machine(tmp_path, available_bytes=1024**2))
    with pytest.raises(TargetError) as caught:
        needs.refuse_if_short(found)
    assert caught.value.message.startswith("memory has 1.00 MiB free, this run needs at least ")
    assert "scale" in caught.value.hint


def test_enough_for_sure_and_perhaps_enough_are_told_apart() -> None:
    need = needs.Need(place="/x", least_bytes=10, most_bytes=100, free_bytes=50)
    needs.refuse_if_short((need,))
    assert needs.lines((need,)) == ("/x: needs up to 100 B, 50 B free, which may not be enough",)


def test_given_servers_need_nothing_here(tmp_path: Path) -> None:
    plan = small_plan("suite: s\nenvironments: {g: {target: server, dsn: 'host=h'}}\n")
    assert needs.needs_of(plan, machine(tmp_path, available_bytes=0)) == ()


def test_emulated_devices_need_no_disk(tmp_path: Path) -> None:
    text = "suite: s\nenvironments: {g: {target: embedded, storage: {emulate: x}}}\n"
    found = needs.needs_of(small_plan(text), machine(tmp_path, available_bytes=GIB))
    assert [need.place for need in found] == ["memory"]
