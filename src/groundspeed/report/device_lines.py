"""What an emulated device did, in a few lines for the end of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse import digits
from groundspeed.report.devices import format_percent
from groundspeed.report.scaling import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.record import StorageWork


def lines(label: str, work: StorageWork) -> tuple[str, ...]:
    """Word the work of a device that is called `label`."""
    return (
        f"{label} (emulated), {format_seconds(work.elapsed_s)}:",
        _calls("reads", work.read_call_count, work.read_bytes, work.read_waited_s) + _hits(work),
        _calls("writes", work.write_call_count, work.write_bytes, work.write_waited_s),
        _calls("syncs", work.sync_call_count, None, work.sync_waited_s),
        *_requests(work),
    )


def _calls(what: str, count: int, size_bytes: int | None, waited_s: float) -> str:
    size = "" if size_bytes is None else format_bytes(size_bytes)
    return f"  {what:<7} {count:>10,}  {size:>10}  waited {format_seconds(waited_s)}"


def _hits(work: StorageWork) -> str:
    pages = work.hit_page_count + work.miss_page_count
    return (
        f", {format_percent(work.hit_page_count / pages)} of the pages in its cache"
        if pages
        else ""
    )


def _requests(work: StorageWork) -> Iterator[str]:
    for what, count, size_bytes in (
        ("read", work.read_request_count, work.read_request_bytes),
        ("write", work.write_request_count, work.write_request_bytes),
    ):
        if count:
            yield (
                f"  device  {count:>10,} {what} requests of {format_bytes(size_bytes / count)},"
                f" {digits(count / work.elapsed_s)} a second"
            )
    if work.read_request_count or work.write_request_count:
        limits = ""
        if work.throttled_s:
            limits = f"; requests were held {format_seconds(work.throttled_s)} at limits"
        yield (
            f"  depth   mean {digits(work.mean_depth_count)}, most in a second"
            f" {digits(work.max_depth_count)}{limits}"
        )
    for bucket in work.credits:
        share = format_percent(bucket.left / bucket.capacity) if bucket.capacity else "none"
        yield f"  credits {share} left of {bucket.capacity:,.0f} {bucket.of}"
