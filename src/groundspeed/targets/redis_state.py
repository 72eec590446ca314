"""What groundspeed asks of a Redis: its state, its facts, and to write its files; owned or given.

A connection is held only while it is needed: none of ours is open while load is measured.
"""

from __future__ import annotations

import re
import select
import time
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.record import ServerFacts, Setting
from groundspeed.targets import redis_client
from groundspeed.targets.redis_settings import differing
from groundspeed.tools import redis_info

if TYPE_CHECKING:
    from collections.abc import Collection

    from groundspeed.targets.redis_client import Address, Client
    from groundspeed.tools.redis_info import Info

_POLL_S = 0.02
# A rewrite of gigabytes on a slow device takes minutes.
_QUIET_LIMIT_S = 900.0
_SYNC_LIMIT_S = 900.0
_LEAVE_LIMIT_S = 30.0
_PRODUCTS = {"redis": "Redis", "valkey": "Valkey"}
_VERSION_PARTS = 3


def info_of(client: Client) -> Info:
    """Take one look at INFO. Raises TargetError."""
    try:
        return redis_info.parse_info(client.text("INFO"))
    except ValueError as error:
        raise TargetError(f"Redis: {error}", "it may be no Redis or Valkey") from None


def look(address: Address) -> Info:
    """Connect and take one look at INFO. Raises TargetError."""
    with redis_client.connect(address) as client:
        return info_of(client)


def is_busy(info: Info) -> bool:
    """Whether it writes files in the background, or has yet to."""
    return bool(
        info.rdb_in_progress
        or info.aof_rewrite_in_progress
        or info.aof_rewrite_scheduled
        or info.aof_pending_fsync_count
        or info.aof_buffer_bytes
    )


def wait_until_quiet(address: Address, *, limit_s: float = _QUIET_LIMIT_S) -> Info:
    """Wait until nothing is written in the background any more. Raises TargetError."""
    until_s = time.monotonic() + limit_s
    with redis_client.connect(address) as client:
        while is_busy(info := info_of(client)):
            if time.monotonic() > until_s:
                raise TargetError(
                    f"the server still writes its files after {limit_s:g} s",
                    "use fewer or smaller keys, or a faster storage",
                )
            select.select([], [], [], _POLL_S)
    return info


def write_files(address: Address, *, has_log: bool) -> None:
    """Let a server without either write a snapshot, or begin its log with all that it holds.

    Raises TargetError when it cannot.
    """
    with redis_client.connect(address) as client:
        # A snapshot of gigabytes is one request.
        client.socket.settimeout(_QUIET_LIMIT_S)
        if not has_log:
            client.ask("SAVE")
            return
        client.ask("CONFIG", "SET", "appendonly", "yes")
    told = wait_until_quiet(address)
    if told.aof_last_rewrite_ok is False or not told.aof_enabled:
        raise TargetError(
            "the server could not write its append-only file",
            "check room and rights of its storage",
        )


def refuse_unfit(info: Info) -> None:
    """Raise TargetError where a server would not take the load as it is."""
    hint = "look into its log: room and rights of its storage"
    if info.is_loading:
        raise TargetError("the server is still loading its files", "try again when it is done")
    if info.aof_enabled and info.aof_last_write_ok is False:
        raise TargetError("the last write of the append-only file failed (MISCONF)", hint)
    if info.rdb_last_ok is False:
        raise TargetError("the last snapshot failed, so it may refuse writes (MISCONF)", hint)
    if info.aof_enabled and info.aof_last_rewrite_ok is False:
        raise TargetError("the last rewrite of the append-only file failed", hint)


def reset_statistics(address: Address) -> None:
    """Set what a server of ours counts to zero. Raises TargetError."""
    with redis_client.connect(address) as client:
        client.ask("CONFIG", "RESETSTAT")
        client.ask("LATENCY", "RESET")
        client.ask("SLOWLOG", "RESET")


