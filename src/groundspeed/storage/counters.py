"""What an emulated device has counted, as `storage_state read` prints it, and what it comes to.

Pure: the text comes from a target, the differences and doubts go into a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.record import Caution, CreditsLeft, StorageSecond, StorageWork

if TYPE_CHECKING:
    from collections.abc import Iterator

COUNTERS_FORMAT = 1
# Real calls that took longer than the emulated ones: below this share of the waiting the figures
# are the device's, above it the machine's disk shows through.
LATE_RATIO = 0.02
_NS_PER_S = 1e9


class Reads(msgspec.Struct, frozen=True, kw_only=True):
    """Reads so far: calls of the program, pages found in the cache or not, requests made of it."""

    calls_count: int
    bytes: int
    hit_pages_count: int
    miss_pages_count: int
    requests_count: int
    request_bytes: int
    waited_ns: int


class Writes(msgspec.Struct, frozen=True, kw_only=True):
    """Writes so far; requests are those of the write-back too."""

    calls_count: int
    bytes: int
    requests_count: int
    request_bytes: int
    waited_ns: int


class Syncs(msgspec.Struct, frozen=True, kw_only=True):
    """fsync, fdatasync and their kin so far."""

    calls_count: int
    waited_ns: int


class Credits(msgspec.Struct, frozen=True, kw_only=True):
    """One burst bucket now."""

    tier: str
    of: str
    on: str
    left: float
    capacity: float


class Counters(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a device counted since it was made; a row of `seconds` is a second's work.

    Rows are (second, read requests, write requests, bytes, sum of the requests' residence in ns,
    time at limits in ns).
    """

    format: int
    now_ns: int
    attached_count: int
    attached_pids: tuple[int, ...]
    files_count: int
    files_forgotten_count: int
    reads: Reads
    writes: Writes
    syncs: Syncs
    readahead_pages_count: int
    late_count: int
    late_ns: int
    throttled_ns: int
    errors_count: int
    full_count: int
    refused_count: int
    dirty_bytes: int
    dirty_peak_bytes: int
    credits: tuple[Credits, ...] = ()
    seconds: tuple[tuple[int, int, int, int, int, int], ...] = ()

    @property
    def waited_ns(self) -> int:
        """Time that programs waited for the device."""
        return self.reads.waited_ns + self.writes.waited_ns + self.syncs.waited_ns

    @property
    def touched(self) -> bool:
        """Whether any file on the device was used at all."""
        return self.files_count > 0 or self.reads.calls_count + self.writes.calls_count > 0


def decode(text: str | bytes) -> Counters:
    """Read what `storage_state read` printed. Raises TargetError when it is something else."""
    try:
        counters = msgspec.json.decode(text, type=Counters)
    except msgspec.DecodeError as error:
        raise TargetError(
            f"the state of the emulated device cannot be read: {error}", "please report it"
        ) from None
    if counters.format != COUNTERS_FORMAT:
        raise TargetError(
            f"the state of the emulated device has format {counters.format},"
            f" this groundspeed knows {COUNTERS_FORMAT}",
            "reinstall groundspeed: its programs are of another version",
        )
    return counters


def nothing_before(seen: Counters) -> Counters:
    """Make the reading that came before all work, for what a device did since it was made."""
    # When it was made is not kept, but its first second is.
    first_ns = seen.seconds[0][0] * 10**9 if seen.seconds else 0
    span_ns = (seen.seconds[-1][0] + 1) * 10**9 - first_ns if seen.seconds else 1
    return Counters(
        format=COUNTERS_FORMAT,
        now_ns=seen.now_ns - span_ns,
        attached_count=0,
        attached_pids=(),
        files_count=0,
        files_forgotten_count=0,
        reads=Reads(
            calls_count=0,
            bytes=0,
            hit_pages_count=0,
            miss_pages_count=0,
            requests_count=0,
            request_bytes=0,
            waited_ns=0,
        ),
        writes=Writes(calls_count=0, bytes=0, requests_count=0, request_bytes=0, waited_ns=0),
        syncs=Syncs(calls_count=0, waited_ns=0),
        readahead_pages_count=0,
        late_count=0,
        late_ns=0,
        throttled_ns=0,
        errors_count=0,
        full_count=0,
        refused_count=0,
        dirty_bytes=0,
        dirty_peak_bytes=0,
    )


