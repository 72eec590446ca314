"""What a suite may ask of Redis and Valkey, checked and spelt out; a complaint names its path.

Options become pairs of strings that plans carry: what they mean to a server is in
`tools.redis_server`, what to its load tool in `tools.redis_load`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from groundspeed.errors import SpecError
from groundspeed.plan import EngineNeeds, ResolvedEngine
from groundspeed.spec import complaints
from groundspeed.tools import redis_benchmark, redis_sizing
from groundspeed.tools.redis_load import AUTO, address_of
from groundspeed.tools.redis_options import (
    FORM_OF_LOADS,
    FORM_OF_OPTIONS,
    EnvironmentOptions,
    LoadOptions,
    dashes_to_underscores,
)
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from groundspeed.spec import Form
    from groundspeed.tools.engine_ask import EngineAsk

NAME = "redis"

Pairs = tuple[tuple[str, str], ...]


def resolve(ask: EngineAsk) -> ResolvedEngine:
    """Spell out what a suite asks for. Raises SpecError with every complaint found."""
    wrong: list[tuple[str, str]] = []
    options: dict[str, EnvironmentOptions] = {}
    loads: dict[str, LoadOptions] = {}
    for name, asked in ask.options.items():
        where = f"environments.{name.replace('/', '.')}.options"
        options |= _read(EnvironmentOptions, {name: asked}, (where, FORM_OF_OPTIONS), wrong)
    for name, asked in ask.loads.items():
        where = f"workloads.{name}.load"
        loads |= _read(LoadOptions, {name: asked}, (where, FORM_OF_LOADS), wrong)
    for name, load in loads.items():
        wrong.extend(_impossible(f"workloads.{name}.load", load, ask.clients))
    for name, url in ask.addresses.items():
        wrong.extend(_unreachable(f"environments.{name}.dsn", url))
    if not wrong:
        wrong.extend(_too_large(ask, options, loads))
    if wrong:
        raise SpecError(*wrong[0], further=tuple(wrong[1:]))
    return ResolvedEngine(
        name=NAME,
        loads={name: _load_pairs(load) for name, load in loads.items()},
        options={
            name: (*_option_pairs(asked), *_read_by(loads)) for name, asked in options.items()
        },
        needs=_needs(ask, options, loads),
    )


# They run several tests: one trial is one.
_SEVERAL = frozenset({"ping", "lrange"})


def _impossible(where: str, load: LoadOptions, clients: int) -> Iterator[tuple[str, str]]:
    """Complain of a load that its tool would silently make another one of."""
    if load.test not in redis_benchmark.TESTS or load.test in _SEVERAL:
        near = "set, get, ping_mbulk or another one of redis-benchmark"
        yield f"{where}.test: there is none named {load.test!r}", near
        return
    count = clients * load.pipeline if load.requests == AUTO else int(load.requests)
    options = redis_benchmark.Options(
        tests=(load.test,),
        request_count=count,
        client_count=clients,
        payload_bytes=load.payload,
        pipeline_count=load.pipeline,
        keyspace_count=load.keyspace,
    )
    if (told := redis_benchmark.complaint(options)) is not None:
        yield f"{where}: {told}", "see docs/redis.md"


def _unreachable(where: str, url: str) -> Iterator[tuple[str, str]]:
    try:
        address_of(url)
    except ValueError:
        yield (
            f"{where}: no address of a Redis",
            "write redis://user@host:6379, or rediss:// for TLS",
        )


_M = TypeVar("_M", bound=BaseModel)


def _read(
    model: type[_M],
    named: Mapping[str, Mapping[str, Any]],
    place: tuple[str, Form],
    wrong: list[tuple[str, str]],
) -> dict[str, _M]:
    """Decode what is asked under a name; complaints go to `wrong`, and the name is left out."""
    where, form = place
    try:
        return {
            name: model.model_validate(dashes_to_underscores(asked))
            for name, asked in named.items()
        }
    except ValidationError as error:
        wrong.extend(_as_one_path(where, pair) for pair in complaints(where, error, form))
        return {}


def _as_one_path(where: str, complaint: tuple[str, str]) -> tuple[str, str]:
    """Join where it is asked with the path inside it, as in environments.a.options.save."""
    message, hint = complaint
    inside = message.removeprefix(f"{where}: ")
    return (f"{where}.{inside}" if ": " in inside else message), hint


def _option_pairs(asked: EnvironmentOptions) -> Pairs:
    found: dict[str, str] = {"persistence": asked.persistence.replace(" ", "-")}
    keeps_log = asked.persistence.startswith("aof")
    found["also_rdb"] = "yes" if keeps_log and asked.save is not None else "no"
    for name, value in (
        ("save", asked.save),
        ("no_appendfsync_on_rewrite", asked.no_appendfsync_on_rewrite),
        ("auto_aof_rewrite_percentage", asked.auto_aof_rewrite_percentage),
        ("auto_aof_rewrite_min_size_bytes", asked.auto_aof_rewrite_min_size),
        ("aof_use_rdb_preamble", asked.aof_use_rdb_preamble),
    ):
        if value is not None:
            found[name] = str(value)
    if asked.preload is not None:
        found["preload_keys"] = str(asked.preload.keys)
        found["preload_bytes"] = str(asked.preload.bytes)
    return tuple(found.items())


def _read_by(loads: Mapping[str, LoadOptions]) -> Pairs:
    """Say which keys have to be there so that loads that read find them."""
    keys = max((load.keyspace for load in loads.values()), default=0)
    size = max((load.payload for load in loads.values()), default=0)
    return (("load_keys", str(keys)), ("load_bytes", str(size)))


def _load_pairs(load: LoadOptions) -> Pairs:
    return (
        ("test", load.test),
        ("payload_bytes", str(load.payload)),
        ("keyspace", str(load.keyspace)),
        ("pipeline", str(load.pipeline)),
        ("requests", str(load.requests)),
        ("keep_alive", "1" if load.keep_alive == "yes" else "0"),
    )


# What a server writes into its log at most; more than disks of today take from one process, so an
# upper bound for the room that is needed. Values of 180 kB came to 1.4 GB/s without a log.
_MOST_LOG_BYTES_PER_S = 1024.0**3
# To begin a server and to end it; keys go in at this pace or faster, values at this bandwidth.
_START_S = 1.0
_PRELOAD_KEYS_PER_S = 100_000.0
_PRELOAD_BYTES_PER_S = 200e6
# A copy of a data set is written beside the load, so not at what the device gives.
_REWRITE_BYTES_PER_S = 50e6


def _needs(
    ask: EngineAsk, options: Mapping[str, EnvironmentOptions], loads: Mapping[str, LoadOptions]
) -> EngineNeeds:
    """Bound what the most demanding environment needs."""
    pairs = [(asked, load) for asked in options.values() for load in loads.values()]
    return EngineNeeds(
        disk_bytes=max(_disk_bytes(ask, *pair) for pair in pairs),
        memory_bytes=max(_memory_bytes(ask, *pair) for pair in pairs),
        set_up_s=max(map(_set_up_s, options.values())),
        least_disk_bytes=max(_keys(*pair)[1] for pair in pairs if _is_kept(pair[0]))
        if any(map(_is_kept, options.values()))
        else 0,
        least_memory_bytes=max(_dataset_bytes(*pair) for pair in pairs),
    )


def _is_kept(asked: EnvironmentOptions) -> bool:
    return asked.persistence != "none"


def _dataset_bytes(asked: EnvironmentOptions, load: LoadOptions) -> int:
    keys, size = _keys(asked, load)
    return redis_sizing.dataset_bytes(key_count=keys, payload_bytes=-(-size // keys))


def _too_large(
    ask: EngineAsk, options: Mapping[str, EnvironmentOptions], loads: Mapping[str, LoadOptions]
) -> Iterator[tuple[str, str]]:
    """Complain of data sets for which a server's own limit has no room: it would refuse writes."""
    for name, asked in options.items():
        limit = ask.settings.get(name, {}).get("maxmemory", "0")
        match = _MEMORY.fullmatch(limit.strip().lower())
        limit_bytes = 0 if match is None else int(match[1]) * _MEMORY_UNITS[match[2]]
        needed = max(_dataset_bytes(asked, load) for load in loads.values())
        if 0 < limit_bytes < needed:
            where = f"environments.{name.replace('/', '.')}"
            what = f"its data set takes {format_bytes(needed)}, maxmemory is {limit}"
            yield f"{where}: {what}", "raise maxmemory, or ask for fewer or smaller keys"


