"""What a suite may ask of Redis: spelt out, or refused with path and hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.errors import SpecError
from groundspeed.tools import redis_engine
from groundspeed.tools.engine_ask import EngineAsk

if TYPE_CHECKING:
    from groundspeed.plan import ResolvedEngine

MIB = 1024**2


def ask(
    options: dict[str, dict[str, Any]] | None = None,
    loads: dict[str, dict[str, Any]] | None = None,
    *,
    longest_load_s: float = 3.0,
    settings: dict[str, dict[str, str]] | None = None,
    addresses: dict[str, str] | None = None,
) -> ResolvedEngine:
    return redis_engine.resolve(
        EngineAsk(
            options={"e": {}} if options is None else options,
            loads={"w": {"test": "set"}} if loads is None else loads,
            settings=settings or {},
            longest_load_s=longest_load_s,
            clients=20,
            addresses=addresses or {},
        )
    )


def options_of(**asked: object) -> dict[str, str]:
    return dict(ask({"e": asked}).options["e"])


def test_without_options_nothing_is_kept() -> None:
    assert options_of() == {
        "persistence": "none",
        "also_rdb": "no",
        "load_keys": "0",
        "load_bytes": "3",
    }


@pytest.mark.parametrize(
    ("asked", "spelt"),
    [
        ({"persistence": "aof always"}, {"persistence": "aof-always", "also_rdb": "no"}),
        (
            {"persistence": "aof everysec", "save": "60 1000"},
            {"persistence": "aof-everysec", "also_rdb": "yes", "save": "60 1000"},
        ),
        (
            {"persistence": "rdb", "save": "3600 1 300 100"},
            {"persistence": "rdb", "also_rdb": "no", "save": "3600 1 300 100"},
        ),
        # YAML reads a bare yes as true.
        ({"no-appendfsync-on-rewrite": True}, {"no_appendfsync_on_rewrite": "yes"}),
        ({"aof-use-rdb-preamble": "no"}, {"aof_use_rdb_preamble": "no"}),
        ({"auto-aof-rewrite-percentage": 0}, {"auto_aof_rewrite_percentage": "0"}),
        (
            {"auto-aof-rewrite-min-size": "64MiB"},
            {"auto_aof_rewrite_min_size_bytes": str(64 * MIB)},
        ),
        (
            {"preload": {"keys": 375_795, "bytes": "180B"}},
            {"preload_keys": "375795", "preload_bytes": "180"},
        ),
    ],
)
def test_options_are_spelt_out(asked: dict[str, object], spelt: dict[str, str]) -> None:
    assert spelt.items() <= options_of(**asked).items()


def test_each_server_has_its_own_and_a_replica_is_one() -> None:
    found = ask({"e": {}, "e/replica": {"persistence": "rdb"}}).options
    assert {name: dict(each)["persistence"] for name, each in found.items()} == {
        "e": "none",
        "e/replica": "rdb",
    }


def test_a_load_is_spelt_out() -> None:
    load = {"test": "get", "payload": "1000B", "keyspace": 1000, "requests": 50_000}
    assert dict(ask(loads={"w": load}).loads["w"]) == {
        "test": "get",
        "payload_bytes": "1000",
        "keyspace": "1000",
        "pipeline": "1",
        "requests": "50000",
        "keep_alive": "1",
    }
    once = {"test": "set", "keep-alive": False}
    assert dict(ask(loads={"w": once}).loads["w"])["keep_alive"] == "0"


def test_the_keys_that_loads_read_are_those_of_the_widest() -> None:
    loads = {
        "a": {"test": "set", "payload": "10B", "keyspace": 500},
        "b": {"test": "get", "payload": "2000B", "keyspace": 7},
    }
    found = dict(ask(loads=loads).options["e"])
    assert (found["load_keys"], found["load_bytes"]) == ("500", "2000")


def complaints(
    options: dict[str, dict[str, Any]] | None = None,
    loads: dict[str, dict[str, Any]] | None = None,
    **more: Any,  # noqa: ANN401 - what an ask has beside
) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as caught:
        ask(options, loads, **more)
    return [(caught.value.message, caught.value.hint), *caught.value.further]


SEE = "see docs/redis.md"
YES_NO = "write one of yes, no"


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"persistance": "rdb"}, "persistance: no such key", "did you mean 'persistence'?"),
        (
            {"persistence": "aof sometimes"},
            "persistence: 'aof sometimes' is not known",
            "write one of none, rdb, aof always, aof everysec, aof no",
        ),
        (
            {"save": "60"},
            "save: '60' is no list of save points",
            "write seconds and changes, as in 3600 1 300 100",
        ),
        (
            {"preload": {"keys": 0, "bytes": "1B"}},
            "preload.keys: input should be greater than or equal to 1",
            SEE,
        ),
        ({"preload": {"keys": 5}}, "preload.bytes: missing", "add the key 'bytes'"),
        (
            {"preload": {"kys": 5, "keys": 5, "bytes": "1B"}},
            "preload.kys: no such key",
            "did you mean 'keys'?",
        ),
        (
            {"auto-aof-rewrite-percentage": -1},
            "auto_aof_rewrite_percentage: input should be greater than or equal to 0",
            SEE,
        ),
        (
            {"auto-aof-rewrite-min-size": 5},
            "auto_aof_rewrite_min_size: needs a unit, as in 8GiB",
            SEE,
        ),
        (
            {"no-appendfsync-on-rewrite": "maybe"},
            "no_appendfsync_on_rewrite: 'maybe' is not known",
            YES_NO,
        ),
    ],
)
def test_a_wrong_option_is_one_line_with_its_path(
    asked: dict[str, Any], message: str, hint: str
) -> None:
    assert complaints({"e": asked}) == [(f"environments.e.options.{message}", hint)]


TESTS = "set, get, ping_mbulk or another one of redis-benchmark"


@pytest.mark.parametrize(
    ("asked", "message", "hint"),
    [
        ({"tset": 1}, ".tset: no such key", "did you mean 'test'?"),
        ({"test": "gte"}, ".test: there is none named 'gte'", TESTS),
        # Two tests, and one trial is one.
        ({"test": "ping"}, ".test: there is none named 'ping'", TESTS),
        ({"pipeline": 0}, ".pipeline: input should be greater than or equal to 1", SEE),
        ({"requests": 0}, ".requests: 0 is no number of requests", "write one, or auto"),
        ({"requests": "all"}, ".requests: 'all' is no number of requests", "write one, or auto"),
        ({"requests": True}, ".requests: True is no number of requests", "write one, or auto"),
        ({"payload": "0B"}, ".payload: input should be greater than 0", SEE),
        (
            {"payload": "2GiB"},
            ": a payload of redis-benchmark lies between 1 B and 1 GiB",
            SEE,
        ),
        (
            {"requests": 19},
            ": there are fewer requests than clients times pipeline: some clients would send none",
            SEE,
        ),
        (
            {"keyspace": 10**10},
            ": a keyspace of redis-benchmark has at most 2147483647 keys",
            SEE,
        ),
    ],
)
def test_a_wrong_load_is_one_line_with_its_path(
    asked: dict[str, Any], message: str, hint: str
) -> None:
    found = complaints(loads={"w": {"test": "set", **asked}})
    assert found == [(f"workloads.w.load{message}", hint)]


def test_all_mistakes_are_told_at_once() -> None:
    found = complaints(
        {"e": {"sav": "1 1"}, "e/replica": {"x": 1}}, {"w": {}}, addresses={"g": "http://cache"}
    )
    assert [message.partition(":")[0] for message, _ in found] == [
        "environments.e.options.sav",
        "environments.e.replica.options.x",
        "workloads.w.load.test",
        "environments.g.dsn",
    ]


@pytest.mark.parametrize("url", ["http://cache", "host=h dbname=d", "redis://cache:port"])
def test_what_is_no_address_of_it_is_refused(url: str) -> None:
    assert complaints(addresses={"g": url})[0][0] == "environments.g.dsn: no address of a Redis"


# -- what it needs


WIDE = {"w": {"test": "set", "payload": "1000B", "keyspace": 100_000}}


def test_without_files_no_disk_is_needed() -> None:
    assert ask(loads=WIDE).needs.disk_bytes == 0
    assert ask(loads=WIDE).needs.memory_bytes > 100_000_000


def test_a_log_needs_what_a_fast_server_writes_in_a_trial() -> None:
    never = {"e": {"persistence": "aof no", "auto-aof-rewrite-percentage": 0}}
    short = ask(never, WIDE, longest_load_s=1.0).needs.disk_bytes
    long = ask(never, WIDE, longest_load_s=3.0).needs.disk_bytes
    assert long - short >= 2 * 10**9


def test_needs_are_those_of_the_most_demanding() -> None:
    preloaded = {"persistence": "rdb", "preload": {"keys": 1_000_000, "bytes": "1kB"}}
    alone = ask({"b": preloaded}, WIDE).needs
    assert ask({"a": {}, "b": preloaded}, WIDE).needs == alone
    assert alone.memory_bytes > ask({"a": {}}, WIDE).needs.memory_bytes + 10**9
    assert alone.set_up_s > ask({"a": {}}, WIDE).needs.set_up_s + 5


def test_a_data_set_beyond_maxmemory_is_refused() -> None:
    found = complaints(
        {"e": {"preload": {"keys": 375_795, "bytes": "180000B"}}},
        settings={"e": {"maxmemory": "1gb"}},
    )
    assert found[0][0].startswith("environments.e: its data set takes 6")
    assert found[0][1] == "raise maxmemory, or ask for fewer or smaller keys"
