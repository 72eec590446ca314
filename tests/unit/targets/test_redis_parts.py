"""The parts of a Redis target that ask no server."""

from __future__ import annotations

import pytest

from groundspeed.errors import TargetError
from groundspeed.plan import EnvironmentPlan, TargetKind
from groundspeed.targets import redis_settings
from groundspeed.targets.redis_client import Address
from groundspeed.targets.redis_given import address_of
from groundspeed.targets.redis_keys import KeySpace, load_of
from groundspeed.targets.redis_process import telling_line
from groundspeed.targets.redis_state import version_number
from groundspeed.tools import redis_benchmark, redis_server
from groundspeed.tools.redis_server import Mode, Place, SavePoint


def environment(*options: tuple[str, str], **more: object) -> EnvironmentPlan:
    return EnvironmentPlan(
        name="e",
        slug="e",
        kind=TargetKind.EMBEDDED,
        options=options,
        **more,  # type: ignore[arg-type]  # fields of it
    )


# -- options


def test_nothing_asked_is_a_cache() -> None:
    made = redis_settings.persistence(environment())
    assert (made.mode, made.save_points) == (Mode.NONE, ())


def test_save_points_count_where_snapshots_are_asked_for() -> None:
    save = ("save", "60 1000 10 5")
    points = (
        SavePoint(after_s=60, change_count=1000),
        SavePoint(after_s=10, change_count=5),
    )
    for asked, expected in (
        ((("persistence", "rdb"), save), points),
        ((("persistence", "rdb"),), redis_server.DEFAULT_SAVE_POINTS),
        ((("persistence", "aof-no"), ("also_rdb", "yes"), save), points),
        ((("persistence", "aof-no"), ("also_rdb", "no"), save), ()),
    ):
        assert redis_settings.persistence(environment(*asked)).save_points == expected


def test_while_a_data_set_is_made_nothing_is_kept() -> None:
    asked = environment(("persistence", "aof-always"), settings=(("maxmemory", "1gb"),))
    place = Place(directory="/d", socket="/s", log="")
    lines = redis_settings.configuration(asked, place, is_prepared=True).splitlines()
    assert "appendonly yes" in lines
    unprepared = redis_settings.configuration(asked, place, is_prepared=False).splitlines()
    assert unprepared[: len(lines)] == lines
    assert unprepared[len(lines) :] == ["appendonly no", 'save ""']


def test_settings_are_kept_where_they_differ_decide_or_were_ours() -> None:
    told = {"hz": "10", "maxmemory": "5", "appendfsync": "no", "dir": "/secret", "requirepass": "x"}
    assert redis_settings.differing(told, ()) == {"maxmemory": "5", "appendfsync": "no"}
    assert redis_settings.differing(told, ("hz", "dir"))["hz"] == "10"
    assert "dir" not in redis_settings.differing(told, ("dir", "requirepass"))


# -- keys


def load(*tests: str, keyspace: int | None = None) -> list[bytes]:
    options = redis_benchmark.Options(
        tests=tests,
        request_count=10,
        client_count=1,
        payload_bytes=7,
        keyspace_count=keyspace,
    )
    command = redis_benchmark.command(options, redis_benchmark.Address(socket="/s"))
    made = load_of(command)
    assert made.payload_bytes == 7
    assert made.reads_values == ("get" in tests)
    return [name for space in made.spaces for name in space.names()]


def test_keys_are_those_of_redis_benchmark() -> None:
    assert load("set") == [b"key:__rand_int__"]
    assert load("get", keyspace=2) == [b"key:000000000000", b"key:000000000001"]
    assert load("incr", keyspace=1) == [b"counter:000000000000"]
    assert load("lpush", keyspace=5) == [b"mylist"]
    assert load("hset") == [b"myhash"]
    assert load("ping_mbulk", keyspace=5) == []
    assert load("set", "get", "mset") == [b"key:__rand_int__"]


def test_every_test_has_its_keys() -> None:
    without = {"ping", "ping_inline", "ping_mbulk"}
    assert {test for test in redis_benchmark.TESTS if not load(test)} == without


def test_keys_from_a_number_on() -> None:
    names = KeySpace(prefix="key:", count=3).names(2)
    assert list(names) == [b"key:000000000002"]


# -- words


LOG = """
1:C 20 Nov 2026 19:57:26.123 # oO0OoO0OoO0Oo Redis is starting oO0OoO0OoO0Oo
1:C 20 Nov 2026 19:57:26.123 # Redis version=7.0.15, bits=64, commit=00000000, modified=0, pid=1
1:M 20 Nov 2026 19:57:26.124 # WARNING Memory overcommit must be enabled!
1:M 20 Nov 2026 19:57:26.125 * Ready to accept connections
"""


def test_the_gravest_line_of_a_log_tells() -> None:
    grave = "1:M 20 Nov 2026 19:58:00.000 # Error writing to the AOF file: No space left on device"
    after = "1:M 20 Nov 2026 19:58:01.000 * something else"
    told = "Error writing to the AOF file: No space left on device"
    assert telling_line(f"{LOG}{grave}\n{after}\n") == told
    assert telling_line(LOG) == "Ready to accept connections"
    assert telling_line("") == ""


def test_a_wrong_setting_is_told_with_its_line() -> None:
    log = (
        "\n*** FATAL CONFIG FILE ERROR (Redis 7.0.15) ***\n"
        "Reading the configuration file, at line 3\n"
        ">>> 'maxmemory-policy often'\nargument(s) must be one of the following: volatile-lru\n"
    )
    assert telling_line(log) == (
        "'maxmemory-policy often': argument(s) must be one of the following: volatile-lru"
    )


@pytest.mark.parametrize(
    ("text", "number"), [("7.0.15", 70015), ("8.0", 80000), ("7.9.224", 70999), ("", 0)]
)
def test_version_numbers(text: str, number: int) -> None:
    assert version_number(text) == number


# -- addresses


def server(dsn: str) -> EnvironmentPlan:
    return EnvironmentPlan(name="g", slug="g", kind=TargetKind.SERVER, dsn=dsn)


def test_a_user_in_the_url_says_that_there_is_a_password() -> None:
    assert address_of(server("redis://h:1"), None).url == "redis://h:1"
    assert address_of(server("redis://h:1"), "p").url == "redis://default@h:1"
    assert address_of(server("unix:///s"), "p").url == "unix://default@/s"
    assert address_of(server("rediss://u@h?ssl_ca_certs=/c"), "p").url == (
        "rediss://u@h?ssl_ca_certs=/c"
    )
    with pytest.raises(TargetError, match="there is no password"):
        address_of(server("redis://u@h"), None)


def test_other_databases_are_refused() -> None:
    assert address_of(server("redis://h/0"), None).url == "redis://h/0"
    with pytest.raises(TargetError, match="only database 0"):
        address_of(server("redis://h/3"), None)


def test_an_address_hides_its_password() -> None:
    assert "hush" not in repr(Address(url="redis://h", password="hush"))
