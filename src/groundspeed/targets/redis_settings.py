"""Which settings of a Redis are worth keeping, and what a server of ours is configured with.

Pure: texts of `tools.redis_server` and what CONFIG GET answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.tools import redis_server
from groundspeed.tools.redis_server import Mode, Persistence, SavePoint

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.tools.redis_server import Place

# The file of a snapshot, as `tools.redis_server` names it.
SNAPSHOT = "dump.rdb"
# As CONFIG GET of Redis 7.0.15 tells them of a server without a configuration. Settings that are
# not here say where a server is or hold secrets, or are other names of one that is.
_DEFAULTS: Mapping[str, str] = {
    "activedefrag": "no",
    "active-expire-effort": "1",
    "activerehashing": "yes",
    "aof-rewrite-incremental-fsync": "yes",
    "aof_rewrite_cpulist": "",
    "bgsave_cpulist": "",
    "bio_cpulist": "",
    "client-query-buffer-limit": "1073741824",
    "cluster-enabled": "no",
    "databases": "16",
    "disable-thp": "yes",
    "dynamic-hz": "yes",
    "hash-max-listpack-entries": "512",
    "hash-max-listpack-value": "64",
    "hz": "10",
    "io-threads": "1",
    "io-threads-do-reads": "no",
    "jemalloc-bg-thread": "yes",
    "latency-monitor-threshold": "0",
    "latency-tracking": "yes",
    "lazyfree-lazy-eviction": "no",
    "lazyfree-lazy-expire": "no",
    "lazyfree-lazy-server-del": "no",
    "lazyfree-lazy-user-del": "no",
    "list-compress-depth": "0",
    "list-max-listpack-size": "-2",
    "maxclients": "10000",
    "maxmemory": "0",
    "maxmemory-clients": "0",
    "maxmemory-eviction-tenacity": "10",
    "maxmemory-policy": "noeviction",
    "maxmemory-samples": "5",
    "min-replicas-to-write": "0",
    "notify-keyspace-events": "",
    "oom-score-adj": "no",
    "rdb-save-incremental-fsync": "yes",
    "rdbchecksum": "yes",
    "repl-backlog-size": "1048576",
    "repl-disable-tcp-nodelay": "no",
    "repl-diskless-load": "disabled",
    "repl-diskless-sync": "yes",
    "repl-diskless-sync-delay": "5",
    "server_cpulist": "",
    "slowlog-log-slower-than": "10000",
    "stop-writes-on-bgsave-error": "yes",
    "tcp-backlog": "511",
    "tcp-keepalive": "300",
    "tracking-table-max-keys": "1000000",
}
# They decide what is lost, so they are told whatever they are.
_ALWAYS = (
    *("aof-use-rdb-preamble", "appendfsync", "appendonly", "auto-aof-rewrite-min-size"),
    *("auto-aof-rewrite-percentage", "no-appendfsync-on-rewrite", "rdbcompression", "save"),
)
# What the server is asked after each trial; a spike of 10 ms is seen from the outside.
_OURS = (("latency-monitor-threshold", "10"),)
# A replica follows at once, and its primary writes nothing on its own storage for that.
_OURS_WITH_REPLICA = (("repl-diskless-sync", "yes"), ("repl-diskless-sync-delay", "0"))
# While a data set is made there is no persistence: it would be charged for what nobody measures.
_UNKEPT = (("appendonly", "no"), ("save", '""'))


def differing(settings: Mapping[str, str], ours: Collection[str]) -> dict[str, str]:
    """Choose what differs from the defaults, what we wrote, and what decides what is lost."""
    told = set(_ALWAYS) | (set(ours) & set(_DEFAULTS))
    return {
        name: value
        for name, value in settings.items()
        if name in told or _DEFAULTS.get(name, value) != value
    }


def set_by_us(environment: EnvironmentPlan) -> frozenset[str]:
    """Name the settings of an environment that its server has from the suite or from us."""
    return frozenset(name.lower() for name, _ in (*_OURS, *environment.settings))


def persistence(environment: EnvironmentPlan) -> Persistence:
    """Read the options of an environment, which its engine has spelt out; see `redis_engine`."""
    options = dict(environment.options)
    mode = Mode(options.get("persistence", Mode.NONE.value))
    points = _save_points(options.get("save"))
    wants_points = mode is Mode.RDB or (mode.has_log and options.get("also_rdb") == "yes")
    made = Persistence(mode=mode)
    return Persistence(
        mode=mode,
        save_points=points if wants_points else (),
        no_fsync_on_rewrite=options.get("no_appendfsync_on_rewrite") == "yes",
        rewrite_growth_percent=int(
            options.get("auto_aof_rewrite_percentage", made.rewrite_growth_percent)
        ),
        rewrite_least_bytes=int(
            options.get("auto_aof_rewrite_min_size_bytes", made.rewrite_least_bytes)
        ),
        rdb_preamble=options.get("aof_use_rdb_preamble", "yes") == "yes",
    )


def _save_points(text: str | None) -> tuple[SavePoint, ...]:
    if text is None:
        return redis_server.DEFAULT_SAVE_POINTS
    numbers = [int(word) for word in text.split()]
    return tuple(
        SavePoint(after_s=after_s, change_count=count)
        for after_s, count in zip(numbers[0::2], numbers[1::2], strict=True)
    )


def configuration(environment: EnvironmentPlan, place: Place, *, is_prepared: bool) -> str:
    """Write redis.conf of an environment; what the suite says comes last and counts.

    Not `is_prepared`: it is to make its data set, and keeps none of it on storage meanwhile.
    """
    has_replica = environment.replica is not None
    settings = (*_OURS, *(_OURS_WITH_REPLICA if has_replica else ()), *environment.settings)
    unkept = () if is_prepared else _UNKEPT
    return redis_server.configuration(
        place, persistence(environment), settings=(*settings, *unkept)
    )
