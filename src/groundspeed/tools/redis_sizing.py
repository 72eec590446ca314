"""How much memory and disk a load on Redis takes, before it runs. Upper bounds; arithmetic only.

The figures of memory are measured: keys of 16 bytes in Redis 7.0.15 with jemalloc 5.3 and in Redis
6.2.14 with the C library's allocator, `used_memory` after less before, over the number of keys.

| payload | bytes a key over its payload, jemalloc | C library |
|---|---|---|
| 3 B | 104 | 80 |
| 16 B | 107 | 83 |
| 64 B | 107 | 91 |
| 128 B | 123 | 91 |
| 512 B | 219 | 91 |
| 1,000 B | 115 | 99 |
| 4,096 B | 1,115 | 91 |
| 16,384 B | 4,194 | 94 |
| 180,000 B | 16,709 | 288 |

What is above 107 bytes is jemalloc's: it rounds a value up to one of four sizes in each doubling.
"""

from __future__ import annotations

import msgspec

# Entry, key and object of one key, and its part of the table; measured as above at 100,000 keys.
KEY_BYTES = 107
# Of a key's name; longer ones take as much more.
MEASURED_KEY_NAME_BYTES = 16
# Header and end of a string, at most.
_STRING_BYTES = 18
_POINTER_BYTES = 8
# A table is doubled in one step, and the old one stands until all is moved: of the figure above the
# table is 131,072 pointers for 100,000 keys.
_TABLE_IN_KEY_BYTES = 10
# An empty server of 7.0 takes 1 MB and its process 12 MB.
EMPTY_SERVER_BYTES = 16 * 1024**2
# What a SET is in the protocol and in the log beside key and value: lengths and line ends.
_COMMAND_BYTES = 48
_SMALLEST_STEP_BYTES = 16
_STEPS_IN_DOUBLING = 4


def allocated_bytes(size_bytes: int) -> int:
    """What jemalloc gives for a size: multiples of 16 up to 128, then four steps in each doubling.

    Source: jemalloc(3), "size classes".
    """
    if size_bytes <= _SMALLEST_STEP_BYTES * _STEPS_IN_DOUBLING * 2:
        step = _SMALLEST_STEP_BYTES
    else:
        # The power of two below the size, a quarter of it.
        step = 1 << ((size_bytes - 1).bit_length() - 1 - (_STEPS_IN_DOUBLING.bit_length() - 1))
    return -(-size_bytes // step) * step


def dataset_bytes(
    *, key_count: int, payload_bytes: int, key_name_bytes: int = MEASURED_KEY_NAME_BYTES
) -> int:
    """Memory of so many strings in the server, its table at its largest."""
    if not key_count:
        return 0
    value = allocated_bytes(payload_bytes + _STRING_BYTES)
    rest = KEY_BYTES - _TABLE_IN_KEY_BYTES + max(0, key_name_bytes - MEASURED_KEY_NAME_BYTES)
    table = _POINTER_BYTES << max(2, (key_count - 1).bit_length())
    return key_count * (value + rest) + table * 3 // 2


class MemoryNeed(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of one server under load; `limit_bytes` is what maxmemory has to allow."""

    dataset_bytes: int
    clients_bytes: int
    copied_bytes: int
    log_buffer_bytes: int

    @property
    def limit_bytes(self) -> int:
        """What the server counts against maxmemory: not a fork's copies, nor the log's buffer."""
        return self.dataset_bytes + self.clients_bytes + EMPTY_SERVER_BYTES

    @property
    def total_bytes(self) -> int:
        """What the machine has to have."""
        return self.limit_bytes + self.copied_bytes + self.log_buffer_bytes


def memory_need(  # noqa: PLR0913 - each is one independent quantity
    *,
    key_count: int,
    payload_bytes: int,
    client_count: int,
    pipeline_count: int,
    forks: bool,
    write_bytes_per_s: float,
    fork_s: float,
    stalled_s: float = 2.0,
) -> MemoryNeed:
    """Bound the memory of a server.

    A fork copies what is overwritten while it lasts, at most everything. Appends wait in memory
    while an fsync is going on, for two seconds at most (Redis documentation, "Persistence").
    """
    dataset = dataset_bytes(key_count=key_count, payload_bytes=payload_bytes)
    # Each way a client can have one pipeline of values, in buffers of twice the size.
    each = 2 * 2 * pipeline_count * (payload_bytes + _COMMAND_BYTES)
    overwritten = min(dataset, round(write_bytes_per_s * fork_s))
    return MemoryNeed(
        dataset_bytes=dataset,
        clients_bytes=client_count * each,
        copied_bytes=overwritten if forks else 0,
        log_buffer_bytes=round(write_bytes_per_s * stalled_s),
    )


def logged_bytes(
    *, write_count: int, payload_bytes: int, key_name_bytes: int = MEASURED_KEY_NAME_BYTES
) -> int:
    """What so many SETs add to an append-only file that is not rewritten."""
    return write_count * (payload_bytes + key_name_bytes + _COMMAND_BYTES)


class DiskNeed(msgspec.Struct, frozen=True, kw_only=True):
    """Files of one server at their largest, all at the same moment.

    `old_log_bytes` is the log that a rewrite is about to replace, `new_base_bytes` and
    `new_log_bytes` what replaces it, `snapshot_bytes` an RDB file and the one that replaces it.
    """

    old_log_bytes: int
    new_base_bytes: int
    new_log_bytes: int
    snapshot_bytes: int

    @property
    def total_bytes(self) -> int:
        """What has to be free before the server starts."""
        return self.old_log_bytes + self.new_base_bytes + self.new_log_bytes + self.snapshot_bytes


def disk_need(  # noqa: PLR0913 - each is one independent quantity
    *,
    file_bytes: int,
    write_bytes_per_s: float,
    duration_s: float,
    rewrite_s: float,
    has_log: bool,
    has_snapshots: bool,
    rewrite_growth_percent: int = 100,
    rewrite_least_bytes: int = 64 * 1024**2,
) -> DiskNeed:
    """Bound the disk of a server that is written at a rate for a time.

    `file_bytes`: the data set as a file, which is its keys and payloads (random values do not
    compress). `rewrite_s`: how long one rewrite takes, that is `file_bytes` over what the device
    writes beside the load. A log grows until it has grown by so many percent of what the last
    rewrite left, and is of the least size (redis.conf, auto-aof-rewrite-percentage). Then the old
    one stands until the new one is whole.
    """
    written = round(write_bytes_per_s * duration_s)
    snapshots = 2 * file_bytes if has_snapshots else 0
    if not has_log:
        return DiskNeed(
            old_log_bytes=0, new_base_bytes=0, new_log_bytes=0, snapshot_bytes=snapshots
        )
    unlimited = file_bytes + written
    if not rewrite_growth_percent:
        return DiskNeed(
            old_log_bytes=unlimited, new_base_bytes=0, new_log_bytes=0, snapshot_bytes=snapshots
        )
    trigger = max(rewrite_least_bytes, file_bytes * (100 + rewrite_growth_percent) // 100)
    # The server looks ten times a second, so the log is a little beyond.
    trigger += round(write_bytes_per_s * _LOOK_S)
    if unlimited < trigger:
        return DiskNeed(
            old_log_bytes=unlimited, new_base_bytes=0, new_log_bytes=0, snapshot_bytes=snapshots
        )
    during = round(write_bytes_per_s * min(rewrite_s + _LOOK_S, duration_s))
    return DiskNeed(
        old_log_bytes=trigger,
        new_base_bytes=file_bytes,
        new_log_bytes=during,
        snapshot_bytes=snapshots,
    )


_LOOK_S = 0.1
