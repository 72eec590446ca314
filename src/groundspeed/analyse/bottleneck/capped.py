"""Devices that are used up: named by what is at its limit, and by what would raise it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import caps, device, remedies
from groundspeed.analyse.bottleneck.caps import EMULATED
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.analyse.bottleneck.suspects import Suspect
from groundspeed.analyse.diagnosis import Bottleneck, Clue
from groundspeed.record.evidence import LogSync
from groundspeed.storage.profile import Counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.bottleneck.scene import Scene

# Where the thread of all clients waits for a device.
_STOPPED = (Place.LOG, Place.READ, Place.WRITE)
# A sync that is under way for half of the time is what a write meets.
_OFTEN_RATIO = 0.5


def bound(scene: Scene) -> Suspect | None:
    """IOPS-capped or write-bandwidth-bound; reads at a limit of bytes are read-IO-bound."""
    cap = caps.binding(scene)
    if cap is None:
        return _wide_writes(scene)
    # Locks are held by those who wait for the device, and who waits for them waits for it too.
    score = min(1.0, device.storage_share(scene) * cap.held_ratio)
    kind = Bottleneck.IOPS_CAPPED
    remedy = remedies.IOPS
    if cap.of is Counted.BYTES:
        kind = Bottleneck.WRITE_BANDWIDTH if _mostly_writes(scene) else Bottleneck.READ_IO
        remedy = _wider(scene) if _mostly_writes(scene) else remedies.READ_BANDWIDTH
    return Suspect(
        bottleneck=kind,
        score=score,
        clues=(*_step_clues(scene), *_with_storage(scene, cap.clues)),
        remedy=_with_credits(scene, remedy),
        doubtful=not cap.is_known,
        counted=cap.is_known,
    )


def _with_storage(scene: Scene, clues: Sequence[Clue]) -> tuple[Clue, ...]:
    """Add what was waited for it; before the rest where there is work beside it.

    A thread that is at work all the time looks like one that lacks a faster core.
    """
    if not scene.share(Place.HELD):
        return (*clues, _storage_clue(scene))
    name = "of its time the thread of all clients waits for the device or works held back by it"
    both = scene.waits_clue(name, *_STOPPED, Place.HELD)
    return (*clues[:1], both, scene.waits_clue("of its time it waits", *_STOPPED), *clues[1:])


def _wider(scene: Scene) -> str:
    return remedies.WRITE_BANDWIDTH if scene.serving is None else remedies.LOG_BANDWIDTH


def _step_clues(scene: Scene) -> tuple[Clue, ...]:
    """How long the burst credits lasted, where throughput shows it."""
    step = scene.course.step
    if step is None or not _is_burstable(scene):
        return ()
    name = "from the begin until the burst credits were spent and throughput fell"
    source = f"{scene.words.many} of each second, {scene.latency_source}"
    return (Clue(name=name, value=step.at_s, unit="s", source=source),)


def _is_burstable(scene: Scene) -> bool:
    return scene.device is not None and any(c.capacity > 0 for c in scene.device.credits)


def _with_credits(scene: Scene, remedy: str) -> str:
    return f"{remedy}; its burst credits were spent" if _is_burstable(scene) else remedy


def _storage_clue(scene: Scene) -> Clue:
    if scene.serving is not None:
        return scene.waits_clue(
            "of its time the thread of all clients waits for the device", *_STOPPED
        )
    return Clue(
        name="of the clients' time waits for the device",
        value=min(1.0, device.storage_share(scene)),
        unit="ratio",
        source=scene.waits_source if scene.has_waits else EMULATED,
    )


def _mostly_writes(scene: Scene) -> bool:
    work = scene.device
    if work is not None:
        return work.write_request_bytes >= work.read_request_bytes
    disk = scene.host.disk if scene.host is not None else None
    return disk is None or disk.write_bytes_per_s >= disk.read_bytes_per_s


def _wide_writes(scene: Scene) -> Suspect | None:
    """Writes without a known limit: a disk that is full with wide requests, or dirty pages that
    cannot be written back as fast as they are made.
    """  # noqa: D205 - it takes two lines to name both
    disk = scene.host.disk if scene.host is not None else None
    clues: Sequence[Clue] = ()
    score = device.write_share(scene) - behind_a_sync(scene)
    if scene.device is None and disk is not None and caps.is_full_of_writes(scene):
        score += device.log_share(scene) + scene.share(Place.HELD)
        source = f"/proc/diskstats, {disk.device}"
        clues = (
            Clue(name="written", value=disk.write_bytes_per_s, unit="bytes_per_s", source=source),
            Clue(
                name="of the time the disk is busy",
                value=disk.utilisation_ratio,
                unit="ratio",
                source=source,
            ),
        )
    elif scene.device is not None and scene.device.elapsed_s:
        work = scene.device
        rate = work.write_request_bytes / work.elapsed_s
        clues = (
            Clue(name="written", value=rate, unit="bytes_per_s", source=EMULATED),
            Clue(
                name="of dirty pages wait to be written, at most",
                value=float(work.dirty_peak_bytes),
                unit="bytes",
                source=EMULATED,
            ),
        )
    if not score:
        return None
    return Suspect(
        bottleneck=Bottleneck.WRITE_BANDWIDTH,
        score=min(1.0, score),
        clues=_with_storage(scene, clues),
        remedy=_wider(scene),
        doubtful=scene.device is None,
    )


def behind_a_sync(scene: Scene) -> float:
    """Share of time in writes to a log that wait while a sync of it goes on behind them.

    The kernel holds such a write back; an emulated device does not. One that is used up holds every
    write: then that is the cause.
    """
    kept = scene.persistence
    if scene.serving is None or kept.log_sync is LogSync.EACH_WRITE:
        return 0.0
    pending = (kept.pending_sync_s or 0.0) / scene.elapsed_s if scene.elapsed_s else 0.0
    waited = kept.delayed_sync_count or (scene.device is None and pending >= _OFTEN_RATIO)
    if not waited or caps.is_full_of_writes(scene) or caps.binding(scene) is not None:
        return 0.0
    return device.write_share(scene)
