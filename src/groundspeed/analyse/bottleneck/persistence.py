"""Servers that keep their data in memory: what bringing them onto a device costs who is served.

Of one thread for all clients: while it waits for a sync, or copies pages that a child still holds,
nobody is answered.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import capped, caps, device, held, remedies
from groundspeed.analyse.bottleneck.caps import EMULATED
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue
from groundspeed.record.evidence import EventKind, LogSync

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

_TOLD = "counters of the server"
_LOG_PLACES = (Place.LOG, Place.LOG_QUEUE, Place.WRITE)
_CHILDREN = frozenset({EventKind.SNAPSHOT, EventKind.LOG_REWRITE})
# Fewer seconds say nothing of how fast it is with a child, or without.
_FEW_SECONDS = 3
# A second that a child touches for half of it is its own: looks are a second apart.
_HALF = 0.5
# With more than half of what is written it is the larger cause.
_MOST_OF_WRITES_RATIO = 0.5


def stall(scene: Scene) -> Suspect | None:
    """fsync-stall: answers wait until the log is on the device, or writes behind a sync."""
    if scene.serving is None:
        return None
    kept = scene.persistence
    score = device.log_share(scene)
    behind = capped.behind_a_sync(scene)
    if score + behind <= 0:
        return None
    clues = [
        scene.waits_clue("of its time the thread of all clients waits for the log", *_LOG_PLACES),
        *_sync_clues(scene),
    ]
    if kept.delayed_sync_count:
        clues.insert(
            1,
            Clue(
                name="writes gave up waiting for a sync that took too long",
                value=float(kept.delayed_sync_count),
                unit="count",
                source=_TOLD,
            ),
        )
    return Suspect(
        bottleneck=Bottleneck.FSYNC_STALL,
        score=min(1.0, score + behind),
        clues=tuple(clues),
        remedy=remedies.STALL if score >= behind else remedies.STALL_BEHIND,
        doubtful=scene.device is None and scene.host is None,
        counted=scene.device is not None,
    )


def _sync_clues(scene: Scene) -> list[Clue]:
    work, kept = scene.device, scene.persistence
    clues: list[Clue] = []
    if work is None or not work.sync_call_count:
        return _disk_clues(scene)
    each_s = work.sync_waited_s / work.sync_call_count
    clues.append(Clue(name="is what one sync takes", value=each_s, unit="s", source=EMULATED))
    requests = scene.serving.request_count if scene.serving is not None else None
    if kept.log_sync is LogSync.EACH_WRITE and requests:
        name, each = f"{scene.words.many} share one sync", requests / work.sync_call_count
        source = f"{EMULATED} and {_TOLD}"
        clues.append(Clue(name=name, value=each, unit="count", source=source))
    return clues


def _disk_clues(scene: Scene) -> list[Clue]:
    disk = scene.host.disk if scene.host is not None else None
    if disk is None:
        return []
    source = f"/proc/diskstats, {disk.device}"
    clues = []
    if disk.flushes_per_s:
        name = "flushes of the disk a second"
        clues.append(Clue(name=name, value=disk.flushes_per_s, unit="per_s", source=source))
    name = "of the time the disk is busy"
    clues.append(Clue(name=name, value=disk.utilisation_ratio, unit="ratio", source=source))
    return clues


def fork(scene: Scene) -> Suspect | None:
    """fork-bound: answers are fewer while a child writes a snapshot or the log anew."""
    kept = scene.persistence
    if scene.serving is None or not kept.fork_count:
        return None
    lost = _lost_beside_children(scene)
    forking = (kept.fork_s or 0.0) / scene.elapsed_s if scene.elapsed_s else 0.0
    score = min(1.0, max(lost, forking))
    made = _made_ratio(scene)
    if made >= _MOST_OF_WRITES_RATIO and caps.binding(scene) is not None:
        score = max(score, min(1.0, device.storage_share(scene)))
    if not score:
        return None
    return Suspect(
        bottleneck=Bottleneck.FORK,
        score=score,
        clues=_fork_clues(scene, lost=lost, made=made),
        remedy=remedies.FORK,
        counted=True,
    )


def _made_ratio(scene: Scene) -> float:
    """Share of the bytes written that are no log, at the least: those of the children."""
    work = scene.device
    if work is None or not work.write_request_bytes or scene.serving is None:
        return 0.0
    return max(0.0, 1.0 - held.logged_bytes(scene) / work.write_request_bytes)


def _lost_beside_children(scene: Scene) -> float:
    """Throughput lost by seconds with a child, against those without; 0 where unknown."""
    rates = scene.series.column("requests_per_s")
    seconds = scene.series.column("second_index")
    spans = [
        (event.at_s, float("inf") if event.elapsed_s is None else event.at_s + event.elapsed_s)
        for event in scene.evidence.events
        if event.kind in _CHILDREN
    ]
    beside: list[float] = []
    within: list[float] = []
    for second, rate in zip(seconds, rates, strict=False):
        if second is None or rate is None:
            continue
        part = sum(max(0.0, min(end, second + 1) - max(begin, second)) for begin, end in spans)
        (within if part >= _HALF else beside).append(rate)
    if len(beside) < _FEW_SECONDS or len(within) < _FEW_SECONDS or not fmean(beside):
        return 0.0
    return max(0.0, 1.0 - fmean([*within, *beside]) / fmean(beside))


def _fork_clues(scene: Scene, *, lost: float, made: float) -> tuple[Clue, ...]:
    kept = scene.persistence
    clues: list[Clue] = []
    if lost:
        name = "of throughput is lost while snapshots or the log are written anew"
        source = f"{scene.words.many} of each second, {_TOLD}"
        clues.append(Clue(name=name, value=lost, unit="ratio", source=source))
    if made >= _MOST_OF_WRITES_RATIO:
        name = "of all that is written are snapshots or the log anew"
        source = f"{EMULATED} and {_TOLD}"
        clues.append(Clue(name=name, value=made, unit="ratio", source=source))
    running_s = (kept.snapshot_s or 0.0) + (kept.rewrite_s or 0.0)
    if running_s and scene.elapsed_s:
        name, part = "of the time a child writes them", min(1.0, running_s / scene.elapsed_s)
        clues.append(Clue(name=name, value=part, unit="ratio", source=_TOLD))
    if kept.longest_fork_s is not None:
        name = "is what the longest fork takes, in which nobody is served"
        clues.append(Clue(name=name, value=kept.longest_fork_s, unit="s", source=_TOLD))
    if kept.copied_bytes:
        name = "had to be copied while a child held them"
        clues.append(Clue(name=name, value=float(kept.copied_bytes), unit="bytes", source=_TOLD))
    return tuple(clues)
