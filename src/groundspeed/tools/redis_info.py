"""What a Redis says of itself: INFO, LATENCY LATEST and SLOWLOG GET, read into rows.

Knows Redis 5 to 8 and Valkey 8. A fact that a version does not tell is None, never zero. Asks
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.tools.resp import Reply


class Info(msgspec.Struct, frozen=True, kw_only=True):
    """One look at INFO. Sums count since the server started; `_bytes` of AOF are of its files.

    `server` is "redis" or "valkey". `aof_pending_fsync_count` is what waits in the background;
    `aof_delayed_fsync_count` how often a write waited since an fsync was still going on after two
    seconds. `main_cpu_*_s` is the thread that executes commands (6.2 on), `cpu_*_s` all threads,
    `children_*` the processes that write RDB and AOF.
    """

    server: str
    version: str
    process_id: int | None
    uptime_s: int | None
    role: str | None
    is_loading: bool | None
    command_count: int | None
    ops_per_s: int | None
    connected_count: int | None
    received_bytes: int | None
    sent_bytes: int | None
    memory_bytes: int | None
    memory_resident_bytes: int | None
    memory_peak_bytes: int | None
    memory_limit_bytes: int | None
    memory_policy: str | None
    allocator: str | None
    evicted_count: int | None
    key_count: int
    fork_count: int | None
    latest_fork_s: float | None
    rdb_in_progress: bool | None
    rdb_changes_count: int | None
    rdb_last_ok: bool | None
    rdb_last_s: int | None
    rdb_copied_bytes: int | None
    aof_enabled: bool | None
    aof_rewrite_in_progress: bool | None
    aof_rewrite_scheduled: bool | None
    aof_last_rewrite_ok: bool | None
    aof_last_write_ok: bool | None
    aof_last_rewrite_s: int | None
    aof_copied_bytes: int | None
    aof_size_bytes: int | None
    aof_base_bytes: int | None
    aof_buffer_bytes: int | None
    aof_pending_fsync_count: int | None
    aof_delayed_fsync_count: int | None
    cpu_user_s: float | None
    cpu_system_s: float | None
    main_cpu_user_s: float | None
    main_cpu_system_s: float | None
    children_cpu_user_s: float | None
    children_cpu_system_s: float | None
    replica_count: int | None
    offset_bytes: int | None
    replica_lag_bytes: int | None
    link_is_up: bool | None


def parse_fields(text: str) -> dict[str, str]:
    """Read the lines of INFO as they are. Raises ValueError where there are none."""
    lines = (line.strip() for line in text.splitlines())
    pairs = (line.partition(":") for line in lines if line and not line.startswith("#"))
    fields = {name: value for name, colon, value in pairs if colon}
    if "redis_version" not in fields:
        raise ValueError("INFO of the server tells no version")
    return fields


def parse_info(text: str) -> Info:
    """Read INFO. Raises ValueError where it is none, or a figure is no figure."""
    fields = parse_fields(text)
    facts: dict[str, object] = {
        "server": fields.get("server_name", "redis"),
        "version": fields.get("valkey_version", fields["redis_version"]),
        "process_id": _count(fields, "process_id"),
        "uptime_s": _count(fields, "uptime_in_seconds"),
        "role": fields.get("role"),
        "key_count": _keys(fields),
    }
    parts = (_work, _memory, _snapshots, _log, _processor, _replication)
    return msgspec.convert(facts | {k: v for part in parts for k, v in part(fields).items()}, Info)


def _work(fields: Mapping[str, str]) -> dict[str, object]:
    return {
        "is_loading": _flag(fields, "loading"),
        "command_count": _count(fields, "total_commands_processed"),
        "ops_per_s": _count(fields, "instantaneous_ops_per_sec"),
        "connected_count": _count(fields, "connected_clients"),
        "received_bytes": _count(fields, "total_net_input_bytes"),
        "sent_bytes": _count(fields, "total_net_output_bytes"),
        "evicted_count": _count(fields, "evicted_keys"),
    }


def _memory(fields: Mapping[str, str]) -> dict[str, object]:
    return {
        "memory_bytes": _count(fields, "used_memory"),
        "memory_resident_bytes": _count(fields, "used_memory_rss"),
        "memory_peak_bytes": _count(fields, "used_memory_peak"),
        "memory_limit_bytes": _count(fields, "maxmemory"),
        "memory_policy": fields.get("maxmemory_policy"),
        "allocator": fields.get("mem_allocator"),
    }


def _snapshots(fields: Mapping[str, str]) -> dict[str, object]:
    fork_us = _count(fields, "latest_fork_usec")
    return {
        "fork_count": _count(fields, "total_forks"),
        "latest_fork_s": None if fork_us is None else fork_us / 1e6,
        "rdb_in_progress": _flag(fields, "rdb_bgsave_in_progress"),
        "rdb_changes_count": _count(fields, "rdb_changes_since_last_save"),
        "rdb_last_ok": _ok(fields, "rdb_last_bgsave_status"),
        "rdb_last_s": _duration_s(fields, "rdb_last_bgsave_time_sec"),
        "rdb_copied_bytes": _count(fields, "rdb_last_cow_size"),
    }


def _log(fields: Mapping[str, str]) -> dict[str, object]:
    return {
        "aof_enabled": _flag(fields, "aof_enabled"),
        "aof_rewrite_in_progress": _flag(fields, "aof_rewrite_in_progress"),
        "aof_rewrite_scheduled": _flag(fields, "aof_rewrite_scheduled"),
        "aof_last_rewrite_ok": _ok(fields, "aof_last_bgrewrite_status"),
        "aof_last_write_ok": _ok(fields, "aof_last_write_status"),
        "aof_last_rewrite_s": _duration_s(fields, "aof_last_rewrite_time_sec"),
        "aof_copied_bytes": _count(fields, "aof_last_cow_size"),
        "aof_size_bytes": _count(fields, "aof_current_size"),
        "aof_base_bytes": _count(fields, "aof_base_size"),
        "aof_buffer_bytes": _count(fields, "aof_buffer_length"),
        "aof_pending_fsync_count": _count(fields, "aof_pending_bio_fsync"),
        "aof_delayed_fsync_count": _count(fields, "aof_delayed_fsync"),
    }


def _processor(fields: Mapping[str, str]) -> dict[str, object]:
    return {
        "cpu_user_s": _amount(fields, "used_cpu_user"),
        "cpu_system_s": _amount(fields, "used_cpu_sys"),
        "main_cpu_user_s": _amount(fields, "used_cpu_user_main_thread"),
        "main_cpu_system_s": _amount(fields, "used_cpu_sys_main_thread"),
        "children_cpu_user_s": _amount(fields, "used_cpu_user_children"),
        "children_cpu_system_s": _amount(fields, "used_cpu_sys_children"),
    }


def _replication(fields: Mapping[str, str]) -> dict[str, object]:
    """Of a primary the lag is that of the replica furthest behind; a replica knows its own link."""
    offset = _count(fields, "master_repl_offset")
    count = _count(fields, "connected_slaves") or 0
    told = [_pairs(fields.get(f"slave{n}", "")).get("offset") for n in range(count)]
    behind = [offset - int(text) for text in told if text is not None and offset is not None]
    link = fields.get("master_link_status")
    own = _count(fields, "slave_repl_offset")
    return {
        "replica_count": _count(fields, "connected_slaves"),
        "offset_bytes": offset if own is None else own,
        "replica_lag_bytes": max(behind, default=None),
        "link_is_up": None if link is None else link == "up",
    }


def _keys(fields: Mapping[str, str]) -> int:
    """Keys of all databases: "db0:keys=31,expires=0,avg_ttl=0"."""
    databases = [value for name, value in fields.items() if name[:2] == "db" and name[2:].isdigit()]
    return sum(int(_pairs(value)["keys"]) for value in databases)


def _pairs(text: str) -> dict[str, str]:
    return {n: v for n, equals, v in (part.partition("=") for part in text.split(",")) if equals}


def _count(fields: Mapping[str, str], name: str) -> int | None:
    return int(fields[name]) if name in fields else None


def _amount(fields: Mapping[str, str], name: str) -> float | None:
    return float(fields[name]) if name in fields else None


def _flag(fields: Mapping[str, str], name: str) -> bool | None:
    return fields[name] != "0" if name in fields else None


def _ok(fields: Mapping[str, str], name: str) -> bool | None:
    return fields[name] == "ok" if name in fields else None


def _duration_s(fields: Mapping[str, str], name: str) -> int | None:
    """Seconds of the last one; -1 says that there was none."""
    value = _count(fields, name)
    return None if value is None or value < 0 else value


class Spike(msgspec.Struct, frozen=True, kw_only=True):
    """The latest and the longest of one kind of delay, as the latency monitor saw it."""

    event: str
    at_s: int
    latest_s: float
    longest_s: float


def parse_latency(reply: Reply) -> tuple[Spike, ...]:
    """Read LATENCY LATEST; newer versions tell more of each event, which is passed over.

    It is empty where latency-monitor-threshold is 0, as by default. Raises ValueError.
    """
    spikes = []
    for row in _rows(reply, "LATENCY LATEST"):
        at_s, latest_ms, longest_ms = _integers(row[1:4], "LATENCY LATEST")
        event = row[0] if isinstance(row[0], bytes) else b""
        spikes.append(
            Spike(
                event=event.decode(errors="backslashreplace"),
                at_s=at_s,
                latest_s=latest_ms / 1000,
                longest_s=longest_ms / 1000,
            )
        )
    return tuple(spikes)


class SlowCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command that ran long. `name` alone: its arguments may hold what is nobody's business."""

    entry_id: int
    at_s: int
    duration_s: float
    name: str


