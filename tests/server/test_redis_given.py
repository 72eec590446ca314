"""A given Redis: measured as its user may, and left as it was."""

from __future__ import annotations

import signal
import uuid
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from groundspeed.cli import session, suites
from groundspeed.errors import TargetError
from groundspeed.targets import engines
from groundspeed.targets.leases import LeaseFile
from groundspeed.tools import redis_benchmark
from tests.interrupted.driving import driven, traced, wait_until_gone
from tests.leftovers import Watch
from tests.server import given_redis
from tests.server.given_redis import GivenServer, processes_with
from tests.server.redis_targets import (
    embedded,
    environment,
    given,
    load,
    ready,
    surroundings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.ports import Progress, Target
    from tests.small_runs import Place

MARK = redis_benchmark.PASSWORD_MARK


@pytest.fixture
def server() -> Iterator[GivenServer]:
    with given_redis.serve() as made:
        yield made


@contextmanager
def target_of(place: Place, one: EnvironmentPlan, password: str | None) -> Iterator[Target]:
    """A target that is removed; then nothing of it is left on the machine."""
    run_id = f"t{uuid.uuid4().hex[:10]}"
    watch = Watch(place.state, run_id)
    with LeaseFile(run_id) as lease:
        target = engines.maker("redis", surroundings(run_id, lease)).given(one, password)
        try:
            yield target
        finally:
            watch.look()
            target.remove()
    assert watch.left() == []


def test_a_life_leaves_everything_as_it_was(place: Place, server: GivenServer) -> None:
    server.ask("SET", "theirs", "1")
    server.ask("SET", "key:of-theirs", "2")
    before = server.settings()
    one = given(server.socket, preload_keys=50, preload_bytes=100)
    with target_of(place, one, server.password) as target:
        ready(target)
        assert target.server_facts().version.split()[0] in {"Redis", "Valkey"}
        assert target.storage_facts() is None
        assert len(server.keys()) == 2 + 50 + 1
        assert load(target, "set", keyspace=200, requests=3000).returncode == 0
        assert load(target, "incr").returncode == 0
        assert server.ask("DBSIZE") == 2 + 200 + 1 + 1
        target.reset()
        assert server.ask("DBSIZE") == 2 + 50 + 1
        assert server.ask("STRLEN", "key:000000000007") == 100
        load(target, "get", payload=77)
        assert server.ask("STRLEN", "key:__rand_int__") == 77
    assert server.keys() == {b"theirs", b"key:of-theirs"}
    assert server.settings() == before


@pytest.mark.parametrize(
    ("key", "test", "keyspace"),
    [("key:__rand_int__", "set", 0), ("key:000000000003", "set", 10), ("mylist", "lpush", 0)],
)
def test_what_is_not_ours_is_not_written(
    place: Place, server: GivenServer, key: str, test: str, keyspace: int
) -> None:
    server.ask("SET", key, "precious")
    with target_of(place, given(server.socket), server.password) as target:
        target.provide()
        target.prepare(1)
        with pytest.raises(TargetError, match="1 of the keys that the load would write are there"):
            load(target, test, **({"keyspace": keyspace} if keyspace else {}))
    assert server.keys() == {key.encode()}
    assert server.ask("GET", key) == b"precious"


def test_a_user_with_few_rights_is_enough(place: Place, server: GivenServer) -> None:
    rules = ("~key:*", "~groundspeed:*", "+@read", "+@write", "+@connection", "-@dangerous")
    password = server.user("little", *rules)
    url = server.socket.replace("//", "//little@", 1)
    with target_of(place, given(url, password_env="X"), password) as target:
        target.provide()
        target.prepare(1)
        facts = target.server_facts()
        assert facts.version_num >= 60_000
        assert facts.settings == ()
        assert target.check() == ()
        assert [caution.code for caution in target.checkpoint()] == ["no-checkpoint"]
        target.reset_statistics()
        assert load(target, "set", keyspace=100).returncode == 0
        with pytest.raises(TargetError) as caught:
            # counter:* is none of its keys.
            load(target, "incr")
        assert "NOPERM" in caught.value.message
        assert password not in caught.value.message
    assert server.keys() == set()


def test_a_user_who_may_not_mark_what_is_ours_writes_nothing(
    place: Place, server: GivenServer
) -> None:
    password = server.user("less", "~key:*", "+@all")
    url = server.socket.replace("//", "//less@", 1)
    with target_of(place, given(url, password_env="X"), password) as target:
        target.provide()
        with pytest.raises(TargetError) as caught:
            load(target, "set")
        assert "~groundspeed:*" in caught.value.hint
        assert server.keys() == set()


def test_wrong_and_missing_passwords(place: Place, server: GivenServer) -> None:
    with target_of(place, given(server.socket), "wrong") as target:
        with pytest.raises(TargetError, match="WRONGPASS") as caught:
            target.provide()
        assert "password_env" in caught.value.hint
    with target_of(place, given(server.socket), None) as target:
        with pytest.raises(TargetError, match="NOAUTH"):
            target.provide()
        assert target.conninfo == server.socket
    with pytest.raises(TargetError, match="there is no password"):
        target_of(place, given(server.socket.replace("//", "//u@", 1)), None).__enter__()


def test_over_tls(place: Place) -> None:
    with given_redis.serve(tls=True) as server:
        url = f"rediss://localhost:{server.port}"
        trusted = f"{url}?ssl_ca_certs={server.home}/server.crt"
        with target_of(place, given(trusted), server.password) as target:
            ready(target)
            assert target.conninfo.startswith("rediss://default@localhost")
            assert load(target, "set", requests=500).returncode == 0
        assert server.keys() == set()
        with (
            target_of(place, given(url), server.password) as target,
            pytest.raises(TargetError, match="certificate is not trusted"),
        ):
            target.provide()


def test_replicas_and_clusters_are_refused(place: Place, server: GivenServer) -> None:
    server.ask("REPLICAOF", "127.0.0.1", "1")
    with (
        target_of(place, given(server.socket), server.password) as target,
        pytest.raises(TargetError, match="the server is a replica"),
    ):
        target.provide()
    with (
        given_redis.serve(more=("cluster-enabled yes",)) as other,
        target_of(place, given(other.socket), other.password) as target,
        pytest.raises(TargetError, match="the server is of a cluster"),
    ):
        target.provide()


# -- its password is nobody's business


def watched_load(target: Target, password: str) -> list[str]:
    """Look at all processes while a load runs: command lines of the load tool itself."""
    seen: list[str] = []

    def look(_: Progress) -> None:
        assert processes_with(password) == []
        seen.extend(cmdline for _, cmdline in processes_with(MARK))

    load(target, "set", requests=2_000_000, limit_s=1.5, on_progress=look)
    return seen


def test_a_given_password_never_shows(place: Place, server: GivenServer) -> None:
    with target_of(place, given(server.socket), server.password) as target:
        target.provide()
        target.prepare(1)
        seen = watched_load(target, server.password)
        assert any("redis-benchmark" in line and f"-a\0{MARK}\0" in line for line in seen)
        assert server.password not in repr(target.__dict__["_address"])
    assert all(server.password.encode() not in p.read_bytes() for p in place.state.iterdir())


def test_an_own_password_never_shows_nor_lies_on_a_disk(place: Place) -> None:
    one = environment(place.storage, listen="loopback", persistence="aof-everysec")
    with embedded(place, one) as target:
        ready(target)
        password = target.watch_points().password
        assert password is not None
        seen = watched_load(target, password)
        assert any("redis-benchmark" in line and f"-a\0{MARK}\0" in line for line in seen)
        home = target.data_directory.parent
        small = [p for p in home.rglob("*") if p.is_file() and p.stat().st_size < 100_000]
        assert small
        assert all(password.encode() not in path.read_bytes() for path in small)


# -- a groundspeed that was killed

SUITE = """
suite: small
engine: redis
environments:
  one: {environment}
workloads:
  - {{name: write, load: {{test: set, payload: 1kB, keyspace: 500}}, writes: true}}
clients: [2]
measure: {{duration: 5s, warm_up: 1s, repeats: 1, probes: light}}
"""


def killed_run(place: Place, environment: str, moment: str = "progress") -> Watch:
    """Kill a groundspeed at a moment, in the middle of its trial; gives what it owned."""
    suite = place.root / "suite.yaml"
    suite.write_text(SUITE.format(environment=environment))
    _, made = suites.load(str(suite), ())
    run_dir = place.new_run(made)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as groundspeed:
        groundspeed.wait_for(moment)
        watch.look()
        groundspeed.process.send_signal(signal.SIGKILL)
        groundspeed.process.wait()
        for owned in watch.processes:
            wait_until_gone(owned.pid)
    return watch


@pytest.mark.parametrize("moment", ["note one: 1,000 of", "phase check", "progress"])
def test_a_server_of_ours_dies_with_us_and_is_swept_away(place: Place, moment: str) -> None:
    options = "{persistence: aof everysec, preload: {keys: 1000, bytes: 100B}}"
    watch = killed_run(
        place,
        f"{{target: embedded, storage: {{directory: {place.storage}}}, options: {options}}}",
        moment,
    )
    assert watch.processes
    assert list(place.storage.iterdir()) != []
    assert session.sweep() == ()
    assert watch.left() == []
    assert list(place.storage.iterdir()) == []


def test_what_a_killed_run_wrote_on_a_given_server_is_swept_away(place: Place) -> None:
    with given_redis.serve() as server:
        server.ask("CONFIG", "SET", "requirepass", "")
        open_server = GivenServer(home=server.home, port=server.port, password="any")
        open_server.ask("SET", "theirs", "1")
        open_server.ask("SET", "key:of-theirs", "2")
        killed_run(place, f"{{target: server, dsn: '{server.socket}'}}")
        assert len(open_server.keys()) > 3
        assert session.sweep() == ()
        assert open_server.keys() == {b"theirs", b"key:of-theirs"}
