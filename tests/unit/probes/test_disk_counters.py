from __future__ import annotations

import os
from pathlib import Path

import pytest

from groundspeed.probes.disk_counters import (
    Disk,
    DiskUnseenError,
    disk_work,
    find_disk,
    read_disk,
)
from groundspeed.probes.kernel_files import read_whole
from tests.unit.probes.kernel_trees import device_of

COUNTERS = "100 1 800 200 50 2 1600 400 3 500 900 0 0 0 0 20 30"


def diskstats(*lines: tuple[str, str]) -> bytes:
    """Give lines by (numbers and name, counters)."""
    return "".join(f" {head} {counters}\n" for head, counters in lines).encode()


def layers(sys: Path, path: Path, *names: str, partition: bool = True) -> None:
    """Stack devices, the first below the path; each lies on the next."""
    major, minor = device_of(path)
    (sys / "dev/block").mkdir(parents=True)
    for number, name in enumerate(names):
        folder = sys / "devices" / name
        (folder / "slaves").mkdir(parents=True)
        if number == 0:
            (sys / f"dev/block/{major}:{minor}").symlink_to(folder)
        else:
            (sys / "devices" / names[number - 1] / "slaves" / Path(name).name).symlink_to(folder)
        if partition and "/" in name:
            (folder / "partition").write_text("1\n")
            (folder.parent / "slaves").mkdir()


def test_a_disk_is_found_by_its_number(tmp_path: Path) -> None:
    major, minor = device_of(tmp_path)
    text = diskstats((f"{major} {minor} vda", COUNTERS), (f"{major} {minor + 100} vdb", COUNTERS))
    assert find_disk(tmp_path, sys=tmp_path / "none", diskstats=text) == Disk("vda")


def test_of_a_partition_the_disk_is_taken(tmp_path: Path) -> None:
    major, minor = device_of(tmp_path)
    layers(tmp_path / "sys", tmp_path, "nvme0n1/nvme0n1p2")
    text = diskstats(("8 250 nvme0n1", COUNTERS), (f"{major} {minor} nvme0n1p2", COUNTERS))
    assert find_disk(tmp_path, sys=tmp_path / "sys", diskstats=text) == Disk("nvme0n1")


def test_a_volume_on_one_disk_is_followed_to_it(tmp_path: Path) -> None:
    major, minor = device_of(tmp_path)
    layers(tmp_path / "sys", tmp_path, "dm-1", "dm-0", "sda/sda3")
    text = diskstats((f"{major} {minor} dm-1", COUNTERS), ("8 0 sda", COUNTERS))
    assert find_disk(tmp_path, sys=tmp_path / "sys", diskstats=text) == Disk("sda")


def test_a_volume_over_two_disks_is_taken_as_it_is(tmp_path: Path) -> None:
    major, minor = device_of(tmp_path)
    layers(tmp_path / "sys", tmp_path, "md0", "sda")
    (tmp_path / "sys/devices/md0/slaves/sdb").mkdir()
    text = diskstats((f"{major} {minor} md0", COUNTERS), ("8 0 sda", COUNTERS))
    disk = find_disk(tmp_path, sys=tmp_path / "sys", diskstats=text)
    assert disk == Disk("md0", counts_flushes=False)
    reading = read_disk(disk, text)
    assert reading is not None
    assert reading.flushes is None


def test_a_disk_below_that_has_no_counters_is_not_gone_to(tmp_path: Path) -> None:
    major, minor = device_of(tmp_path)
    layers(tmp_path / "sys", tmp_path, "dm-1", "hidden")
    text = diskstats((f"{major} {minor} dm-1", COUNTERS))
    assert find_disk(tmp_path, sys=tmp_path / "sys", diskstats=text) == Disk("dm-1")


def test_no_line_and_no_path_say_why(tmp_path: Path) -> None:
    with pytest.raises(DiskUnseenError, match="no line in /proc/diskstats"):
        find_disk(tmp_path, sys=tmp_path, diskstats=b"8 0\n")
    with pytest.raises(DiskUnseenError, match="No such file"):
        find_disk(tmp_path / "missing", sys=tmp_path, diskstats=b"")


def test_the_work_of_a_disk() -> None:
    before = read_disk(Disk("vda"), diskstats(("8 16 vdab", "1 " * 17), ("8 0 vda", COUNTERS)))
    later = "300 9 2400 700 50 9 1600 400 9 2500 3900 0 0 0 0 60 30"
    after = read_disk(Disk("vda"), diskstats(("8 0 vda", later)))
    assert before is not None
    assert after is not None
    work = disk_work(Disk("vda"), after.since(before), 4.0)
    assert work.device == "vda"
    assert (work.reads_per_s, work.writes_per_s) == (50.0, 0.0)
    assert (work.read_bytes_per_s, work.write_bytes_per_s) == (1600 * 512 / 4, 0.0)
    assert work.flushes_per_s == 10.0
    assert work.read_wait_s == pytest.approx(0.0025)
    assert work.write_wait_s is None
    assert work.depth_count == pytest.approx(0.75)
    assert work.utilisation_ratio == pytest.approx(0.5)
    # Ticks may add up to more than the time there was.
    assert disk_work(Disk("vda"), after.since(before), 1.0).utilisation_ratio == 1.0


def test_times_of_32_bits_begin_anew() -> None:
    full = 2**32 - 100
    old = diskstats(("8 0 vda", f"1 0 0 {full} 0 0 0 {full} 0 {full} {full}"))
    new = diskstats(("8 0 vda", "3 0 0 100 0 0 0 100 0 100 100"))
    before, after = read_disk(Disk("vda"), old), read_disk(Disk("vda"), new)
    assert before is not None
    assert after is not None
    growth = after.since(before)
    assert (growth.read_ms, growth.busy_ms, growth.weighted_ms) == (200, 200, 200)
    # A kernel before 5.5 counts no flushes.
    assert growth.flushes is None


@pytest.mark.parametrize("text", [b"", b" 8 0 vda\n", b" 8 0 vda 1 2 3\n", b" 8 0 vda x y\n"])
def test_a_line_that_is_none_is_none(text: bytes) -> None:
    assert read_disk(Disk("vda"), text) is None


def test_the_disk_of_this_machine_counts_what_is_written(tmp_path: Path) -> None:
    def look() -> bytes:
        return read_whole("/proc/diskstats")

    try:
        disk = find_disk(tmp_path, sys=Path("/sys"), diskstats=look())
    except DiskUnseenError as error:
        pytest.skip(str(error))
    before = read_disk(disk, look())
    with (tmp_path / "data").open("wb") as file:
        file.write(b"x" * (1 << 20))
        file.flush()
        os.fsync(file.fileno())
    after = read_disk(disk, look())
    assert before is not None
    assert after is not None
    assert after.since(before).write_sectors >= (1 << 20) // 512
