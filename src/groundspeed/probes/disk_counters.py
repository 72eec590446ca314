"""The real disk below a path, by /proc/diskstats."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.probes.kernel_files import grown
from groundspeed.record.machine import DiskWork

if TYPE_CHECKING:
    from pathlib import Path

_SECTOR_BYTES = 512  # of /proc/diskstats, whatever the disk's own are
_OLDEST_FIELD_COUNT = 11
_FLUSH_FIELD = 15
_MOST_LAYERS_COUNT = 16


class DiskReading(NamedTuple):
    """Counters of one disk; times in milliseconds. `flushes` is None where none are counted."""

    reads: int
    read_sectors: int
    read_ms: int
    writes: int
    write_sectors: int
    write_ms: int
    busy_ms: int
    weighted_ms: int
    flushes: int | None

    def since(self, before: DiskReading) -> DiskReading:
        """Give the growth of each counter."""
        return DiskReading(
            *(
                None if now is None or then is None else grown(then, now)
                for now, then in zip(self, before, strict=True)
            )  # type: ignore[arg-type] # only `flushes` may be None, in both
        )


class Disk(NamedTuple):
    """A disk's name in /proc/diskstats, and whether the kernel counts its flushes."""

    name: str
    counts_flushes: bool = True


class DiskUnseenError(Exception):
    """There is no disk with counters below a path; the message says why."""


def find_disk(path: Path, *, sys: Path, diskstats: bytes) -> Disk:
    """Find the disk whose counters tell of a path. Raises DiskUnseenError.

    It goes down as long as there is one thing below: from a partition to its disk, from a volume
    (LVM, encryption) to what holds it. A limit on IOPS belongs to that disk, its queue is shared by
    all that is on it, and flushes are counted there alone (blk_account_io_flush). A volume over
    several disks, or a RAID, is taken as it is; then nothing counts flushes.
    """
    try:
        number = os.stat(path).st_dev  # noqa: PTH116 - the path of a fake tree may be a string
    except OSError as error:
        raise DiskUnseenError(f"{path} cannot be looked at: {error.strerror}") from error
    major, minor = os.major(number), os.minor(number)
    top = next(
        (
            words[2].decode("utf-8", "replace")
            for line in diskstats.splitlines()
            if (words := line.split())[:2] == [b"%d" % major, b"%d" % minor] and len(words) > 2  # noqa: PLR2004 - major minor name
        ),
        None,
    )
    if top is None:
        raise DiskUnseenError(
            f"{path} is on device {major}:{minor}, which has no line in /proc/diskstats: memory, "
            "an overlay, or a file system over several disks"
        )
    disk = _bottom(sys / f"dev/block/{major}:{minor}", top)
    return disk if _line_of(disk.name, diskstats) else Disk(top)


def _bottom(folder: Path, name: str) -> Disk:
    for _ in range(_MOST_LAYERS_COUNT):
        place = folder.resolve()
        if not place.is_dir():
            break
        if (place / "partition").exists():
            place = place.parent
        name = place.name
        below = list((place / "slaves").glob("*"))
        if len(below) != 1:
            return Disk(name, counts_flushes=not below)
        folder = below[0]
    return Disk(name)


def read_disk(disk: Disk, diskstats: bytes) -> DiskReading | None:
    """Read a disk's line; None where it is gone."""
    words = _line_of(disk.name, diskstats)
    try:
        n = [int(word) for word in words]
    except ValueError:
        return None
    if len(n) < _OLDEST_FIELD_COUNT:
        return None
    has_flushes = disk.counts_flushes and len(n) > _FLUSH_FIELD
    return DiskReading(
        reads=n[0],
        read_sectors=n[2],
        read_ms=n[3],
        writes=n[4],
        write_sectors=n[6],
        write_ms=n[7],
        busy_ms=n[9],
        weighted_ms=n[10],
        flushes=n[_FLUSH_FIELD] if has_flushes else None,
    )


def _line_of(name: str, diskstats: bytes) -> list[bytes]:
    """Give the counters of a disk: all words behind its name."""
    at = diskstats.find(b" %s " % name.encode())
    if at < 0:
        return []
    end = diskstats.find(b"\n", at)
    return diskstats[at : end if end >= 0 else None].split()[1:]


def disk_work(disk: Disk, growth: DiskReading, elapsed_s: float) -> DiskWork:
    """Turn the growth of counters over some time (more than 0 s) into rates."""
    return DiskWork(
        device=disk.name,
        reads_per_s=growth.reads / elapsed_s,
        writes_per_s=growth.writes / elapsed_s,
        read_bytes_per_s=growth.read_sectors * _SECTOR_BYTES / elapsed_s,
        write_bytes_per_s=growth.write_sectors * _SECTOR_BYTES / elapsed_s,
        flushes_per_s=None if growth.flushes is None else growth.flushes / elapsed_s,
        read_wait_s=growth.read_ms / 1000 / growth.reads if growth.reads else None,
        write_wait_s=growth.write_ms / 1000 / growth.writes if growth.writes else None,
        depth_count=growth.weighted_ms / 1000 / elapsed_s,
        # The kernel rounds its busy time up to ticks; more than all of the time is no more.
        utilisation_ratio=min(1.0, growth.busy_ms / 1000 / elapsed_s),
    )
