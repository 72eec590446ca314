"""The configuration of a Redis server of ours: the text of redis.conf. Writes and starts nothing.

Knows Redis 5 to 8 and Valkey 8. All that decides what is lost is written out, so that no default
of a version decides it. The file may hold a password: it has to be readable by the server alone.
"""

from __future__ import annotations

import re
from enum import Enum

import msgspec

from groundspeed.errors import SpecError

SOCKET_NAME = "redis.sock"
CONFIG_NAME = "redis.conf"
LOG_NAME = "redis.log"
# Of the path of a unix socket, in Linux.
LONGEST_SOCKET_PATH_BYTES = 107


class Mode(Enum):
    """What the server keeps on its storage, and when it waits for it."""

    NONE = "none"
    RDB = "rdb"
    AOF_ALWAYS = "aof-always"
    AOF_EVERYSEC = "aof-everysec"
    AOF_NO = "aof-no"

    @property
    def has_log(self) -> bool:
        """Whether it appends each write to a file."""
        return self.value.startswith("aof-")


class SavePoint(msgspec.Struct, frozen=True, kw_only=True):
    """A snapshot is begun `after_s` seconds after the last one when so many keys were changed."""

    after_s: int
    change_count: int


# As redis-server itself has them since version 7.
DEFAULT_SAVE_POINTS = (
    SavePoint(after_s=3600, change_count=1),
    SavePoint(after_s=300, change_count=100),
    SavePoint(after_s=60, change_count=10_000),
)


class Persistence(msgspec.Struct, frozen=True, kw_only=True):
    """How a server keeps its data; the defaults are those of redis-server.

    With AOF, save points count beside it. `rewrite_growth_percent` 0: the log is never rewritten.
    """

    mode: Mode
    save_points: tuple[SavePoint, ...] = ()
    no_fsync_on_rewrite: bool = False
    rewrite_growth_percent: int = 100
    rewrite_least_bytes: int = 64 * 1024**2
    rdb_preamble: bool = True
    snapshot_compression: bool = True


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server keeps its files and where it listens: on a unix socket, or on loopback.

    `password` is asked for on both. `replica_of` is the (host, port) of a primary. With `socket`,
    the path of one, it listens there beside the port too. `log` "" is standard output.
    """

    directory: str
    port: int = 0
    socket: str | None = None
    log: str = LOG_NAME
    password: str | None = None
    replica_of: tuple[str, int] | None = None


# Written by us; named so that a suite which sets one is told.
RESERVED_SETTINGS = frozenset(
    (
        *("aclfile", "aof-use-rdb-preamble", "appenddirname", "appendfilename", "appendfsync"),
        *("appendonly", "auto-aof-rewrite-min-size", "auto-aof-rewrite-percentage", "bind"),
        *("cluster-enabled", "daemonize", "dbfilename", "dir", "enable-debug-command"),
        *("enable-protected-configs", "include", "loadmodule", "logfile", "masterauth"),
        *("masteruser", "no-appendfsync-on-rewrite", "pidfile", "port", "protected-mode"),
        *("rdbcompression", "rename-command", "replicaof", "requirepass", "save", "slaveof"),
        *("supervised", "syslog-enabled", "tls-port", "unixsocket", "unixsocketperm", "user"),
    )
)
_NAME = re.compile(r"[a-z][a-z0-9-]*")


def refuse_reserved(environment: str, settings: tuple[tuple[str, str], ...]) -> None:
    """Refuse settings that belong to groundspeed or are none. Raises SpecError."""
    for name, value in settings:
        if name.lower() in RESERVED_SETTINGS:
            raise SpecError(
                f"{environment}: the setting {name} belongs to groundspeed",
                "leave it out; persistence and storage of an environment have their own keys",
            )
        if not _NAME.fullmatch(name.lower()) or re.search(r"[\r\n\0]", value):
            raise SpecError(
                f"{environment}: {name!r} is no setting of redis-server on one line",
                "write name and value as in redis.conf, such as maxmemory: 4gb",
            )


def configuration(
    place: Place, persistence: Persistence, *, settings: tuple[tuple[str, str], ...] = ()
) -> str:
    """Write redis.conf. Raises ValueError where its parts do not fit each other.

    Settings come last, so that redis-server takes them where it takes the last of a name.
    """
    pairs = [*_place(place), *_persistence(persistence)]
    pairs += [(name.lower(), value) for name, value in settings]
    return "".join(f"{name} {value}\n" for name, value in pairs)


def socket_path(place: Place) -> str:
    """Path of the server's unix socket. Raises ValueError when the kernel takes none as long."""
    path = place.socket or f"{place.directory}/{SOCKET_NAME}"
    if len(path.encode()) > LONGEST_SOCKET_PATH_BYTES:
        raise ValueError(f"the path of a unix socket is too long: {path}")
    return path


def _place(place: Place) -> list[tuple[str, str]]:
    pairs = [
        ("dir", _quoted(place.directory)),
        ("logfile", _quoted(place.log)),
        ("daemonize", "no"),
        # Keeps a server on loopback without a password from refusing us; one is always set there.
        ("protected-mode", "yes"),
        ("port", str(place.port)),
    ]
    if place.port:
        if place.password is None:
            raise ValueError("a server on loopback needs a password")
        pairs.append(("bind", "127.0.0.1"))
    if place.socket is not None or not place.port:
        pairs += [("unixsocket", _quoted(socket_path(place))), ("unixsocketperm", "700")]
    if place.password is not None:
        pairs += [("requirepass", _quoted(place.password))]
    if place.replica_of is not None:
        host, port = place.replica_of
        # The old word is the one that every version knows.
        pairs.append(("slaveof", f"{host} {port}"))
        pairs += [("masterauth", _quoted(place.password))] if place.password is not None else []
    return pairs


def _persistence(wanted: Persistence) -> list[tuple[str, str]]:
    if wanted.mode is Mode.NONE and wanted.save_points:
        raise ValueError("persistence none has no save points")
    if wanted.mode is Mode.RDB and not wanted.save_points:
        raise ValueError("persistence rdb needs a save point")
    # The empty one takes the defaults away.
    pairs = [("save", '""')]
    pairs += [("save", f"{point.after_s} {point.change_count}") for point in wanted.save_points]
    pairs += [
        ("dbfilename", "dump.rdb"),
        ("rdbcompression", _yes(value=wanted.snapshot_compression)),
        ("appendonly", _yes(value=wanted.mode.has_log)),
    ]
    if wanted.mode.has_log:
        pairs += [
            ("appendfilename", _quoted("appendonly.aof")),
            ("appendfsync", wanted.mode.value.removeprefix("aof-")),
            ("no-appendfsync-on-rewrite", _yes(value=wanted.no_fsync_on_rewrite)),
            ("auto-aof-rewrite-percentage", str(wanted.rewrite_growth_percent)),
            ("auto-aof-rewrite-min-size", str(wanted.rewrite_least_bytes)),
            ("aof-use-rdb-preamble", _yes(value=wanted.rdb_preamble)),
        ]
    return pairs


def _yes(*, value: bool) -> str:
    return "yes" if value else "no"


def _quoted(text: str) -> str:
    if re.search(r"[\r\n\0]", text):
        raise ValueError("a line of redis.conf cannot hold a line end")
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
