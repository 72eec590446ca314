"""The loads of a probe, in order, as data: what is measured, for how long, how often.

A block holds every load once, in an order of its own; blocks are the repeats from which intervals
come. Before them two long loads look for the end of a burst, so that the blocks meet the device as
it is after it. Pure: it runs nothing.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.tools.fio import GAP_S, POLL_S, Access, Files, Job

if TYPE_CHECKING:
    from random import Random

PAGE_BYTES = 8192
DEPTHS = (1, 2, 4, 8, 16, 32)
SYNC_NAME = "sync-write"
MIXED_NAME = "mixed"
LONG_READ_NAME = "long-random-read"
LONG_WRITE_NAME = "long-sequential-write"
STREAM_DEPTH = 8
STREAM_BLOCKS_BYTES = (256 * 1024, 1024**2)
LEAST_TIME_S = 6.0
LEAST_SIZE_BYTES = 32 * 1024**2
_MIXED_DEPTH = 16
# Seven values give an interval with 98%, so that the quotient of two still has 95%.
_FIRST_BLOCKS_COUNT = 7
_MOST_BLOCKS_COUNT = 15
_LONG_TIME_S = 120.0
# Windows of a long load, each up to a duration: some thirty of them or more.
_WINDOWS_S = ((0.1, 10.0), (0.25, 60.0), (1.0, math.inf))
_LOG_MOST_BYTES = 256 * 1024**2
# fio looks at the clock every 100 ms; a load that ends just before a look loses no time.
_EARLY_S = 0.015


class ProbePlan(msgspec.Struct, frozen=True, kw_only=True):
    """All loads of a probe: the long ones first, then block by block."""

    data_bytes: int
    log_bytes: int
    seed: int
    long: tuple[Job, ...]
    blocks: tuple[tuple[Job, ...], ...]

    @property
    def wall_s(self) -> float:
        """How long it takes about, without filling the files."""
        jobs = [*self.long, *(job for block in self.blocks for job in block)]
        return sum(map(_slot_s, jobs))

    def files(self, *, direct: bool) -> Files:
        """Describe the files, once it is known whether O_DIRECT works."""
        return Files(data_bytes=self.data_bytes, log_bytes=self.log_bytes, direct=direct)


def random_name(access: Access, depth: int) -> str:
    """Name of the load with random pages at a depth."""
    return f"{access.value}-d{depth}"


def stream_name(access: Access, block_bytes: int) -> str:
    """Name of the load that goes through the file in order."""
    return f"{access.value}-{block_bytes // 1024}k"


def make_plan(*, size_bytes: int, time_s: float, seed: int, rng: Random) -> ProbePlan:
    """Divide room and time. Raises ValueError that says what there is too little of.

    `rng` shuffles the blocks; `seed` is the one it was made from, and goes to fio.
    """
    if not math.isfinite(time_s) or time_s < LEAST_TIME_S:
        raise ValueError(f"a probe takes at least {LEAST_TIME_S:g} s")
    if size_bytes < LEAST_SIZE_BYTES:
        raise ValueError(f"a probe takes at least {LEAST_SIZE_BYTES // 1024**2} MiB")
    # From two minutes on there is time to wait for the end of a burst.
    long_ratio = 0.4 if time_s >= _LONG_TIME_S else 0.1
    count = len(_block(1.0))
    blocks_s = time_s * (1 - long_ratio)
    least_s, usual_s = POLL_S + GAP_S, 2 * POLL_S + GAP_S
    block_count = max(1, min(_FIRST_BLOCKS_COUNT, math.floor(blocks_s / (count * least_s) + 1e-9)))
    block_count = max(block_count, min(_MOST_BLOCKS_COUNT, int(blocks_s / (count * usual_s))))
    block = _block(_duration_s(blocks_s / (block_count * count)))
    blocks = tuple(tuple(rng.sample(block, len(block))) for _ in range(block_count))
    # Whole looks of fio's clock leave some time over, and the long loads can use it.
    left_s = time_s - block_count * sum(map(_slot_s, block))
    log_bytes = min(_LOG_MOST_BYTES, size_bytes // 4) // 1024**2 * 1024**2
    return ProbePlan(
        data_bytes=(size_bytes - log_bytes) // 1024**2 * 1024**2,
        log_bytes=log_bytes,
        seed=seed,
        long=_long(_duration_s(left_s / 2)),
        blocks=blocks,
    )


def _slot_s(job: Job) -> float:
    """How long a load takes from its start to that of the next one."""
    return job.duration_s + _EARLY_S + GAP_S


def _duration_s(slot_s: float) -> float:
    """Fit a load into a slot: whole looks of fio's clock, less a little, and the gap after it."""
    polls = max(1, math.floor((slot_s - GAP_S) / POLL_S + 1e-9))
    return polls * POLL_S - _EARLY_S


def _block(duration_s: float) -> tuple[Job, ...]:
    jobs = [
        Job(
            name=random_name(access, depth),
            access=access,
            block_bytes=PAGE_BYTES,
            depth_count=depth,
            duration_s=duration_s,
        )
        for access in (Access.RANDOM_READ, Access.RANDOM_WRITE)
        for depth in DEPTHS
    ]
    jobs += [
        Job(
            name=stream_name(access, block_bytes),
            access=access,
            block_bytes=block_bytes,
            depth_count=STREAM_DEPTH,
            duration_s=duration_s,
        )
        for access, blocks_bytes in (
            (Access.READ, STREAM_BLOCKS_BYTES),
            (Access.WRITE, STREAM_BLOCKS_BYTES),
            (Access.BOTH, STREAM_BLOCKS_BYTES[-1:]),
        )
        for block_bytes in blocks_bytes
    ]
    sync = Job(
        name=SYNC_NAME,
        access=Access.WRITE,
        block_bytes=PAGE_BYTES,
        depth_count=1,
        duration_s=duration_s,
        sync=True,
    )
    mixed = Job(
        name=MIXED_NAME,
        access=Access.MIXED,
        block_bytes=PAGE_BYTES,
        depth_count=_MIXED_DEPTH,
        duration_s=duration_s,
    )
    return (*jobs, sync, mixed)


def _long(duration_s: float) -> tuple[Job, ...]:
    window_s = next(length for length, most_s in _WINDOWS_S if duration_s < most_s)
    return (
        Job(
            name=LONG_READ_NAME,
            access=Access.RANDOM_READ,
            block_bytes=PAGE_BYTES,
            depth_count=DEPTHS[-1],
            duration_s=duration_s,
            window_s=window_s,
        ),
        Job(
            name=LONG_WRITE_NAME,
            access=Access.WRITE,
            block_bytes=1024**2,
            depth_count=STREAM_DEPTH,
            duration_s=duration_s,
            window_s=window_s,
        ),
    )
