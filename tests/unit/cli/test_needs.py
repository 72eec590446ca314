from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import plan as plans
from groundspeed import spec
from groundspeed.cli import needs, storage_places
from groundspeed.errors import TargetError
from groundspeed.probes.host import Host
from groundspeed.storage import catalogue
from tests.unit.cli.conftest import SMALL_SUITE, small_plan

if TYPE_CHECKING:
    from groundspeed.plan import Plan

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


def emulated_plan(storage: str = "{emulate: aws-gp3}", memory: str = "1GiB") -> Plan:
    text = (
        f"suite: s\nscale: 1\nenvironments: {{g: {{target: embedded, memory: {memory},"
        f" storage: {storage}}}}}\n"
    )
    profile = catalogue.profile("aws-gp3")
    resolved = plans.ResolvedProfile(profile.label, msgspec.json.encode(profile).decode())
    return plans.make_plan(
        spec.load_suite(text, source="s"),
        source="s",
        rng=Random(1),
        groundspeed_version="0",
        scripts={},
        profiles={"g": resolved},
    )


def test_an_emulated_device_needs_room_for_its_files_and_its_state(tmp_path: Path) -> None:
    plan = emulated_plan(f"{{emulate: aws-gp3, directory: {tmp_path}}}")
    host = machine(tmp_path, available_bytes=GIB)
    disk, state, _ = needs.needs_of(plan, host)
    assert disk.most_bytes == plan.estimate.disk_bytes_per_environment
    larger = emulated_plan(f"{{emulate: aws-gp3, directory: {tmp_path}}}", memory="101GiB")
    _, more, _ = needs.needs_of(larger, host)
    # 16 bytes for each page of 4 KiB.
    assert more.most_bytes - state.most_bytes == 100 * GIB // 256


def test_the_state_of_a_device_is_memory(tmp_path: Path) -> None:
    if not Host().mount_of(Path("/dev/shm")).in_memory:
        pytest.skip("/dev/shm is not in memory here")
    plan = emulated_plan(f"{{emulate: aws-gp3, directory: {tmp_path}}}")
    *_, memory = needs.needs_of(plan, Host())
    assert memory.most_bytes > plan.estimate.memory_bytes


def test_a_cache_without_room_for_shared_buffers_is_refused(tmp_path: Path) -> None:
    plan = emulated_plan(memory="64MiB")
    with pytest.raises(TargetError, match="shared_buffers take 128 MiB of 64 MiB"):
        needs.needs_of(plan, machine(tmp_path, available_bytes=GIB))


def test_files_of_an_emulated_device_go_to_memory_where_they_fit() -> None:
    plan = emulated_plan()
    made = storage_places.machine_for(plan, Host())
    fits = Host().available_memory_bytes() > 4 * plan.estimate.disk_bytes_per_environment
    if not (fits and Host().mount_of(Path("/dev/shm")).in_memory):
        pytest.skip("too little memory on this machine")
    assert made.fast_directory == "/dev/shm"


def test_files_of_an_emulated_device_go_to_the_disk_where_memory_is_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = storage_places.machine_for(emulated_plan(), machine(tmp_path, available_bytes=GIB // 64))
    assert made.fast_directory == str(tmp_path / "data")
