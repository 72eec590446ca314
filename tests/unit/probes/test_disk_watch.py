from __future__ import annotations

from pathlib import Path

import pytest

from groundspeed.probes.disk_watch import DiskWatch
from tests.unit.probes.kernel_trees import device_of, write_files


def write_counters(proc: Path, path: Path, *, reads: int) -> None:
    major, minor = device_of(path)
    line = f"{major} {minor} vda {reads} 0 {8 * reads} {reads} 0 0 0 0 0 500 1000 0 0 0 0 0 0"
    write_files(proc, {"diskstats": f"  7 0 loop0 {'0 ' * 17}\n {line}\n"})


def test_one_disk_for_data_and_wal_is_told_once(tmp_path: Path) -> None:
    (tmp_path / "pg_wal").mkdir()
    watch = DiskWatch(str(tmp_path), None, proc=tmp_path / "proc", sys=tmp_path / "sys")
    write_counters(tmp_path / "proc", tmp_path, reads=100)
    watch.begin()
    write_counters(tmp_path / "proc", tmp_path, reads=300)
    columns = watch.advance(2.0)
    assert columns["disk_reads_per_s"] == 100.0
    assert columns["disk_bytes_per_s"] == 100.0 * 4096
    write_counters(tmp_path / "proc", tmp_path, reads=400)
    assert watch.advance(2.0)["disk_reads_per_s"] == 50.0
    work = watch.data_work(4.0)
    watch.close()
    assert work is not None
    assert (work.device, work.reads_per_s) == ("vda", 75.0)
    assert watch.wal_work(4.0) is None
    assert watch.absent == ()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm here")
def test_memory_has_no_disk(tmp_path: Path) -> None:
    write_counters(tmp_path, tmp_path, reads=1)
    watch = DiskWatch("/dev/shm", None, proc=tmp_path, sys=Path("/sys"))
    watch.begin()
    assert set(watch.advance(1.0).values()) == {None}
    assert watch.data_work(1.0) is None
    watch.close()
    assert [absent.what for absent in watch.absent] == ["disk"]
    assert "no line in /proc/diskstats" in watch.absent[0].reason


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="no /dev/shm here")
def test_a_wal_in_another_place_has_its_own_disk(tmp_path: Path) -> None:
    write_counters(tmp_path / "proc", tmp_path, reads=1)
    major, minor = device_of(Path("/dev/shm"))
    old = (tmp_path / "proc/diskstats").read_text()
    other = f" {major} {minor} ram0 0 0 0 0 "
    write_files(tmp_path, {"proc/diskstats": f"{old}{other}10 {'0 ' * 12}\n"})
    watch = DiskWatch(str(tmp_path), "/dev/shm", proc=tmp_path / "proc", sys=tmp_path / "sys")
    watch.begin()
    write_files(tmp_path, {"proc/diskstats": f"{old}{other}30 {'0 ' * 12}\n"})
    watch.advance(2.0)
    work = watch.wal_work(2.0)
    watch.close()
    assert work is not None
    assert (work.device, work.writes_per_s) == ("ram0", 10.0)
    assert watch.absent == ()


def test_a_server_elsewhere_has_no_disk_here(tmp_path: Path) -> None:
    watch = DiskWatch(None, None, proc=tmp_path, sys=tmp_path)
    watch.begin()
    assert watch.absent[0].reason == "the server runs elsewhere"
