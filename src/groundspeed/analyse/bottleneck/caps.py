"""Devices at a limit: requests a second, or bytes a second, also of the link to its replicas.

An emulated device says what its limits are and how long requests were held back by them. A real one
says neither: there a rate that stays flat at a round number while requests queue is a cap.
"""

from __future__ import annotations

import math
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.diagnosis import Clue
from groundspeed.storage.decode import decode_json
from groundspeed.storage.profile import Counted, Direction, ReadsFrom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.bottleneck.scene import Scene
    from groundspeed.record import StorageWork
    from groundspeed.storage.profile import Limit, Profile, Replication

# A limit that is used to 85% over a trial with its pauses bites whenever there is work.
AT_LIMIT_RATIO = 0.85
# Half of it used, and as much of the waiting its doing: work comes in gusts, as checkpoints do.
_OFTEN_AT_LIMIT_RATIO = 0.5
# Credits that are not spent let everything through.
_CREDITS_LEFT_RATIO = 0.02
# A rate that workloads make varies by more; token buckets and the kernel's throttling by less.
_FLAT_CV_RATIO = 0.05
_FLAT_SECONDS = 5
# Vendors sell such numbers of IOPS, and 3,000 is measured as 2,990 to 3,030.
_ROUND = (1.0, 1.2, 1.25, 1.5, 1.6, 2.0, 2.5, 3.0, 3.2, 4.0, 5.0, 6.0, 6.4, 7.5, 8.0, 10.0)
_ROUND_TOLERANCE_RATIO = 0.02
# A device without a queue is not asked for more than it gives.
_QUEUE_DEPTH_COUNT = 1.0
_FULL_DISK_RATIO = 0.9
# Requests of 64 KiB and more fill the width of a device before its number of requests.
_WIDE_REQUEST_BYTES = 65536
EMULATED = "counters of the emulated device"


class Cap(msgspec.Struct, frozen=True, kw_only=True):
    """A limit that binds: requests or bytes, in which direction, and how much of it was used.

    `held_ratio` is the share of the waiting for the device that is the limit's doing.
    """

    of: Counted
    on: Direction
    limit_per_s: float
    used_per_s: float
    held_ratio: float
    clues: tuple[Clue, ...]
    is_known: bool

    @property
    def used_ratio(self) -> float:
        """How much of the limit was used."""
        return self.used_per_s / self.limit_per_s


def binding(scene: Scene) -> Cap | None:
    """Find the limit that is used most, where that is used up."""
    if scene.device is not None:
        return _emulated(scene, scene.device)
    return _flat(scene)


def _emulated(scene: Scene, work: StorageWork) -> Cap | None:
    storage = scene.record.provenance.storage
    waited_s = work.read_waited_s + work.write_waited_s + work.sync_waited_s
    if storage is None or storage.profile is None or not waited_s or not work.elapsed_s:
        return None
    uses = _uses(decode_json(storage.profile), work)
    use = max(uses, key=lambda one: one.share, default=None)
    held_ratio = min(1.0, work.throttled_s / waited_s)
    if use is None or not _bites(use.share, held_ratio):
        return None
    return Cap(
        of=use.of,
        on=use.on,
        limit_per_s=use.limit_per_s,
        used_per_s=use.used_per_s,
        held_ratio=held_ratio,
        clues=_cap_clues(use, work, held_ratio),
        is_known=True,
    )


def _bites(share: float, held_ratio: float) -> bool:
    return share >= AT_LIMIT_RATIO or (share >= _OFTEN_AT_LIMIT_RATIO and held_ratio >= share)


class _Use(NamedTuple):
    """How much of a limit was used; `whose` it is, in words."""

    of: Counted
    on: Direction
    limit_per_s: float
    used_per_s: float
    whose: str

    @property
    def share(self) -> float:
        return self.used_per_s / self.limit_per_s


def _uses(profile: Profile, work: StorageWork) -> Iterator[_Use]:
    """Limits that nothing is saved up for: of the device, of its front, and of the link."""
    front = () if profile.front is None else profile.front.limits
    for limit in (*profile.device.limits, *front):
        if not _has_credits(limit, work):
            used_per_s = _used_per_s(limit, work)
            yield _Use(limit.of, limit.on, limit.rate_per_s, used_per_s, "the device's limit")
    replication = profile.replication
    if replication is not None and replication.link_bytes_per_s:
        used_per_s = _sent_per_s(replication, work)
        limit_per_s = replication.link_bytes_per_s
        whose = "the link to its replicas"
        yield _Use(Counted.BYTES, Direction.BOTH, limit_per_s, used_per_s, whose)


