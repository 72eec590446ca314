"""What looks at a Redis come to: columns of a second, growth over a trial, events; pure.

A look is INFO once a second. What came and went between two looks shows in the server's own counts.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.record.evidence import (
    EventKind,
    LogSync,
    PersistenceWork,
    ServerEvent,
    ServingWork,
)
from groundspeed.tools.redis_info import Info, parse_fields, parse_info

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_US_PER_S = 1e6
_SYNCS = {
    "always": LogSync.EACH_WRITE,
    "everysec": LogSync.EACH_SECOND,
    "no": LogSync.SYSTEM,
}


class Look(NamedTuple):
    """INFO at a moment: wall-clock seconds of the server where it tells, else of the probe."""

    at_s: float
    info: Info
    new_client_count: int | None
    rewrite_count: int | None
    snapshot_count: int | None
    copied_bytes: int | None


def look_of(text: str, arrived_at_s: float) -> Look:
    """Read one INFO. Raises ValueError where it is none."""
    fields = parse_fields(text)

    def number(name: str) -> int | None:
        return int(fields[name]) if fields.get(name, "").isdigit() else None

    told_us = number("server_time_usec")
    return Look(
        at_s=arrived_at_s if told_us is None else told_us / _US_PER_S,
        info=parse_info(text),
        new_client_count=number("total_connections_received"),
        rewrite_count=number("aof_rewrites"),
        snapshot_count=number("rdb_saves"),
        copied_bytes=number("current_cow_peak"),
    )


def growth(before: float | None, after: float | None) -> float | None:
    """Growth of a counter; None where it is not told, or began anew."""
    if before is None or after is None or after < before:
        return None
    return after - before


def per_second(before: Look | None, after: Look | None) -> dict[str, float | None]:
    """Turn two looks into columns of a series; None what they do not tell."""
    if after is None:
        return dict.fromkeys(_COLUMNS)
    one = after.info
    values: dict[str, float | None] = dict.fromkeys(_COLUMNS)
    values |= {
        "clients_count": one.connected_count,
        "memory_used_bytes": one.memory_bytes,
        "latest_fork_s": one.latest_fork_s,
        "log_size_bytes": one.aof_size_bytes,
        "pending_syncs_count": one.aof_pending_fsync_count,
        "log_rewrite_ratio": _flag(one.aof_rewrite_in_progress),
        "snapshot_ratio": _flag(one.rdb_in_progress),
    }
    if before is None or after.at_s <= before.at_s:
        return values
    elapsed_s = after.at_s - before.at_s
    for name, field in _RATES.items():
        grown = growth(getattr(before.info, field), getattr(one, field))
        values[name] = None if grown is None else grown / elapsed_s
    values["delayed_syncs_count"] = growth(
        before.info.aof_delayed_fsync_count, one.aof_delayed_fsync_count
    )
    return values


_RATES = {
    "requests_per_s": "command_count",
    "received_bytes_per_s": "received_bytes",
    "sent_bytes_per_s": "sent_bytes",
    "evictions_per_s": "evicted_count",
    "log_bytes_per_s": "aof_size_bytes",
}
_COLUMNS = (
    *_RATES,
    *("clients_count", "memory_used_bytes", "latest_fork_s", "log_size_bytes"),
    *("pending_syncs_count", "delayed_syncs_count", "log_rewrite_ratio", "snapshot_ratio"),
)


def _flag(value: bool | None) -> float | None:  # noqa: FBT001 - the value itself, not a switch
    return None if value is None else float(value)


def log_sync_of(append_only: str | None, append_sync: str | None) -> LogSync | None:
    """Say by two settings when the log is synced; None where they are not known."""
    if append_only is None:
        return None
    if append_only != "yes":
        return LogSync.NO_LOG
    return None if append_sync is None else _SYNCS.get(append_sync)


def serving(looks: Sequence[Look], *, own_request_count: int) -> ServingWork | None:
    """Sum up what was served between the first look and the last; None without two.

    `own_request_count` are the probe's, which are no load.
    """
    if len(looks) < 2:  # noqa: PLR2004 - growth takes two
        return None
    first, last = looks[0].info, looks[-1].info
    requests = _whole(growth(first.command_count, last.command_count))
    return ServingWork(
        request_count=None if requests is None else max(0, requests - own_request_count),
        new_client_count=_whole(growth(looks[0].new_client_count, looks[-1].new_client_count)),
        client_peak_count=_most(look.info.connected_count for look in looks),
        received_bytes=_whole(growth(first.received_bytes, last.received_bytes)),
        sent_bytes=_whole(growth(first.sent_bytes, last.sent_bytes)),
        main_busy_ratio=main_busy_ratio(looks),
        memory_peak_bytes=_most(look.info.memory_bytes for look in looks),
        memory_limit_bytes=last.memory_limit_bytes or None,
        eviction_count=_whole(growth(first.evicted_count, last.evicted_count)),
        key_count=last.key_count,
        replication_lag_bytes=_most(look.info.replica_lag_bytes for look in looks),
    )


def main_busy_ratio(looks: Sequence[Look]) -> float | None:
    """Share of one core that the thread of all clients ran, as the server tells (from 6.2 on)."""
    first, last = looks[0].info, looks[-1].info
    elapsed_s = looks[-1].at_s - looks[0].at_s
    user_s = growth(first.main_cpu_user_s, last.main_cpu_user_s)
    system_s = growth(first.main_cpu_system_s, last.main_cpu_system_s)
    if user_s is None or system_s is None or elapsed_s <= 0:
        return None
    return min(1.0, (user_s + system_s) / elapsed_s)


def persistence(looks: Sequence[Look], log_sync: LogSync | None) -> PersistenceWork | None:
    """Sum up how data came onto the device; None without two looks."""
    if len(looks) < 2:  # noqa: PLR2004 - growth takes two
        return None
    first, last = looks[0].info, looks[-1].info
    forks = [fork for pair in _pairs(looks) for fork in _forks(*pair)]
    has_log = last.aof_enabled
    return PersistenceWork(
        log_sync=log_sync,
        log_bytes=_log_bytes(looks) if has_log else None,
        pending_sync_s=_time_of(looks, lambda info: bool(info.aof_pending_fsync_count))
        if has_log
        else None,
        delayed_sync_count=_whole(
            growth(first.aof_delayed_fsync_count, last.aof_delayed_fsync_count)
        ),
        fork_count=len(forks),
        fork_s=sum(forks),
        longest_fork_s=max(forks, default=None),
        rewrite_s=_time_of(looks, lambda info: bool(info.aof_rewrite_in_progress)),
        snapshot_s=_time_of(looks, lambda info: bool(info.rdb_in_progress)),
        copied_bytes=_copied_bytes(looks),
    )


def _pairs(looks: Sequence[Look]) -> Iterator[tuple[Look, Look]]:
    return itertools.pairwise(looks)


def _forks(before: Look, after: Look) -> list[float]:
    """Times of the forks between two looks; of several the latest stands for all."""
    latest_s = after.info.latest_fork_s
    if latest_s is None:
        return []
    count = growth(before.info.fork_count, after.info.fork_count)
    if count is None:
        count = latest_s != before.info.latest_fork_s
    return [latest_s] * int(count)


def _log_bytes(looks: Sequence[Look]) -> int | None:
    """What was appended. Where a rewrite ended the log is shorter, and that second unknown.

    It is taken to be as the others were; None where more than half of the time is unknown.
    """
    total, known_s = 0.0, 0.0
    for before, after in _pairs(looks):
        grown = growth(before.info.aof_size_bytes, after.info.aof_size_bytes)
        if grown is not None and not growth(before.rewrite_count, after.rewrite_count):
            total += grown
            known_s += after.at_s - before.at_s
    whole_s = looks[-1].at_s - looks[0].at_s
    return int(total * whole_s / known_s) if known_s >= whole_s / 2 > 0 else None


def _time_of(looks: Sequence[Look], is_so: Callable[[Info], bool]) -> float:
    """Time in which something held; half of it where one of two looks alone says so."""
    return sum(
        (after.at_s - before.at_s) * (is_so(before.info) + is_so(after.info)) / 2
        for before, after in _pairs(looks)
    )


def _copied_bytes(looks: Sequence[Look]) -> int | None:
    first, last = looks[0], looks[-1]
    found = [look.copied_bytes for look in looks]
    if first.snapshot_count != last.snapshot_count:
        found.append(last.info.rdb_copied_bytes)
    if first.rewrite_count != last.rewrite_count:
        found.append(last.info.aof_copied_bytes)
    return _most(found)


def events(looks: Sequence[Look]) -> tuple[ServerEvent, ...]:
    """Give the children and the delayed syncs of a trial by time, in seconds since the first look.

    Begins and ends are halfway between two looks; what has not ended has no length.
    """
    found: list[ServerEvent] = []
    if looks:
        begin_s = looks[0].at_s
        found += _children(
            looks, begin_s, EventKind.SNAPSHOT, "rdb_in_progress", lambda look: look.snapshot_count
        )
        found += _children(
            looks,
            begin_s,
            EventKind.LOG_REWRITE,
            "aof_rewrite_in_progress",
            lambda look: look.rewrite_count,
        )
        found += _delayed(looks, begin_s)
    return tuple(sorted(found, key=lambda event: event.at_s))


def _children(
    looks: Sequence[Look],
    begin_s: float,
    kind: EventKind,
    field: str,
    count_of: Callable[[Look], int | None],
) -> Iterator[ServerEvent]:
    since_s = 0.0 if getattr(looks[0].info, field) else None
    for before, after in _pairs(looks):
        middle_s = (before.at_s + after.at_s) / 2 - begin_s
        is_running = bool(getattr(after.info, field))
        if is_running and since_s is None:
            since_s = middle_s
        elif not is_running and since_s is not None:
            yield ServerEvent(kind=kind, at_s=since_s, elapsed_s=middle_s - since_s)
            since_s = None
        elif not is_running and (count := growth(count_of(before), count_of(after))):
            # Over before it was looked at.
            detail = "" if count == 1 else f"{count:.0f} times"
            yield ServerEvent(kind=kind, at_s=middle_s, elapsed_s=0.0, detail=detail)
    if since_s is not None:
        yield ServerEvent(kind=kind, at_s=since_s)


def _delayed(looks: Sequence[Look], begin_s: float) -> Iterator[ServerEvent]:
    for before, after in _pairs(looks):
        count = growth(before.info.aof_delayed_fsync_count, after.info.aof_delayed_fsync_count)
        if count:
            yield ServerEvent(
                kind=EventKind.DELAYED_SYNC,
                at_s=before.at_s - begin_s,
                elapsed_s=after.at_s - before.at_s,
                detail="" if count == 1 else f"{count:.0f} times",
            )


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _most(values: Iterator[int | None] | Sequence[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
