"""Where the one thread was that serves all clients: shares of its time, which are those of theirs.

A server that keeps its data in memory answers from one thread. Its samples tell where it was; the
kernel's account tells how much of that it ran, and how much it was ready and not let on a core.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.analyse.bottleneck.places import Place, place_of
from groundspeed.record.evidence import LogSync

if TYPE_CHECKING:
    from groundspeed.record import Evidence, Record

_DEVICE = "Device"
# Where it is seen running: that it only wants to is not told apart.
_AT_WORK = (Place.PROCESSOR, Place.HELD)


def shares_of(record: Record, evidence: Evidence) -> dict[Place, float]:
    """Share out the thread's time; OUTSIDE is its waiting for clients. They sum to 1."""
    if not evidence.activity_sample_count:
        return _without_samples(record, evidence)
    counts: Counter[Place] = Counter()
    asleep = 0
    for wait in evidence.waits:
        if wait.event == _DEVICE:
            asleep += wait.sample_count
        else:
            counts[place_of(wait.wait_class, wait.event)] += wait.sample_count
    whole = max(evidence.activity_sample_count, counts.total() + asleep)
    shares = {place: count / whole for place, count in counts.items()}
    for place, part in _asleep(record, evidence, asleep / whole).items():
        shares[place] = shares.get(place, 0.0) + part
    return {**shares, Place.OUTSIDE: max(0.0, 1.0 - sum(shares.values()))}


def _asleep(record: Record, evidence: Evidence, share: float) -> dict[Place, float]:
    """Share out sleep: only an emulated device makes it, and its counters tell of which kind.

    A thread that does not sync itself sleeps in its writes.
    """
    work = record.storage_work
    if work is None:
        return {Place.OTHER: share}
    if not _syncs_itself(evidence):
        return {Place.WRITE: share}
    waited_s = work.sync_waited_s + work.write_waited_s
    synced = work.sync_waited_s / waited_s if waited_s else 1.0
    return {Place.LOG: share * synced, Place.WRITE: share * (1.0 - synced)}


def _syncs_itself(evidence: Evidence) -> bool:
    kept = evidence.persistence
    return kept is not None and kept.log_sync is LogSync.EACH_WRITE


def _without_samples(record: Record, evidence: Evidence) -> dict[Place, float]:
    """By counters alone; what they do not tell is OTHER."""
    serving, work = evidence.serving, record.storage_work
    busy = serving.main_busy_ratio or 0.0 if serving is not None else 0.0
    ready = serving.main_ready_ratio or 0.0 if serving is not None else 0.0
    at_work = min(1.0, busy + ready)
    held = at_work * _pending_ratio(evidence)
    shares = {Place.PROCESSOR: at_work - held, Place.HELD: held}
    if work is not None and work.elapsed_s and _syncs_itself(evidence):
        left = 1.0 - at_work
        shares[Place.LOG] = min(left, work.sync_waited_s / work.elapsed_s)
        left -= shares[Place.LOG]
        shares[Place.WRITE] = min(left, work.write_waited_s / work.elapsed_s)
    return {**shares, Place.OTHER: max(0.0, 1.0 - sum(shares.values()))}


def _pending_ratio(evidence: Evidence) -> float:
    """Share of time with a sync of the log in the background, as the server told once a second."""
    kept = evidence.persistence
    if kept is None or not kept.pending_sync_s or not evidence.elapsed_s:
        return 0.0
    return min(1.0, kept.pending_sync_s / evidence.elapsed_s)


def without_line(shares: dict[Place, float], ready_ratio: float | None) -> dict[Place, float]:
    """Leave out the time in line for a core: a device that is used up works on meanwhile."""
    seen = sum(shares.get(place, 0.0) for place in _AT_WORK)
    waited = min(seen, ready_ratio or 0.0)
    rest = 1.0 - waited
    if not waited or rest <= 0:
        return shares
    less = {place: shares.get(place, 0.0) * (1.0 - waited / seen) for place in _AT_WORK}
    return {place: share / rest for place, share in {**shares, **less}.items()}


def connects_each_time(evidence: Evidence) -> bool:
    """Whether clients came about as often as requests did."""
    serving = evidence.serving
    if serving is None or not serving.request_count or serving.new_client_count is None:
        return False
    return serving.new_client_count >= serving.request_count / 2