def _sent_per_s(replication: Replication, work: StorageWork) -> float:
    """Bytes on the one link between nodes: each write to each remote replica, and remote reads."""
    remote_count = replication.replicas_count - replication.one_is_local
    reads_ratio = float(not replication.one_is_local)
    if replication.reads is ReadsFrom.SPREAD:
        reads_ratio = remote_count / replication.replicas_count
    sent_bytes = work.write_request_bytes * remote_count + work.read_request_bytes * reads_ratio
    return sent_bytes / work.elapsed_s


def _has_credits(limit: Limit, work: StorageWork) -> bool:
    """Whether a burst bucket still lets everything through."""
    return limit.credits_count > 0 and any(
        c.left > _CREDITS_LEFT_RATIO * c.capacity
        for c in work.credits
        if c.of == limit.of.value and c.on == limit.on.value and c.capacity == limit.credits_count
    )


def _used_per_s(limit: Limit, work: StorageWork) -> float:
    requests = {
        Direction.READ: work.read_request_count,
        Direction.WRITE: work.write_request_count,
        Direction.BOTH: work.read_request_count + work.write_request_count,
    }
    sizes = {
        Direction.READ: work.read_request_bytes,
        Direction.WRITE: work.write_request_bytes,
        Direction.BOTH: work.read_request_bytes + work.write_request_bytes,
    }
    counted = requests if limit.of is Counted.REQUESTS else sizes
    return counted[limit.on] / work.elapsed_s


def _cap_clues(use: _Use, work: StorageWork, held_ratio: float) -> tuple[Clue, ...]:
    unit = "per_s" if use.of is Counted.REQUESTS else "bytes_per_s"
    what = {Direction.READ: " read", Direction.WRITE: " written", Direction.BOTH: ""}[use.on]
    used = f"requests{what}" if use.of is Counted.REQUESTS else f"bytes{what or ' moved'}"
    return (
        Clue(
            name=f"{used}, {use.share:.0%} of {use.whose}",
            value=use.used_per_s,
            unit=unit,
            source=EMULATED,
        ),
        Clue(
            name="of the time waited for the device is the limit's doing",
            value=held_ratio,
            unit="ratio",
            source=EMULATED,
        ),
        Clue(
            name="requests are in the device at a time",
            value=work.mean_depth_count,
            unit="count",
            source=EMULATED,
        ),
    )


def _flat(scene: Scene) -> Cap | None:
    """Find a cap on a real disk: a flat and round number of requests, and a queue."""
    disk = scene.host.disk if scene.host is not None else None
    reads = scene.series.column("disk_reads_per_s")
    writes = scene.series.column("disk_writes_per_s")
    if disk is None or disk.depth_count <= _QUEUE_DEPTH_COUNT:
        return None
    rates = [r + w for r, w in zip(reads, writes, strict=False) if r is not None and w is not None]
    # The first and the last second are not whole.
    inner = rates[1:-1]
    if len(inner) < _FLAT_SECONDS or not fmean(inner):
        return None
    mean = fmean(inner)
    cv_ratio = pstdev(inner) / mean
    if cv_ratio > _FLAT_CV_RATIO or not is_round(mean):
        return None
    source = f"/proc/diskstats, {disk.device}"
    return Cap(
        of=Counted.REQUESTS,
        on=Direction.BOTH,
        limit_per_s=mean,
        used_per_s=mean,
        held_ratio=1.0,
        clues=(
            Clue(name="requests, flat at a round number", value=mean, unit="per_s", source=source),
            Clue(name="is how much that varies (CV)", value=cv_ratio, unit="ratio", source=source),
            Clue(
                name="requests are in the disk at a time",
                value=disk.depth_count,
                unit="count",
                source=source,
            ),
        ),
        is_known=False,
    )


def is_round(rate_per_s: float) -> bool:
    """Tell whether a vendor would sell so many requests a second."""
    if rate_per_s <= 0:
        return False
    lead = rate_per_s / 10 ** math.floor(math.log10(rate_per_s))
    return any(abs(lead / near - 1) <= _ROUND_TOLERANCE_RATIO for near in _ROUND)


def is_full_of_writes(scene: Scene) -> bool:
    """Whether a real disk is busy all the time with wide writes."""
    disk = scene.host.disk if scene.host is not None else None
    if disk is None or disk.utilisation_ratio < _FULL_DISK_RATIO or not disk.writes_per_s:
        return False
    wide = disk.write_bytes_per_s / disk.writes_per_s >= _WIDE_REQUEST_BYTES
    return wide and disk.write_bytes_per_s > disk.read_bytes_per_s
