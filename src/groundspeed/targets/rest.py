"""A server that runs on while others are measured: it must leave them the machine.

What it has dirty in its buffers stays there; nothing writes it before its next trial. What could go
on by itself is brought to an end: a checkpoint under way, and pages that the kernel would write.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from groundspeed.targets import sql

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# Times of files come from a clock of the kernel that may be some milliseconds late.
_SLACK_NS = 1_000_000_000


def settle(address: sql.Address, data_directories: Iterable[Path], *, rested_at_ns: int = 0) -> int:
    """Bring a server to rest and give the time; it counts from 1970, in nanoseconds.

    `data_directories` are those on storage of this machine that the kernel writes to later;
    `rested_at_ns` is when the server was last at rest. Raises TargetError when it does not answer.
    """
    now_ns = time.time_ns()
    if sql.is_checkpointing(address):
        # This one does not take its time, and hurries the one under way.
        sql.checkpoint(address)
    for directory in data_directories:
        write_out_since(directory / "base", rested_at_ns)
    return now_ns


def write_out_since(directory: Path, rested_at_ns: int) -> int:
    """Write out the files that were written to since a time, and give the time now."""
    now_ns = time.time_ns()
    write_out(directory, rested_at_ns - _SLACK_NS)
    return now_ns


def write_out(directory: Path, since_ns: int = 0) -> None:
    """Let the kernel write what it holds of a server's files, and wait for it.

    Pages that did not fit in shared buffers were given to it without a sync. Files that were not
    written to since are left alone: a sync of nothing costs the disk a flush all the same.
    """
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)  # noqa: PTH118 - thousands of files
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                # Dropped between looking and opening.
                continue
            try:
                if os.fstat(descriptor).st_mtime_ns >= since_ns:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