def parse_slow_log(reply: Reply) -> tuple[SlowCommand, ...]:
    """Read SLOWLOG GET, the newest first. Raises ValueError."""
    commands = []
    for row in _rows(reply, "SLOWLOG GET"):
        entry_id, at_s, duration_us = _integers(row[:3], "SLOWLOG GET")
        arguments = row[3]
        name = arguments[0] if isinstance(arguments, tuple) and arguments else b""
        commands.append(
            SlowCommand(
                entry_id=entry_id,
                at_s=at_s,
                duration_s=duration_us / 1e6,
                name=name.decode(errors="backslashreplace") if isinstance(name, bytes) else "",
            )
        )
    return tuple(commands)


_LEAST_PARTS = 4


def _integers(parts: tuple[Reply, ...], what: str) -> tuple[int, ...]:
    numbers = tuple(part for part in parts if isinstance(part, int))
    if len(numbers) != len(parts):
        raise ValueError(f"{what} has an unknown shape")
    return numbers


def _rows(reply: Reply, what: str) -> list[tuple[Reply, ...]]:
    if not isinstance(reply, tuple):
        raise ValueError(f"{what} was refused: {reply!r}")  # noqa: TRY004 - no mistake of a caller
    rows = [row for row in reply if isinstance(row, tuple) and len(row) >= _LEAST_PARTS]
    if len(rows) != len(reply):
        raise ValueError(f"{what} has an unknown shape")
    return rows
