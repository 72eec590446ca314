"""A Redis of our own through its whole life, on plain and on emulated storage."""

from __future__ import annotations

import os
import signal
import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import GroundspeedError, TargetError
from groundspeed.targets import redis_client, redis_programs, remains
from groundspeed.targets.emulation import EmulatedDevice, shim_path
from tests import small_runs
from tests.server.redis_targets import ask, embedded, environment, load, ready, setting
from tests.server.test_embedded import listening_addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.ports import Progress
    from groundspeed.targets.redis_embedded import EmbeddedRedis
    from tests.small_runs import Place

KEYS, BYTES = 3000, 200
MODES = ("none", "rdb", "aof-always", "aof-everysec", "aof-no")


@pytest.fixture
def emulation() -> None:
    try:
        shim_path()
    except TargetError as error:
        pytest.skip(error.message)


def files(target: EmbeddedRedis) -> dict[str, int]:
    root = target.data_directory
    return {str(p.relative_to(root)): p.stat().st_size for p in root.rglob("*") if p.is_file()}


def pid_of(target: EmbeddedRedis) -> int:
    pid = target.watch_points().server_pid
    assert pid is not None
    return pid


def info(target: EmbeddedRedis, name: str) -> str:
    reply = ask(target, "INFO", "everything")
    assert isinstance(reply, bytes)
    lines = dict(line.split(":", 1) for line in reply.decode().splitlines() if ":" in line)
    return lines[name]


def preloaded(place: Place, **more: object) -> EnvironmentPlan:
    return environment(place.storage, preload_keys=KEYS, preload_bytes=BYTES, **more)  # type: ignore[arg-type]  # options of one engine


@pytest.mark.parametrize("mode", MODES)
def test_what_was_asked_is_in_force_and_each_trial_begins_alike(place: Place, mode: str) -> None:
    one = preloaded(
        place,
        persistence=mode,
        also_rdb="no",
        save="3600 1",
        no_appendfsync_on_rewrite="yes",
        auto_aof_rewrite_percentage=70,
        auto_aof_rewrite_min_size_bytes=5_000_000,
        settings=(("maxmemory", "300mb"),),
    )
    told: list[str] = []
    with embedded(place, one, told=told) as target:
        target.provide()
        assert target.server_facts().version.split()[0] in {"Redis", "Valkey"}
        target.prepare(1)
        assert told == [f"e: {KEYS:,} of {KEYS:,} keys are there"]
        assert not target.is_alive()
        target.start()
        assert setting(target, "appendonly") == ("yes" if mode.startswith("aof") else "no")
        assert setting(target, "save") == ("3600 1" if mode == "rdb" else "")
        assert setting(target, "maxmemory") == str(300 * 1024**2)
        if mode.startswith("aof"):
            assert setting(target, "appendfsync") == mode.removeprefix("aof-")
            assert setting(target, "no-appendfsync-on-rewrite") == "yes"
            assert setting(target, "auto-aof-rewrite-percentage") == "70"
            assert setting(target, "auto-aof-rewrite-min-size") == "5000000"
        target.check()
        assert ask(target, "DBSIZE") == KEYS
        assert ask(target, "STRLEN", "key:000000000007") == BYTES
        before = files(target)
        assert sum(before.values()) > KEYS * BYTES
        assert load(target, "set", keyspace=100_000, requests=4000).returncode == 0
        assert target.is_alive()
        assert int(str(ask(target, "DBSIZE"))) > KEYS
        target.check()
        target.reset()
        target.stop()
        target.start()
        target.check()
        assert ask(target, "DBSIZE") == KEYS
        assert files(target) == before


def test_a_stop_writes_no_snapshot(place: Place) -> None:
    """It would write all of the server's memory, for nobody."""
    with embedded(place, preloaded(place, persistence="rdb", save="3600 1")) as target:
        ready(target)
        before = files(target)
        assert load(target, "set", payload=100_000, keyspace=100, requests=500).returncode == 0
        target.stop()
        assert not target.is_alive()
        assert files(target) == before


def test_what_a_load_only_reads_is_there(place: Place) -> None:
    """A GET of nothing measures nothing; and the next trial begins without what was made."""
    with embedded(place, environment(place.storage, persistence="aof-everysec")) as target:
        ready(target)
        load(target, "get", payload=5000)
        target.reset_statistics()
        assert load(target, "get", payload=5000, requests=2000).returncode == 0
        assert info(target, "keyspace_misses") == "0"
        assert int(info(target, "keyspace_hits")) >= 2000
        assert ask(target, "STRLEN", "key:__rand_int__") == 5000
        load(target, "get", payload=50, keyspace=500)
        assert ask(target, "DBSIZE") == 501
        target.stop()
        target.start()
        target.check()
        assert ask(target, "DBSIZE") == 0


