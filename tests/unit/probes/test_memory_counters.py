from __future__ import annotations

import os
from pathlib import Path

from groundspeed.probes.memory_counters import MemoryCounters, resident_bytes
from tests.unit.probes.kernel_trees import write_files

KIB = 1024
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def meminfo(*, available: int, cached: int, dirty: int, free_pages: int = 8) -> str:
    return (
        f"MemTotal: 1000 kB\nMemAvailable:  {available} kB\nSwapCached: 3 kB\n"
        f"Cached:  {cached} kB\nDirty:   {dirty} kB\nShmem:    100 kB\n"
        f"HugePages_Total:      10\nHugePages_Free:   {free_pages}\nHugePages_Rsvd:        1\n"
    )


def test_the_least_and_the_most_that_was_seen(tmp_path: Path) -> None:
    write_files(tmp_path, {"meminfo": meminfo(available=700, cached=300, dirty=5)})
    write_files(tmp_path, {"vmstat": "nr_free_pages 1\npswpin 100\npswpout 200\n"})
    memory = MemoryCounters(tmp_path)
    memory.begin()
    middle = meminfo(available=500, cached=600, dirty=90, free_pages=2)
    write_files(tmp_path, {"meminfo": middle})
    assert memory.advance() == (500 * KIB, 90 * KIB)
    write_files(tmp_path, {"meminfo": meminfo(available=900, cached=200, dirty=0)})
    write_files(tmp_path, {"vmstat": "nr_free_pages 1\npswpin 103\npswpout 200\n"})
    memory.advance()
    work = memory.work(server_resident_bytes=7, remote_numa_ratio=0.5)
    memory.close()
    assert work is not None
    assert work.available_least_bytes == 500 * KIB
    # Shared memory is no cache of files.
    assert work.page_cache_bytes == 500 * KIB
    assert work.dirty_peak_bytes == 90 * KIB
    assert (work.swap_in_bytes, work.swap_out_bytes) == (3 * PAGE_BYTES, 0)
    assert work.huge_pages_used_count == 10 - 2 + 1
    assert (work.server_resident_bytes, work.remote_numa_ratio) == (7, 0.5)


def test_each_begin_forgets_what_was(tmp_path: Path) -> None:
    write_files(tmp_path, {"meminfo": meminfo(available=5, cached=900, dirty=90)})
    memory = MemoryCounters(tmp_path)
    memory.begin()
    write_files(tmp_path, {"meminfo": meminfo(available=700, cached=300, dirty=5)})
    memory.begin()
    work = memory.work(server_resident_bytes=None, remote_numa_ratio=None)
    memory.close()
    assert work is not None
    assert (work.available_least_bytes, work.dirty_peak_bytes) == (700 * KIB, 5 * KIB)


def test_a_kernel_that_tells_nothing(tmp_path: Path) -> None:
    memory = MemoryCounters(tmp_path)
    memory.begin()
    assert memory.advance() == (None, None)
    assert memory.work(server_resident_bytes=None, remote_numa_ratio=None) is None


def test_what_processes_share_counts_once(tmp_path: Path) -> None:
    write_files(tmp_path, {"5/statm": "900 100 80 1 0 9 0\n", "6/statm": "900 95 70 1 0 9 0\n"})
    write_files(tmp_path, {"7/statm": "torn"})
    assert resident_bytes((5, 6, 7, 8), tmp_path) == (20 + 25 + 80) * PAGE_BYTES
    assert resident_bytes((7, 8), tmp_path) is None


def test_this_machine_has_memory() -> None:
    memory = MemoryCounters(Path("/proc"))
    memory.begin()
    work = memory.work(
        server_resident_bytes=resident_bytes((os.getpid(),), Path("/proc")), remote_numa_ratio=None
    )
    memory.close()
    assert work is not None
    assert work.available_least_bytes > 0
    # A Python program with pytest in it.
    assert 10 * KIB * KIB < (work.server_resident_bytes or 0) < KIB**3
