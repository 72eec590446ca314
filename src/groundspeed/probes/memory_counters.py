"""Memory of the machine and of the server, and swapping, as the kernel counts them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from groundspeed.probes.kernel_files import (
    KeptFile,
    grown,
    number_after,
    read_bytes,
    read_whole,
)
from groundspeed.record.machine import MemoryWork

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_SIZE_RESIDENT_SHARED_COUNT = 3


class MemoryCounters:
    """/proc/meminfo once a second, /proc/vmstat at begin and end."""

    def __init__(self, proc: Path) -> None:
        self._memory = KeptFile(proc / "meminfo")
        self._virtual = proc / "vmstat"
        self._swapped: tuple[int, int] = (0, 0)
        self._available: list[int] = []
        self._dirty_peak = self._cache_peak = 0
        self._huge_peak: int | None = None

    def begin(self) -> None:
        """Count from here."""
        self._available = []
        self._dirty_peak = self._cache_peak = 0
        self._huge_peak = None
        self._swapped = self._swap_pages()
        self.advance()

    def advance(self) -> tuple[int | None, int | None]:
        """Look again; gives available and dirty bytes."""
        text = self._memory.read()
        available, dirty = _bytes(text, b"MemAvailable:"), _bytes(text, b"Dirty:")
        cached = _bytes(text, b"Cached:")
        if available is not None:
            self._available.append(available)
        self._dirty_peak = max(self._dirty_peak, dirty or 0)
        if cached is not None:
            # Shmem is in Cached: the server's shared buffers, which are no cache of files.
            shared = _bytes(text, b"Shmem:") or 0
            self._cache_peak = max(self._cache_peak, cached - shared)
        total, free = (number_after(text, b"HugePages_" + n) for n in (b"Total:", b"Free:"))
        if total is not None and free is not None:
            # Reserved ones are promised to a process and still counted as free.
            used = total - free + (number_after(text, b"HugePages_Rsvd:") or 0)
            self._huge_peak = max(self._huge_peak or 0, used)
        return available, dirty

    def work(
        self, *, server_resident_bytes: int | None, remote_numa_ratio: float | None
    ) -> MemoryWork | None:
        """Sum up since `begin`; None where /proc/meminfo told nothing."""
        if not self._available:
            return None
        page_bytes = os.sysconf("SC_PAGE_SIZE")
        swapped_in, swapped_out = (
            grown(before, after) * page_bytes
            for before, after in zip(self._swapped, self._swap_pages(), strict=True)
        )
        return MemoryWork(
            available_least_bytes=min(self._available),
            page_cache_bytes=self._cache_peak,
            dirty_peak_bytes=self._dirty_peak,
            swap_in_bytes=swapped_in,
            swap_out_bytes=swapped_out,
            server_resident_bytes=server_resident_bytes,
            huge_pages_used_count=self._huge_peak,
            remote_numa_ratio=remote_numa_ratio,
        )

    def close(self) -> None:
        """Let go of the file."""
        self._memory.close()

    def _swap_pages(self) -> tuple[int, int]:
        text = read_whole(self._virtual)
        return number_after(text, b"pswpin") or 0, number_after(text, b"pswpout") or 0


def resident_bytes(pids: Sequence[int], proc: Path) -> int | None:
    """Add up the memory of processes: what each has alone, and what they share once.

    Shared is the most that one of them has touched, which is a little less than all of it. Exact
    shares (Pss) would cost a walk over every page table. Huge pages are not in it.
    """
    alone, shared = 0, 0
    seen = False
    for pid in pids:
        words = read_bytes(proc / str(pid) / "statm").split()[:_SIZE_RESIDENT_SHARED_COUNT]
        if len(words) == _SIZE_RESIDENT_SHARED_COUNT and all(word.isdigit() for word in words):
            seen = True
            resident, with_others = int(words[1]), int(words[2])
            alone += resident - with_others
            shared = max(shared, with_others)
    return (alone + shared) * os.sysconf("SC_PAGE_SIZE") if seen else None


def _bytes(text: bytes, label: bytes) -> int | None:
    kib = number_after(text, label)
    return None if kib is None else kib * 1024