def test_statistics_count_from_the_reset(place: Place) -> None:
    with embedded(place, environment(place.storage)) as target:
        ready(target)
        load(target, "set", requests=3000)
        target.reset_statistics()
        assert int(info(target, "total_commands_processed")) < 100
        assert ask(target, "SLOWLOG", "LEN") == 0


def test_it_is_private(place: Place) -> None:
    with embedded(place, environment(place.storage)) as target:
        ready(target)
        pid = pid_of(target)
        uid = int(Path(f"/proc/{pid}/status").read_text().partition("Uid:")[2].split()[0])
        user = small_runs.account()
        assert uid == (os.getuid() if user is None else user.uid) != 0
        assert listening_addresses(pid) == set()
        for path in (target.server._home, target.data_directory, target.server._socket_directory):
            assert stat.S_IMODE(path.stat().st_mode) == 0o700
            assert path.stat().st_uid == uid


def test_on_loopback_it_asks_for_a_password(place: Place) -> None:
    with embedded(place, environment(place.storage, listen="loopback")) as target:
        ready(target)
        assert target.conninfo.startswith("redis://default@127.0.0.1:")
        assert listening_addresses(pid_of(target)) == {"0100007F"}
        assert load(target, "set").returncode == 0
        without = redis_client.Address(url=target.conninfo)
        with redis_client.connect(without) as client, pytest.raises(TargetError) as caught:
            client.ask("PING")
        assert "NOAUTH" in caught.value.message


# -- what goes wrong


def killing(target: EmbeddedRedis) -> list[float]:
    """Kill the server in the middle of a load; when that was."""
    killed: list[float] = []

    def kill(progress: Progress) -> None:
        if not killed:
            os.kill(pid_of(target), signal.SIGKILL)
            killed.append(progress.elapsed_s)

    load(target, "set", requests=2_000_000, limit_s=20, on_progress=kill)
    return killed


def test_a_server_that_was_killed_is_dead_and_comes_back(place: Place) -> None:
    one = preloaded(place, persistence="aof-everysec")
    with embedded(place, one) as target:
        ready(target)
        assert killing(target)
        assert not target.is_alive()
        assert "killed by SIGKILL" in target.why_dead()
        target.stop()
        target.reset()
        target.start()
        target.check()
        assert ask(target, "DBSIZE") == KEYS


def test_a_snapshot_under_way_is_ended_with_its_server(place: Place) -> None:
    """Who writes it outlives a server that is killed."""
    one = preloaded(place, persistence="rdb", save="3600 1")
    with embedded(place, one) as target:
        ready(target)
        # 3,000 keys of a tenth of a second: five minutes.
        ask(target, "CONFIG", "SET", "rdb-key-save-delay", "100000")
        ask(target, "BGSAVE")
        (writer,) = remains.children_of(pid_of(target))
        target.reset()
        assert not Path(f"/proc/{writer}/exe").exists()
        target.start()
        target.check()


def test_lost_keys_are_noticed(place: Place) -> None:
    with embedded(place, preloaded(place)) as target:
        ready(target)
        ask(target, "DEL", "key:000000000001")
        with pytest.raises(TargetError, match="there are 2,999 keys, not 3,000"):
            target.check()


def test_a_snapshot_that_fails_is_noticed(place: Place) -> None:
    one = environment(place.storage, persistence="rdb", save="3600 1")
    with embedded(place, one) as target:
        ready(target)
        ask(target, "SET", "a", "b")
        (target.data_directory / "dump.rdb").unlink()
        (target.data_directory / "dump.rdb").mkdir()
        (target.data_directory / "dump.rdb" / "x").touch()
        with pytest.raises(TargetError):
            ask(target, "SAVE")
        # SAVE alone leaves no mark where a snapshot in the background does.
        ask(target, "BGSAVE")
        target.checkpoint()
        with pytest.raises(TargetError, match="MISCONF"):
            target.check()
        assert target.is_alive()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ((("appendfsync", "no"),), "belongs to groundspeed"),
        ((("maxmemory-policy", "sometimes"),), "e: the server does not start: 'maxmemory-policy"),
        ((("no-such-thing", "1"),), "Bad directive"),
    ],
)
def test_settings_that_cannot_be(
    place: Place, settings: tuple[tuple[str, str], ...], what: str
) -> None:
    one = environment(place.storage, settings=settings)
    with pytest.raises(GroundspeedError) as caught, embedded(place, one) as target:
        target.provide()
    assert what in caught.value.message


# -- emulated storage


