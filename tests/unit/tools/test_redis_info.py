"""What servers say of themselves, captured from each of their versions."""

from __future__ import annotations

import pytest

from groundspeed.tools import redis_info, resp
from tests.golden import redis_output

WITH_MAIN_THREAD = ("6.2.14", "7.0.15", "8.0-m01", "valkey-8.0.1")


def reply_of(name: str) -> resp.Reply:
    data = redis_output.reply(name)
    decoded = resp.decode(data)
    assert decoded is not None
    assert decoded[1] == len(data)
    return decoded[0]


@pytest.mark.parametrize("version", redis_output.INFOS)
def test_what_every_version_tells(version: str) -> None:
    info = redis_info.parse_info(redis_output.info(version))
    assert info.role == "master"
    assert info.key_count == 31
    assert info.aof_enabled
    assert info.aof_rewrite_in_progress
    assert not info.rdb_in_progress
    assert (info.rdb_last_ok, info.aof_last_rewrite_ok, info.aof_last_write_ok) == (True,) * 3
    assert (info.rdb_last_s, info.aof_last_rewrite_s) == (None, None)
    assert (info.aof_pending_fsync_count, info.aof_delayed_fsync_count) == (0, 0)
    assert info.received_bytes == 31_121
    # 30 values of 1,000 bytes and what is around them, and one number.
    assert 30_000 < (info.aof_size_bytes or 0) < 32_000
    assert (info.memory_bytes or 0) > 30_000
    assert (info.replica_count, info.replica_lag_bytes, info.link_is_up) == (0, None, None)


@pytest.mark.parametrize(
    ("version", "server", "told"),
    [
        ("5.0.14", "redis", "5.0.14"),
        ("7.0.15", "redis", "7.0.15"),
        ("8.0-m01", "redis", "7.9.224"),
        ("valkey-8.0.1", "valkey", "8.0.1"),
    ],
)
def test_who_it_is(version: str, server: str, told: str) -> None:
    info = redis_info.parse_info(redis_output.info(version))
    assert (info.server, info.version) == (server, told)


def test_what_a_version_does_not_tell_is_none() -> None:
    info = redis_info.parse_info(redis_output.info("5.0.14"))
    assert (info.fork_count, info.main_cpu_user_s, info.main_cpu_system_s) == (None, None, None)
    assert info.latest_fork_s == pytest.approx(191e-6)


@pytest.mark.parametrize("version", WITH_MAIN_THREAD)
def test_the_main_thread(version: str) -> None:
    info = redis_info.parse_info(redis_output.info(version))
    assert info.fork_count == 1
    assert (info.main_cpu_user_s or 0) > 0


def test_a_primary_tells_how_far_its_replicas_are_behind() -> None:
    info = redis_info.parse_info(
        "redis_version:7.0.15\r\nrole:master\r\nconnected_slaves:2\r\n"
        "slave0:ip=127.0.0.1,port=1,state=online,offset=70,lag=0\r\n"
        "slave1:ip=127.0.0.1,port=2,state=online,offset=40,lag=1\r\nmaster_repl_offset:100\r\n"
    )
    assert (info.replica_count, info.offset_bytes, info.replica_lag_bytes) == (2, 100, 60)


def test_a_replica_tells_its_own_offset_and_link() -> None:
    info = redis_info.parse_info(
        "redis_version:7.0.15\nrole:slave\nmaster_link_status:down\nslave_repl_offset:42\n"
        "connected_slaves:0\nmaster_repl_offset:42\n"
    )
    assert (info.role, info.offset_bytes, info.link_is_up) == ("slave", 42, False)


def test_an_unknown_field_and_an_unknown_section_are_passed_over() -> None:
    info = redis_info.parse_info("# New\nredis_version:9.0.0\nnew_fact:a:b\ndb0:keys=2,expires=0")
    assert (info.version, info.key_count) == ("9.0.0", 2)


@pytest.mark.parametrize("text", ["", "NOAUTH Authentication required.", "redis_version:"])
def test_what_is_no_info(text: str) -> None:
    if text.endswith(":"):
        assert redis_info.parse_info(text).version == ""
    else:
        with pytest.raises(ValueError, match="tells no version"):
            redis_info.parse_info(text)


def test_a_figure_that_is_none() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        redis_info.parse_info("redis_version:7.0.15\nused_memory:much\n")


@pytest.mark.parametrize("version", redis_output.INFOS)
def test_latency_spikes(version: str) -> None:
    spikes = {s.event: s for s in redis_info.parse_latency(reply_of(f"{version}-latency"))}
    # A script that counted to three million.
    assert 0.02 < spikes["command"].longest_s < 1
    assert spikes["command"].latest_s <= spikes["command"].longest_s


@pytest.mark.parametrize("version", ["5.0.14", "7.0.15", "8.0-m01", "valkey-8.0.1"])
def test_slow_commands_without_their_arguments(version: str) -> None:
    newest, script = redis_info.parse_slow_log(reply_of(f"{version}-slowlog"))
    assert (script.name, newest.entry_id, script.entry_id) == ("eval", 1, 0)
    assert 0.02 < script.duration_s < 1
    assert newest.name in {"debug", "bgrewriteaof"}


@pytest.mark.parametrize("reply", [resp.ErrorReply("NOPERM no"), (b"a",), ((b"a", 1, 2, b"x"),)])
def test_other_replies_are_refused(reply: resp.Reply) -> None:
    with pytest.raises(ValueError, match=r"refused|unknown shape"):
        redis_info.parse_latency(reply)


def test_a_slow_log_of_another_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown shape"):
        redis_info.parse_slow_log(((b"a", 1, 2, (b"get",)),))
