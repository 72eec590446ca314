"""How much of the waiting for storage is the device's, and not the server's or the page cache's.

A wait is named before the call and taken back after it: a process that the kernel put off the
processor inside of a call seems to wait for storage. So sampled waits are held against what the
device itself was busy with, where that can be seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.scene import BLOCK_BYTES

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

# Half of the time with somebody in the log's sync keeps the line behind it standing: who comes
# meanwhile waits for the rest of this sync and for the whole of the next.
_LINE_STANDS_RATIO = 0.5
# A page cache copies a block in a few microseconds; no device answers in less than ten times that.
_CACHE_READ_S = 50e-6
# A block from a disk takes about so many times as long as one from the page cache.
_DISK_OVER_CACHE = 20.0


def log_share(scene: Scene) -> float:
    """Share of the clients' time in which the log's device is what they wait for."""
    in_line = min(1.0, scene.log_busy_ratio / _LINE_STANDS_RATIO)
    share = scene.share(Place.LOG) + scene.share(Place.LOG_QUEUE) * in_line
    busy = _log_device_ratio(scene)
    if busy is None or not scene.log_busy_ratio:
        return share
    return share * min(1.0, busy / (_LINE_STANDS_RATIO * scene.log_busy_ratio))


def _log_device_ratio(scene: Scene) -> float | None:
    """Share of time in which the log's device had work; None where that cannot be seen."""
    if scene.device is not None:
        waited_s = scene.device.sync_waited_s + scene.device.write_waited_s
        return min(1.0, waited_s / scene.device.elapsed_s) if scene.device.elapsed_s else 0.0
    if not _is_seen(scene):
        return None
    assert scene.host is not None  # noqa: S101 - it is what was asked
    disk = scene.host.wal_disk or scene.host.disk
    # No disk below a file system on this machine: memory, whose sync is nothing.
    return 0.0 if disk is None else disk.utilisation_ratio


def _is_seen(scene: Scene) -> bool:
    """Whether the server's disk would be in the evidence if it had one."""
    return scene.host is not None and scene.record.provenance.storage is not None


def read_share(scene: Scene) -> float:
    """Share of the clients' time in which they wait for a device to read."""
    return scene.share(Place.READ) * _read_ratio(scene)


def read_is_seen(scene: Scene) -> bool:
    """Whether it can be told reads of the page cache from those of a device."""
    database = scene.postgres.database
    timed = database is not None and database.block_read_s is not None
    return scene.device is not None or _is_seen(scene) or timed


def _read_ratio(scene: Scene) -> float:
    """Share of the time in reads that is the device's, by Little's law: busy = rate x time."""
    sessions = scene.mean_sessions(Place.READ)
    if not sessions:
        return 0.0
    device = scene.device
    if device is not None:
        return min(1.0, device.read_waited_s / device.elapsed_s / sessions)
    database = scene.postgres.database
    if _is_seen(scene):
        return _disk_read_ratio(scene, sessions)
    if database is not None and database.block_read_s is not None:
        each_s = database.block_read_s / max(1, database.block_read_count)
        return 1.0 if each_s > _CACHE_READ_S else 0.0
    return 1.0


def _disk_read_ratio(scene: Scene, sessions: float) -> float:
    assert scene.host is not None  # noqa: S101 - the caller has looked
    disk = scene.host.disk
    if disk is None:
        return 0.0
    if disk.read_wait_s is not None:
        return min(1.0, disk.reads_per_s * disk.read_wait_s / sessions)
    database = scene.postgres.database
    blocks = database.block_read_count if database is not None else 0
    read_bytes = disk.read_bytes_per_s * scene.elapsed_s
    return min(1.0, _DISK_OVER_CACHE * read_bytes / max(1.0, blocks * BLOCK_BYTES))


def write_share(scene: Scene) -> float:
    """Share of the clients' time in which they wait for a device to take data files."""
    sessions = scene.mean_sessions(Place.WRITE, Place.SPILL)
    if not sessions:
        return 0.0
    share = scene.share(Place.WRITE, Place.SPILL)
    device = scene.device
    if device is not None:
        waited_s = device.write_waited_s + device.sync_waited_s
        return share * min(1.0, waited_s / device.elapsed_s / sessions)
    if not _is_seen(scene):
        return share
    assert scene.host is not None  # noqa: S101 - it is what was asked
    return 0.0 if scene.host.disk is None else share * scene.host.disk.utilisation_ratio


def storage_share(scene: Scene) -> float:
    """Share of the clients' time in which they wait for a device at all, or for what it holds."""
    return log_share(scene) + read_share(scene) + write_share(scene) + scene.share(Place.HELD)
