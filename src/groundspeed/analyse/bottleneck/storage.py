"""Waits for storage that no limit explains: the log's sync, and reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import device, remedies
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.scene import BLOCK_BYTES
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene


def log_sync(scene: Scene) -> Suspect | None:
    """WAL-sync-bound: commits wait until the log is on the device, or in line behind who waits."""
    # There it is a stall of the one thread: see `persistence`.
    score = 0.0 if scene.serving is not None else device.log_share(scene)
    if not score:
        return None
    name = "of database time waits for the log to be written and synced"
    clues = [scene.waits_clue(name, Place.LOG, Place.LOG_QUEUE)]
    clues += _sync_clues(scene)
    clues.append(
        Clue(
            name="of the time somebody writes or syncs the log",
            value=scene.log_busy_ratio,
            unit="ratio",
            source=scene.waits_source,
        )
    )
    return Suspect(
        bottleneck=Bottleneck.WAL_SYNC,
        score=min(1.0, score),
        clues=tuple(clues),
        remedy=remedies.LOG if scene.clients > 1 else remedies.LOG_ALONE,
        doubtful=scene.device is None and scene.host is None,
        counted=scene.device is not None,
    )


def _sync_clues(scene: Scene) -> list[Clue]:
    """How long a sync takes, and how many commits share one."""
    work, wal, database = scene.device, scene.postgres.wal, scene.postgres.database
    count, waited_s, source = None, None, ""
    if wal is not None and wal.sync_count:
        count, waited_s, source = wal.sync_count, wal.sync_s, "pg_stat_wal"
    if work is not None and work.sync_call_count:
        count, waited_s = work.sync_call_count, work.sync_waited_s
        source = "counters of the emulated device"
    clues = []
    if count and waited_s:
        name = "is what one sync takes"
        clues.append(Clue(name=name, value=waited_s / count, unit="s", source=source))
    elif count:
        name, rate = "syncs a second", count / scene.elapsed_s
        clues.append(Clue(name=name, value=rate, unit="per_s", source=source))
    if count and database is not None and database.commit_count:
        name, each = "commits share one sync", database.commit_count / count
        source = f"{source} and pg_stat_database"
        clues.append(Clue(name=name, value=each, unit="count", source=source))
    return clues


def reads(scene: Scene) -> Suspect | None:
    """read-IO-bound: blocks come from the device, and sessions wait for them."""
    score = device.read_share(scene)
    if not score:
        return None
    name = "of database time waits for blocks to be read"
    clues = [scene.waits_clue(name, Place.READ), *_read_clues(scene)]
    database = scene.postgres.database
    if database is not None and database.cached_ratio is not None:
        clues.append(
            Clue(
                name="of blocks asked for were in shared buffers",
                value=database.cached_ratio,
                unit="ratio",
                source="pg_stat_database",
            )
        )
    return Suspect(
        bottleneck=Bottleneck.READ_IO,
        score=min(1.0, score),
        clues=tuple(clues),
        remedy=remedies.READS,
        doubtful=not device.read_is_seen(scene),
        counted=scene.device is not None,
    )


def _read_clues(scene: Scene) -> list[Clue]:
    work = scene.device
    disk = scene.host.disk if scene.host is not None else None
    if work is not None and work.read_request_count and work.elapsed_s:
        source = "counters of the emulated device"
        rate = work.read_request_count / work.elapsed_s
        each_s = work.read_waited_s / work.read_request_count
    elif disk is not None and disk.reads_per_s and disk.read_wait_s is not None:
        source, rate, each_s = f"/proc/diskstats, {disk.device}", disk.reads_per_s, disk.read_wait_s
    else:
        return _block_clues(scene)
    return [
        Clue(name="is what one read takes", value=each_s, unit="s", source=source),
        Clue(name="reads a second reach the device", value=rate, unit="per_s", source=source),
    ]


def _block_clues(scene: Scene) -> list[Clue]:
    database = scene.postgres.database
    if database is None or not scene.elapsed_s:
        return []
    rate = database.block_read_count * BLOCK_BYTES / scene.elapsed_s
    name = "are read into shared buffers"
    return [Clue(name=name, value=rate, unit="bytes_per_s", source="pg_stat_database")]