def clients_of(address: Address) -> frozenset[str]:
    """Ids of the clients that are there, replicas apart; empty where the user may not ask."""
    with redis_client.connect(address) as client:
        listed = client.try_asking("CLIENT", "LIST", "TYPE", "normal")
        own = client.try_asking("CLIENT", "ID")
    if not isinstance(listed, bytes):
        return frozenset()
    ids = re.findall(r"^id=(\d+)", listed.decode(errors="replace"), re.MULTILINE)
    return frozenset(ids) - {str(own)}


def left_by_load(address: Address, before: Collection[str]) -> frozenset[str]:
    """Ids of the clients that a load has left behind; empty where the server died of it.

    A load that was ended leaves connections with requests that the server has yet to read.
    """
    try:
        return clients_of(address) - set(before)
    except TargetError:
        return frozenset()


def wait_for_clients_to_leave(
    address: Address, leaving: Collection[str], *, limit_s: float = _LEAVE_LIMIT_S
) -> None:
    """Return when none of these clients is left; probes hold others. Raises TargetError."""
    until_s = time.monotonic() + limit_s
    while leaving and clients_of(address) & set(leaving):
        if time.monotonic() > until_s:
            raise TargetError(
                f"clients of an earlier load did not leave within {limit_s:g} s",
                "look at CLIENT LIST of that server",
            )
        select.select([], [], [], _POLL_S)


def wait_for_replica(primary: Address, replica: Address) -> None:
    """Wait until a replica has all that its primary has. Raises TargetError."""
    until_s = time.monotonic() + _SYNC_LIMIT_S
    with redis_client.connect(primary) as first, redis_client.connect(replica) as second:
        while True:
            ahead, behind = info_of(first), info_of(second)
            same = behind.offset_bytes is not None and behind.offset_bytes == ahead.offset_bytes
            if behind.link_is_up and same and ahead.replica_count:
                return
            if time.monotonic() > until_s:
                raise TargetError(
                    f"the replica was not in sync after {_SYNC_LIMIT_S:g} s",
                    "give it a faster storage, or raise client-output-buffer-limit of the primary",
                )
            select.select([], [], [], _POLL_S)


def hello(client: Client) -> dict[str, str]:
    """Ask who answers: server, version, mode and role; users without the right to INFO may too."""
    reply = client.ask("HELLO", "2")
    items = reply if isinstance(reply, tuple) else ()
    words = [i.decode() if isinstance(i, bytes) else str(i) for i in items]
    return dict(zip(words[0::2], words[1::2], strict=False))


def facts(address: Address, ours: Collection[str] = ()) -> ServerFacts:
    """Ask for version and settings that differ from their defaults.

    `ours` are names of settings that we wrote, and that count also where they are the default.
    Settings are left out where the user may not see them. Raises TargetError.
    """
    with redis_client.connect(address) as client:
        greeted = hello(client)
        try:
            settings = client.pairs("CONFIG", "GET", "*")
        except redis_client.RefusedError:
            settings = {}
    return ServerFacts(
        version=_title(greeted),
        version_num=version_number(greeted.get("version", "")),
        settings=tuple(
            Setting(name=name, value=value, unit=None, source="configuration")
            for name, value in sorted(differing(settings, ours).items())
        ),
    )


def title(address: Address) -> str:
    """Say what a server is, such as Redis 7.0.15. Raises TargetError."""
    with redis_client.connect(address) as client:
        return _title(hello(client))


def _title(greeted: dict[str, str]) -> str:
    product = greeted.get("server", "redis")
    return f"{_PRODUCTS.get(product, product)} {greeted.get('version', '')}".strip()


def version_number(version: str) -> int:
    """Write 7.0.15 as 70015; what is no number counts as 0, and what is above 99 as 99."""
    numbers = [min(int(part), 99) for part in re.findall(r"\d+", version)[:_VERSION_PARTS]]
    major, minor, patch = (*numbers, 0, 0, 0)[:_VERSION_PARTS]
    return major * 10_000 + minor * 100 + patch
