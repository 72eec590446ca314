"""Checkpoints that come too often: their pages, and the full-page images after each.

After a checkpoint the first change of a page writes the whole page to the log. Where the log itself
asks for the next checkpoint (max_wal_size), that happens again and again.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import caps, device, remedies
from groundspeed.analyse.bottleneck.scene import BLOCK_BYTES
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue
from groundspeed.record.evidence import EventKind

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

# PostgreSQL itself warns of requested checkpoints that are less than 30 s apart
# (checkpoint_warning); at twice that it is the log's size that decides, no more the clock.
_OFTEN_S = 60.0
# With more than half of what is written it is the larger cause.
_MOST_OF_WRITES_RATIO = 0.5
# A device in use to 70% has a queue whenever a checkpoint writes.
_BUSY_RATIO = 0.7
# Fewer seconds say nothing of how fast it is beside checkpoints.
_FEW_SECONDS = 3


def bound(scene: Scene) -> Suspect | None:
    """Checkpoint-bound: checkpoints make the writes that the device has no room for, or dips."""
    work = scene.postgres.checkpoints
    if work is None:
        return None
    lost = max(_lost_in_checkpoints(scene), _stalled_ratio(scene))
    made = _made_ratio(scene)
    score = lost
    if _is_often(scene) and made >= _MOST_OF_WRITES_RATIO and _is_busy(scene):
        score = max(score, min(1.0, device.storage_share(scene)))
    if not score:
        return None
    return Suspect(
        bottleneck=Bottleneck.CHECKPOINT,
        score=score,
        clues=_clues(scene, made=made, lost=lost),
        remedy=_remedy(scene),
        counted=True,
    )


def _is_often(scene: Scene) -> bool:
    work = scene.postgres.checkpoints
    if work is None or not work.requested_count:
        return False
    return scene.elapsed_s / work.requested_count <= _OFTEN_S


def _is_busy(scene: Scene) -> bool:
    """Whether the device has so much to do that the writes of checkpoints are in the way."""
    if caps.binding(scene) is not None:
        return True
    disk = scene.host.disk if scene.host is not None and scene.device is None else None
    return disk is not None and disk.utilisation_ratio >= _BUSY_RATIO


def _made_ratio(scene: Scene) -> float:
    """Share of the bytes written to log and data files that checkpoints are the cause of."""
    work, wal = scene.postgres.checkpoints, scene.postgres.wal
    if work is None or wal is None:
        return 0.0
    # Compressed images are smaller than a block; they are no more than the log.
    images = min(wal.bytes, wal.full_page_count * BLOCK_BYTES)
    pages = work.buffer_count * BLOCK_BYTES
    others = (work.cleaned_buffer_count + (work.backend_buffer_count or 0)) * BLOCK_BYTES
    written = wal.bytes + pages + others
    return (images + pages) / written if written else 0.0


def _lost_in_checkpoints(scene: Scene) -> float:
    """Throughput lost by seconds with a checkpoint, against those without; 0 where unknown."""
    commits = scene.series.column("commits_per_s")
    seconds = scene.series.column("second_index")
    spans = [
        (event.at_s, event.at_s + (event.elapsed_s or 0.0))
        for event in scene.evidence.events
        if event.kind is EventKind.CHECKPOINT
    ]
    beside: list[float] = []
    within: list[float] = []
    for second, rate in zip(seconds, commits, strict=False):
        if second is None or rate is None:
            continue
        touched = any(begin < second + 1 and end >= second for begin, end in spans)
        (within if touched else beside).append(rate)
    if len(beside) < _FEW_SECONDS or not within or not fmean(beside):
        return 0.0
    return max(0.0, 1.0 - fmean([*within, *beside]) / fmean(beside))


def _stalled_ratio(scene: Scene) -> float:
    """Share of the trial in which next to nothing was done while a checkpoint ran."""
    stalled = sum(
        stall.second_count
        for stall in scene.course.stalls
        if stall.coincides is EventKind.CHECKPOINT
    )
    return min(1.0, stalled / scene.elapsed_s) if scene.elapsed_s else 0.0


def _clues(scene: Scene, *, made: float, lost: float) -> tuple[Clue, ...]:
    work, wal = scene.postgres.checkpoints, scene.postgres.wal
    assert work is not None  # noqa: S101 - the rule has looked
    source = "pg_stat_bgwriter, from 17 pg_stat_checkpointer"
    clues: list[Clue] = []
    if lost:
        name = "of throughput is lost while checkpoints run"
        seen = "commits of each second and the server's checkpoints"
        clues.append(Clue(name=name, value=lost, unit="ratio", source=seen))
    if work.requested_count:
        name = "is the time between checkpoints that the log's size asked for"
        each_s = scene.elapsed_s / work.requested_count
        clues.append(Clue(name=name, value=each_s, unit="s", source=source))
    if made:
        name = "of all that is written are checkpoints' pages and full-page images"
        clues.append(Clue(name=name, value=made, unit="ratio", source=f"{source}, and pg_stat_wal"))
    if wal is not None:
        name, rate = "of log are written", wal.bytes / scene.elapsed_s
        clues.append(Clue(name=name, value=rate, unit="bytes_per_s", source="pg_stat_wal"))
    return tuple(clues)


def _remedy(scene: Scene) -> str:
    now = scene.setting("max_wal_size")
    return remedies.CHECKPOINT.format(now=f" (now {now})" if now else "")