# As redis.conf has them: k is a thousand, kb 1024.
_MEMORY = re.compile(r"(\d+)(|b|k|kb|m|mb|g|gb)")
_MEMORY_UNITS = {
    "": 1,
    "b": 1,
    "k": 1000,
    "kb": 1024,
    "m": 1000**2,
    "mb": 1024**2,
    "g": 1000**3,
    "gb": 1024**3,
}


def _keys(asked: EnvironmentOptions, load: LoadOptions) -> tuple[int, int]:
    """Count keys and their bytes: those before, and those the load makes."""
    before = asked.preload
    keys = max(load.keyspace, 1)
    count, size = (0, 0) if before is None else (before.keys, before.keys * before.bytes)
    return count + keys, size + keys * load.payload


def _disk_bytes(ask: EngineAsk, asked: EnvironmentOptions, load: LoadOptions) -> int:
    if asked.persistence == "none":
        return 0
    _, file_bytes = _keys(asked, load)
    growth = asked.auto_aof_rewrite_percentage
    most_per_s = _MOST_LOG_BYTES_PER_S
    # What a server starts from is kept beside, as it was after preparing.
    return (
        file_bytes
        + redis_sizing.disk_need(
            file_bytes=file_bytes,
            write_bytes_per_s=most_per_s,
            duration_s=ask.longest_load_s,
            rewrite_s=file_bytes / _REWRITE_BYTES_PER_S,
            has_log=asked.persistence.startswith("aof"),
            has_snapshots=asked.save is not None or asked.persistence == "rdb",
            rewrite_growth_percent=100 if growth is None else growth,
            rewrite_least_bytes=asked.auto_aof_rewrite_min_size or 64 * 1024**2,
        ).total_bytes
    )


def _memory_bytes(ask: EngineAsk, asked: EnvironmentOptions, load: LoadOptions) -> int:
    keys, size = _keys(asked, load)
    return redis_sizing.memory_need(
        key_count=keys,
        payload_bytes=-(-size // keys),
        client_count=ask.clients,
        pipeline_count=load.pipeline,
        forks=asked.persistence != "none",
        write_bytes_per_s=_MOST_LOG_BYTES_PER_S / 2,
        fork_s=size / _REWRITE_BYTES_PER_S,
    ).total_bytes


def _set_up_s(asked: EnvironmentOptions) -> float:
    if asked.preload is None:
        return _START_S
    size = asked.preload.keys * asked.preload.bytes
    return _START_S + asked.preload.keys / _PRELOAD_KEYS_PER_S + size / _PRELOAD_BYTES_PER_S
