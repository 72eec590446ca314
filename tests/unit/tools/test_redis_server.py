"""The text of redis.conf."""

from __future__ import annotations

import pytest

from groundspeed.errors import SpecError
from groundspeed.tools import redis_server
from groundspeed.tools.redis_server import Mode, Persistence, Place, SavePoint

HERE = Place(directory="/data/redis")


def lines_of(persistence: Persistence, place: Place = HERE) -> list[str]:
    return redis_server.configuration(place, persistence).splitlines()


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (Mode.AOF_ALWAYS, "appendfsync always"),
        (Mode.AOF_EVERYSEC, "appendfsync everysec"),
        (Mode.AOF_NO, "appendfsync no"),
    ],
)
def test_a_log_and_its_fsync(mode: Mode, expected: str) -> None:
    lines = lines_of(Persistence(mode=mode))
    assert {"appendonly yes", expected, 'save ""', "aof-use-rdb-preamble yes"} <= set(lines)
    assert {"auto-aof-rewrite-percentage 100", "auto-aof-rewrite-min-size 67108864"} <= set(lines)


def test_tuning_of_a_log() -> None:
    lines = lines_of(
        Persistence(
            mode=Mode.AOF_EVERYSEC,
            no_fsync_on_rewrite=True,
            rewrite_growth_percent=0,
            rdb_preamble=False,
        )
    )
    assert "no-appendfsync-on-rewrite yes" in lines
    assert "auto-aof-rewrite-percentage 0" in lines
    assert "aof-use-rdb-preamble no" in lines


def test_no_persistence_takes_the_defaults_away() -> None:
    lines = lines_of(Persistence(mode=Mode.NONE))
    assert 'save ""' in lines
    assert "appendonly no" in lines
    assert not [line for line in lines if line.startswith("appendfsync")]


def test_save_points_come_after_the_empty_one() -> None:
    lines = lines_of(Persistence(mode=Mode.RDB, save_points=redis_server.DEFAULT_SAVE_POINTS))
    assert [line for line in lines if line.startswith("save")] == [
        *('save ""', "save 3600 1", "save 300 100", "save 60 10000")
    ]


@pytest.mark.parametrize(
    "persistence",
    [
        Persistence(mode=Mode.RDB),
        Persistence(mode=Mode.NONE, save_points=(SavePoint(after_s=60, change_count=1),)),
    ],
)
def test_save_points_that_contradict_the_mode(persistence: Persistence) -> None:
    with pytest.raises(ValueError, match="save point"):
        redis_server.configuration(HERE, persistence)


def test_a_socket_without_a_port() -> None:
    lines = lines_of(Persistence(mode=Mode.NONE))
    assert {"port 0", 'unixsocket "/data/redis/redis.sock"', "unixsocketperm 700"} <= set(lines)
    assert not [line for line in lines if line.startswith(("bind", "requirepass"))]


def test_loopback_with_a_password_and_a_primary() -> None:
    place = Place(directory="/d", port=7001, password='a"b\\c', replica_of=("127.0.0.1", 7000))
    lines = lines_of(Persistence(mode=Mode.NONE), place)
    assert {"port 7001", "bind 127.0.0.1", 'requirepass "a\\"b\\\\c"'} <= set(lines)
    assert {"slaveof 127.0.0.1 7000", 'masterauth "a\\"b\\\\c"'} <= set(lines)


@pytest.mark.parametrize(
    "place",
    [
        Place(directory="/d", port=7001),
        Place(directory="/" + "d" * 100),
        Place(directory="/d", password="a\nsave 1 1"),
    ],
)
def test_a_place_that_cannot_be(place: Place) -> None:
    with pytest.raises(ValueError, match=r"password|too long|line end"):
        redis_server.configuration(place, Persistence(mode=Mode.NONE))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("appendonly", "no", "belongs to groundspeed"),
        ("RequirePass", "x", "belongs to groundspeed"),
        ("dir", "/", "belongs to groundspeed"),
        ("maxmemory", "1gb\nappendonly no", "no setting of redis-server"),
        ("max memory", "1gb", "no setting of redis-server"),
    ],
)
def test_what_is_not_for_a_suite_to_set(name: str, value: str, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        redis_server.refuse_reserved("cache", ((name, value),))


def test_other_settings_come_last() -> None:
    settings = (("maxmemory", "4gb"), ("io-threads", "2"))
    redis_server.refuse_reserved("cache", settings)
    text = redis_server.configuration(HERE, Persistence(mode=Mode.NONE), settings=settings)
    assert text.endswith("maxmemory 4gb\nio-threads 2\n")


def test_every_line_that_is_written_is_reserved() -> None:
    place = Place(directory="/d", port=1, password="x", replica_of=("h", 1))
    for where in (place, HERE):
        written = lines_of(Persistence(mode=Mode.AOF_NO), where)
        names = {line.partition(" ")[0] for line in written}
        assert names <= redis_server.RESERVED_SETTINGS
