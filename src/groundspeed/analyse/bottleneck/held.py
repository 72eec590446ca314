"""Work that goes on beside a full device, and that no faster core would shorten.

A server with one thread for all clients, which syncs its log in the background, writes none of it
while a sync is under way. What clients send meanwhile is gathered in memory and copied each time
that has to grow: the thread is at work, and nobody is served sooner for it. On a device that takes
all that comes, the same requests cost a half to a quarter of that work (docs/figures.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck import caps
from groundspeed.analyse.bottleneck.places import Place
from groundspeed.record.evidence import LogSync

if TYPE_CHECKING:
    from groundspeed.analyse.bottleneck.scene import Scene

# The utilisation law: whatever else gets faster, what is used to u of its limit lets throughput
# grow to 1/u at most; by a sixth at 85%, by two thirds at 60%. Between the two it is a matter of
# degree, so that a trial near one of them is not named by chance.
_SPARE_RATIO = 0.6
# Where others fill the device with more than this, it is not the log that fills it.
_MOST_OF_MOVED_RATIO = 0.5
# A device that stops the thread or its log for as long as this is felt by it. One that only empties
# the page cache behind it is not, however full.
_FELT_RATIO = 0.35
_PAGE_BYTES = 4096
_STOPPED = (Place.LOG, Place.LOG_QUEUE, Place.WRITE)


def settle(scene: Scene) -> dict[Place, float]:
    """Decide what of the thread's work only goes on beside the device; the rest is work as any."""
    shares = dict(scene.shares)
    seen = shares.pop(Place.HELD, 0.0)
    at_work = shares.get(Place.PROCESSOR, 0.0) + seen
    used_ratio = _used_by_log_ratio(scene)
    full = min(1.0, max(0.0, (used_ratio - _SPARE_RATIO) / (caps.AT_LIMIT_RATIO - _SPARE_RATIO)))
    if full:
        felt = min(1.0, (seen + scene.share(*_STOPPED)) / _FELT_RATIO)
        # At most so much would be gained by a thread that takes no time at all.
        to_gain = min(at_work, 1.0 - min(1.0, used_ratio))
        shares[Place.HELD] = (at_work - to_gain) * full * felt
    return {**shares, Place.PROCESSOR: at_work - shares.get(Place.HELD, 0.0)}


def _used_by_log_ratio(scene: Scene) -> float:
    """How much of a limit of the device is used, mostly by the log; 0 where that is not known."""
    if _logged_ratio(scene) < _MOST_OF_MOVED_RATIO:
        return 0.0
    disk = scene.host.disk if scene.host is not None else None
    if scene.device is None and disk is not None and caps.is_full_of_writes(scene):
        return disk.utilisation_ratio
    cap = caps.binding(scene)
    # A cap that is only inferred does not say how much of it was used.
    return cap.used_ratio if cap is not None and cap.is_known else 0.0


def _logged_ratio(scene: Scene) -> float:
    """Share of all that the device moved that is the server's log; 0 where that is not known."""
    work = scene.device
    disk = scene.host.disk if scene.host is not None else None
    moved = 0.0
    if work is not None:
        moved = work.write_request_bytes + work.read_request_bytes
    elif disk is not None:
        moved = (disk.write_bytes_per_s + disk.read_bytes_per_s) * scene.elapsed_s
    return min(1.0, logged_bytes(scene) / moved) if moved else 0.0


def logged_bytes(scene: Scene) -> int:
    """Give what the server's log brought to the device: what clients sent, and no more.

    Each sync of it before an answer writes its last page once more.
    """
    kept, serving, work = scene.persistence, scene.serving, scene.device
    if serving is None:
        return 0
    has_log = kept.log_sync is not LogSync.NO_LOG
    sent = (serving.received_bytes or 0) if has_log else 0
    syncs = 0
    if work is not None and kept.log_sync is LogSync.EACH_WRITE:
        syncs = work.sync_call_count
    return max(kept.log_bytes or 0, sent) + syncs * _PAGE_BYTES