def work_between(before: Counters, after: Counters) -> StorageWork:
    """Say what a device did between two readings."""
    elapsed_ns = max(1, after.now_ns - before.now_ns)
    seconds = _seconds_between(before, after)
    mean_depth_count = sum(row.depth_count for row in seconds) * _NS_PER_S / elapsed_ns
    return StorageWork(
        elapsed_s=elapsed_ns / _NS_PER_S,
        read_call_count=after.reads.calls_count - before.reads.calls_count,
        read_bytes=after.reads.bytes - before.reads.bytes,
        hit_page_count=after.reads.hit_pages_count - before.reads.hit_pages_count,
        miss_page_count=after.reads.miss_pages_count - before.reads.miss_pages_count,
        read_request_count=after.reads.requests_count - before.reads.requests_count,
        read_request_bytes=after.reads.request_bytes - before.reads.request_bytes,
        read_waited_s=(after.reads.waited_ns - before.reads.waited_ns) / _NS_PER_S,
        readahead_page_count=after.readahead_pages_count - before.readahead_pages_count,
        write_call_count=after.writes.calls_count - before.writes.calls_count,
        write_bytes=after.writes.bytes - before.writes.bytes,
        write_request_count=after.writes.requests_count - before.writes.requests_count,
        write_request_bytes=after.writes.request_bytes - before.writes.request_bytes,
        write_waited_s=(after.writes.waited_ns - before.writes.waited_ns) / _NS_PER_S,
        sync_call_count=after.syncs.calls_count - before.syncs.calls_count,
        sync_waited_s=(after.syncs.waited_ns - before.syncs.waited_ns) / _NS_PER_S,
        mean_depth_count=mean_depth_count,
        # Its first and last second are not whole: a short work would have none that is as busy.
        max_depth_count=max([mean_depth_count, *(row.depth_count for row in seconds)]),
        throttled_s=(after.throttled_ns - before.throttled_ns) / _NS_PER_S,
        late_count=after.late_count - before.late_count,
        late_s=(after.late_ns - before.late_ns) / _NS_PER_S,
        dirty_peak_bytes=after.dirty_peak_bytes,
        error_count=after.errors_count - before.errors_count,
        full_count=after.full_count - before.full_count,
        refused_count=after.refused_count - before.refused_count,
        forgotten_file_count=after.files_forgotten_count - before.files_forgotten_count,
        credits=tuple(
            CreditsLeft(tier=c.tier, of=c.of, on=c.on, left=c.left, capacity=c.capacity)
            for c in after.credits
        ),
        seconds=seconds,
    )


def _seconds_between(before: Counters, after: Counters) -> tuple[StorageSecond, ...]:
    """Take the rows of one reading from those of the other; seconds count from the first row."""
    earlier = {row[0]: row[1:] for row in before.seconds}
    rows = []
    for index, *values in after.seconds:
        taken = earlier.get(index, (0,) * len(values))
        left = [value - old for value, old in zip(values, taken, strict=True)]
        if any(left):
            rows.append((index, *left))
    first = rows[0][0] if rows else 0
    return tuple(
        StorageSecond(
            index=index - first,
            read_request_count=reads,
            write_request_count=writes,
            bytes=size,
            depth_count=depth_ns / _NS_PER_S,
            throttled_s=throttled_ns / _NS_PER_S,
        )
        for index, reads, writes, size, depth_ns, throttled_ns in rows
    )


def doubts(work: StorageWork) -> Iterator[Caution]:
    """Name what makes the work of an emulated device doubtful."""
    waited_s = work.read_waited_s + work.write_waited_s + work.sync_waited_s
    if work.late_s > LATE_RATIO * waited_s:
        share = (
            "more than was waited for it" if work.late_s >= waited_s else _percent(work, waited_s)
        )
        yield Caution(
            code="emulation-late",
            message="the real disk was slower than the emulated one for"
            f" {work.late_s:.3g} s ({share}): the true figures are better",
        )
    if work.forgotten_file_count:
        yield Caution(
            code="emulation-forgot-files",
            message="the emulated device had more files than its table holds:"
            " some page cache was forgotten",
        )
    if work.refused_count:
        yield Caution(
            code="emulation-refused",
            message="asynchronous I/O (io_uring or aio) was refused: it would have gone around"
            " the emulated device",
        )
    if work.error_count:
        yield Caution(
            code="emulation-errors",
            message=f"the emulated device failed {work.error_count:,} calls on purpose,"
            " as its profile asks",
        )
    if work.full_count:
        yield Caution(
            code="emulation-full", message="the emulated device was full, as its profile asks"
        )


def _percent(work: StorageWork, waited_s: float) -> str:
    return f"{work.late_s / waited_s:.1%} of the time waited for it"
