"""What is counted once a second, and the columns that two readings give; pure.

Commits are no column: a backend adds its own counts to the shared ones when it is idle and at most
once a second, so the server's commits of a second are those of the second before, and those of the
first are none. What pgbench logs is exact.
"""

from __future__ import annotations

import msgspec


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Counters as read once a second; `work_s` is time that checkpoints wrote and synced."""

    block_read_count: int
    timed_count: int
    requested_count: int
    buffer_count: int
    work_s: float
    wal_position_bytes: int | None = None


def per_second(
    before: tuple[float, Rates] | None, after: tuple[float, Rates] | None
) -> dict[str, float | None]:
    """Turn two readings, each with its time in s, into columns of a series; None without both.

    The log's position is exact. Blocks lag by up to a second, as commits do.
    """
    values: dict[str, float | None] = {"wal_bytes_per_s": None, "blocks_read_per_s": None}
    if before is None or after is None or after[0] <= before[0]:
        return values
    elapsed_s = after[0] - before[0]
    first, last = before[1], after[1]
    if first.wal_position_bytes is not None and last.wal_position_bytes is not None:
        growth_bytes = last.wal_position_bytes - first.wal_position_bytes
        values["wal_bytes_per_s"] = max(0.0, growth_bytes / elapsed_s)
    blocks = last.block_read_count - first.block_read_count
    # Less than nothing where statistics were reset.
    values["blocks_read_per_s"] = blocks / elapsed_s if blocks >= 0 else None
    return values
