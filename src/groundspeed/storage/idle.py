"""What one request takes when nothing else is under way, end to end: front, network, replicas.

Drawn from the same tables as the shim draws from, by a generator that is an argument.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from groundspeed.storage.distribution import table_s
from groundspeed.storage.profile import NO_TIME, ReadsFrom

if TYPE_CHECKING:
    from random import Random

    from groundspeed.storage.profile import Device, Latency, Profile, Replication


class Operation(Enum):
    """What is asked of a device."""

    READ = "read"
    WRITE = "write"
    SYNC = "sync"


def idle_s(profile: Profile, operation: Operation, rng: Random, count: int) -> tuple[float, ...]:
    """Draw so many times that an operation takes alone; seconds, in no order."""
    own = _of(profile.device, operation)
    front = _of(profile.front, operation) if profile.front else NO_TIME
    copies = profile.replication
    # A device without a volatile cache ignores flushes, and so does the network before it.
    if copies is None or (operation is Operation.SYNC and own == NO_TIME):
        return tuple(_draw(front, rng) + _draw(own, rng) for _ in range(count))
    if operation is Operation.READ:
        return tuple(_draw(front, rng) + _read(copies, own, rng) for _ in range(count))
    return tuple(_draw(front, rng) + _acknowledged(copies, own, rng) for _ in range(count))


def _of(device: Device, operation: Operation) -> Latency:
    return {
        Operation.READ: device.read,
        Operation.WRITE: device.write,
        Operation.SYNC: device.sync,
    }[operation]


def _draw(latency: Latency, rng: Random) -> float:
    return 0.0 if latency == NO_TIME else rng.choice(table_s(latency))


def _replica(copies: Replication, index: int, own: Latency, rng: Random) -> float:
    is_local = index == 0 and copies.one_is_local
    return _draw(own, rng) + (0.0 if is_local else _draw(copies.round_trip, rng))


def _read(copies: Replication, own: Latency, rng: Random) -> float:
    index = 0 if copies.reads is ReadsFrom.LOCAL else rng.randrange(copies.replicas_count)
    return _replica(copies, index, own, rng)


def _acknowledged(copies: Replication, own: Latency, rng: Random) -> float:
    times = sorted(_replica(copies, i, own, rng) for i in range(copies.replicas_count))
    return times[copies.acknowledge_count - 1]