@pytest.mark.usefixtures("emulation")
@pytest.mark.parametrize("mode", MODES)
def test_on_an_emulated_device(place: Place, mode: str) -> None:
    one = environment("/dev/shm", persistence=mode, emulate="aws-gp3", preload_keys=500,
                      preload_bytes=100, save="3600 1")  # fmt: skip
    with embedded(place, one) as target:
        ready(target)
        assert load(target, "set", requests=1500).returncode == 0
        work = target.storage_work()
        assert work is not None
        if mode == "aof-always":
            # Requests that came together share a sync.
            assert 1500 / 4 <= work.sync_call_count <= 1600
            assert work.sync_waited_s / work.sync_call_count > 0.0003
        if mode.startswith("aof"):
            assert work.write_bytes > 1500 * 100
        else:
            assert (work.write_bytes, work.sync_call_count) == (0, 0)
        storage = target.storage_facts()
        assert storage is not None
        assert (storage.label, storage.emulated) == ("aws-gp3", True)
        if mode == "rdb":
            ask(target, "BGSAVE")
            target.checkpoint()
            after = target.storage_work()
            assert after is not None
            # Written through stdio, which shows when it is synced.
            assert after.write_request_bytes > 500 * 90
        target.reset()
        target.stop()
        target.start()
        target.check()
        assert ask(target, "DBSIZE") == 500
        target.reset_statistics()
        fresh = target.storage_work()
        assert fresh is not None
        assert fresh.write_bytes == 0


class _Unnoticed(EmulatedDevice):
    """A device that no server is told of."""

    def variables(self, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
        super().variables(inherited)
        return {}


@pytest.mark.usefixtures("emulation")
def test_never_a_silent_run_at_native_speed(place: Place) -> None:
    one = environment("/dev/shm", emulate="aws-gp3")
    with (
        pytest.raises(TargetError) as caught,
        embedded(place, one, kind=_Unnoticed) as target,
    ):
        target.provide()
    assert caught.value.message.startswith("e: the server runs at native speed")


# -- warm, and with a replica


def test_a_warm_server_comes_to_rest_and_stays(place: Place) -> None:
    one = preloaded(place, persistence="aof-everysec")
    with embedded(place, one, is_warm=True) as target:
        ready(target)
        pid = pid_of(target)
        load(target, "set", keyspace=10_000, payload=1000, requests=5000)
        ask(target, "BGREWRITEAOF")
        target.stop()
        assert info(target, "aof_rewrite_in_progress") == "0"
        assert info(target, "aof_pending_bio_fsync") == "0"
        target.start()
        assert pid_of(target) == pid
        target.check()
        target.reset()
        target.start()
        target.check()
        assert ask(target, "DBSIZE") == KEYS
        assert pid_of(target) != pid


def test_a_probe_that_comes_between_two_loads_is_no_client_of_theirs(place: Place) -> None:
    """Slices of a warm server have no warm-up, and each has a watch of its own."""
    with embedded(place, environment(place.storage), is_warm=True) as target:
        ready(target)
        load(target, "set")
        with redis_client.connect(target.server.address):
            target.reset_statistics()
            load(target, "set")
            target.reset_statistics()


@pytest.mark.usefixtures("emulation")
def test_a_replica_follows_before_a_trial_and_has_what_was_written_after(place: Place) -> None:
    second = environment(
        "/dev/shm", name="e-replica", persistence="rdb", save="7200 1", emulate="longhorn-2r"
    )
    with embedded(place, preloaded(place, replica=second)) as target:
        ready(target)
        assert target.replica is not None
        assert target.conninfo.startswith("unix://default@/")
        with redis_client.connect(target.replica.address) as client:
            assert client.number("DBSIZE") == KEYS
            assert client.pairs("CONFIG", "GET", "save") == {"save": "7200 1"}
            assert client.pairs("CONFIG", "GET", "appendonly") == {"appendonly": "no"}
        assert setting(target, "save") == ""
        # It fills from its primary, over loopback, and a load reaches the primary alone.
        assert load(target, "set", keyspace=20_000, requests=4000).returncode == 0
        target.check()
        with redis_client.connect(target.replica.address) as client:
            assert client.number("DBSIZE") == ask(target, "DBSIZE")
        device = target.replica.device
        assert device is not None
        assert device.counters().writes.calls_count > 0
        target.reset()
        target.stop()
        target.start()
        target.check()
        with redis_client.connect(target.replica.address) as client:
            assert client.number("DBSIZE") == KEYS


# -- programs


def test_a_program_out_of_reach_is_copied(place: Place) -> None:
    if small_runs.account() is None:
        pytest.skip("only root's directories are out of the server's reach")
    found = redis_programs.find_server(None)
    hidden = place.root / "hidden"
    hidden.mkdir(mode=0o700)
    (hidden / found.path.name).write_bytes(found.path.read_bytes())
    (hidden / found.path.name).chmod(0o755)
    with embedded(place, environment(place.storage, bin_dir=str(hidden))) as target:
        ready(target)
        assert target.is_alive()
        exe = Path(f"/proc/{pid_of(target)}/exe").readlink()
        assert not exe.is_relative_to(hidden)
