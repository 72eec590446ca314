"""How fast the real directory is that emulated files lie in: it must be faster than the device.

A small measure, at most about a second; its file has no name and is gone with its descriptor.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FILE_BYTES = 32 * 1024**2
_BLOCK_BYTES = 8192
_SAMPLES = 100
_LIMIT_NS = 500_000_000
_P99_RATIO = 0.99


class RealDisk(msgspec.Struct, frozen=True, kw_only=True):
    """Times of 8 KiB at random places: written and synced, and read; seconds.

    Reads are from the medium where the file system forgets its cache when asked.
    """

    sync_median_s: float
    sync_p99_s: float
    read_median_s: float
    read_p99_s: float


def measure(directory: Path) -> RealDisk:
    """Measure a directory that exists. Raises TargetError when it cannot be written."""
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            return _measure(file.fileno())
    except OSError as error:
        raise TargetError(
            f"{directory}: {error.strerror}", "check room and rights of the storage directory"
        ) from None


def _measure(descriptor: int) -> RealDisk:
    block = os.urandom(_BLOCK_BYTES)
    # Written and not only allocated: file systems answer reads of a hole from nothing.
    for offset in range(0, _FILE_BYTES, _BLOCK_BYTES):
        os.pwrite(descriptor, block, offset)
    os.fdatasync(descriptor)
    rng = random.Random(1)  # noqa: S311 - places in a file, no secret

    def write_and_sync(offset: int) -> None:
        os.pwrite(descriptor, block, offset)
        os.fdatasync(descriptor)

    def read(offset: int) -> None:
        os.pread(descriptor, _BLOCK_BYTES, offset)

    syncs = _times_s(write_and_sync, rng)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    reads = _times_s(read, rng)
    return RealDisk(
        sync_median_s=_quantile(syncs, 0.5),
        sync_p99_s=_quantile(syncs, _P99_RATIO),
        read_median_s=_quantile(reads, 0.5),
        read_p99_s=_quantile(reads, _P99_RATIO),
    )


def _times_s(call: Callable[[int], None], rng: random.Random) -> list[float]:
    times: list[float] = []
    started_ns = time.perf_counter_ns()
    while len(times) < _SAMPLES:
        offset = rng.randrange(_FILE_BYTES // _BLOCK_BYTES) * _BLOCK_BYTES
        before_ns = time.perf_counter_ns()
        call(offset)
        after_ns = time.perf_counter_ns()
        times.append((after_ns - before_ns) / 1e9)
        if after_ns - started_ns > _LIMIT_NS:
            break
    return sorted(times)


def _quantile(ascending: list[float], ratio: float) -> float:
    return ascending[min(len(ascending) - 1, int(ratio * len(ascending)))]
