"""Where a client can be: in which part of the server it waits or works, or outside of the server.

Names of waits are those of PostgreSQL 13 to 18, told apart by their beginnings and without case:
the log's sync is WALSync up to 16 and WalSync from 17. Pure tables; they judge nothing.
"""

from __future__ import annotations

from enum import Enum


class Place(Enum):
    """A part of the clients' time."""

    PROCESSOR = "processor"
    # At work while the log is held back: by a sync, as it is seen; by a full device, as `held`
    # settles it.
    HELD = "held"
    LOG = "log"
    # In line behind the one process that writes the log.
    LOG_QUEUE = "log queue"
    READ = "read"
    WRITE = "write"
    # Temporary files of sorts and hashes that do not fit work_mem.
    SPILL = "spill"
    # Finding a buffer to read into.
    BUFFER = "buffer"
    # Row, table and transaction locks.
    LOCK = "lock"
    # Locks of the server's own structures.
    LATCH = "latch"
    # The answer cannot be sent.
    ANSWER = "answer"
    REPLICA = "replica"
    OTHER = "other"
    # Between statements, or not connected: no database time.
    OUTSIDE = "outside"


_OF_CLASS = {
    "cpu": Place.PROCESSOR,
    "lock": Place.LOCK,
    "bufferpin": Place.LATCH,
    "lwlock": Place.LATCH,
    "io": Place.WRITE,
}
# (class, beginning of the event): the first that fits decides, before `_OF_CLASS`.
_OF_EVENT = (
    ("io", "wal", Place.LOG),
    # Of a server with one thread for all clients.
    ("cpu", "logheld", Place.HELD),
    ("io", "logsync", Place.LOG),
    ("io", "logwrite", Place.WRITE),
    ("io", "datafileread", Place.READ),
    ("io", "datafileprefetch", Place.READ),
    ("io", "slruread", Place.READ),
    # From 18: reads of several blocks are done by others, and waited for here.
    ("io", "aio", Place.READ),
    ("io", "buffile", Place.SPILL),
    ("lwlock", "wal", Place.LOG_QUEUE),
    ("lwlock", "buffermapping", Place.BUFFER),
    # One reads, others want the same block: a lock up to 13, a condition from 14 on.
    ("lwlock", "bufferio", Place.READ),
    ("ipc", "bufferio", Place.READ),
    ("ipc", "aio", Place.READ),
    ("ipc", "syncrep", Place.REPLICA),
    ("ipc", "xactgroupupdate", Place.LATCH),
    ("ipc", "procarraygroupupdate", Place.LATCH),
    ("client", "clientwrite", Place.ANSWER),
    ("timeout", "spindelay", Place.LATCH),
)


def place_of(wait_class: str, event: str) -> Place:
    """Say where a session is that waits so; OTHER for what nobody here knows."""
    kind, name = wait_class.lower(), event.lower()
    for known, beginning, place in _OF_EVENT:
        if kind == known and name.startswith(beginning):
            return place
    return _OF_CLASS.get(kind, Place.OTHER)
