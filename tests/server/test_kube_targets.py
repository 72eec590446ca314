"""Servers in a cluster: made, taken over, lost in the middle.

The API server and its controllers are played, PostgreSQL is real.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.errors import TargetError
from groundspeed.manifests import naming, servers
from groundspeed.ports import LoadResult
from groundspeed.targets import installation, sql
from groundspeed.targets.kube_access import Reached, ServerLogin
from groundspeed.targets.kube_server import KubernetesTarget
from groundspeed.targets.kube_service import ServiceTarget
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.loading import LocalLoader
from tests.kube_postgres import KubePostgres, Machine
from tests.kube_runs import NAME, RUN_ID, Owned, access, planned, pod, put_anchor, suite_text
from tests.kube_server import KubeServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import Plan
    from groundspeed.targets.kube_access import ClusterAccess
    from tests.small_runs import Place

PASSWORD = "a secret: of ours"
SERVER = naming.server_name(RUN_ID, "a")


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine(16, PASSWORD) as made:
        yield made


class World:
    """A cluster, and targets in it; each `target` is as one in a process of its own."""

    def __init__(self, kube: KubeServer, machine: Machine, lease: LeaseFile) -> None:
        self.kube = kube
        self.machine = machine
        self.cluster = KubePostgres(kube, machine)
        self.anchor = put_anchor(kube)
        self.lease = lease
        self.told: list[str] = []
        self.owned = Owned()
        self.keeps = False
        self._processes = 0

    def loader(self) -> LocalLoader:
        """Names of a process, as a run has them, carry a number of its own."""
        self._processes += 1
        return LocalLoader(installation.newest(), f"{RUN_ID}-{self._processes}")

    def plan(self, **environment: object) -> Plan:
        return planned(suite_text({"a": pod(**environment)}))

    def access(self, **more: object) -> ClusterAccess:
        made = access(
            self.kube.client(),
            self.anchor,
            self.cluster.reach,
            password=PASSWORD,
            owned=self.owned,
            keep=lambda: self.keeps,
        )
        return msgspec.structs.replace(made, **more)

    def target(self, *, is_warm: bool = False, **environment: object) -> KubernetesTarget:
        [asked] = self.plan(**environment).environments
        return KubernetesTarget(
            asked,
            self.access(),
            self.loader(),
            lease=self.lease,
            tell=self.told.append,
            is_warm=is_warm,
        )

    def ready(self, **environment: object) -> KubernetesTarget:
        target = self.target(**environment)
        target.provide()
        target.prepare(1)
        return target

    def left(self) -> set[str]:
        kinds = ("StatefulSet", "Service", "Pod", "PersistentVolumeClaim")
        return {one["metadata"]["name"] for kind in kinds for one in self.kube.objects(kind)}


@pytest.fixture
def world(place: Place, machine: Machine) -> Iterator[World]:
    del place
    with ExitStack() as stack:
        kube = stack.enter_context(KubeServer())
        lease = stack.enter_context(LeaseFile(RUN_ID))
        made = World(kube, machine, lease)
        yield made
        machine.stop("a")
        machine.empty("a")


def test_it_is_made_measured_and_removed(world: World) -> None:
    target = world.ready()
    target.start()
    assert target.check() == ()
    assert target.is_alive()
    facts = target.server_facts()
    assert facts.version.startswith("16.")
    points = target.watch_points()
    assert points.pod is not None
    assert (points.pod.name, points.pod.claims) == (f"{SERVER}-0", (f"data-{SERVER}-0",))
    assert PASSWORD not in points.conninfo + target.conninfo + repr(world.access())
    storage = target.storage_facts()
    assert storage is not None
    assert (storage.label, storage.emulated) == ("fast", False)
    assert {ref.kind for ref in world.owned.noted} == {
        *("Service", "StatefulSet", "PersistentVolumeClaim")
    }
    target.stop()
    target.remove()
    assert world.left() == set()
    assert world.owned.noted == []
    assert not world.machine.is_running("a")


def test_a_successor_takes_over_server_and_dataset(world: World) -> None:
    first = world.ready()
    world.keeps = True
    first.remove()
    assert f"{SERVER}-0" in world.left()
    world.told.clear()
    second = world.ready()
    assert world.told == ["a: takes over its server", "a: takes over its dataset of scale 1"]
    assert world.cluster.started == [f"{SERVER}-0"]
    assert first.conninfo == second.conninfo
    second.start()
    assert second.check() == ()


def test_a_dataset_that_was_begun_is_made_anew(world: World) -> None:
    first = world.ready()
    world.told.clear()
    # The keys come last.
    with world.machine.connect("a", first._database) as connection:
        connection.execute("ALTER TABLE pgbench_accounts DROP CONSTRAINT pgbench_accounts_pkey")
    second = world.ready()
    assert world.told == ["a: takes over its server"]
    second.start()
    assert second.check() == ()


def test_another_scale_is_made_anew(world: World) -> None:
    world.ready()
    world.told.clear()
    target = world.target()
    target.provide()
    target.prepare(2)
    assert world.told == ["a: takes over its server"]
    target.start()
    assert target.check() == ()


def test_a_pod_that_is_deleted_in_the_middle_spoils_the_trial(world: World) -> None:
    target = world.ready()
    target.start()
    target.check()
    world.cluster.end_pod("a")
    # The next one answers, and would let a load that connects again go on.
    assert world.machine.is_running("a")
    assert not target.is_alive()
    assert target.why_dead() == "its pod was deleted"
    target.stop()
    target.start()
    assert target.check() == ()
    assert target.is_alive()


def test_a_server_that_was_killed_for_memory_says_so(world: World) -> None:
    target = world.ready()
    target.start()
    target.check()
    world.cluster.restart("a", {"exitCode": 137, "reason": "OOMKilled"})
    assert not target.is_alive()
    assert "was killed for its memory" in target.why_dead()


def test_a_restart_is_seen_where_the_api_server_is_away(world: World) -> None:
    target = world.ready()
    target.start()
    target.check()
    world.kube.deny("*", "pods")
    assert target.is_alive()
    world.machine.stop("a")
    world.machine.start("a")
    assert not target.is_alive()
    assert target.why_dead() == "it was started again in the middle of the trial"
    # Nobody needs the API server to go on.
    target.start()
    assert target.check() == ()


def test_buffers_are_filled_once_for_each_start_of_the_server(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[int] = []
    monkeypatch.setattr(sql, "fill_buffers", lambda _, scale: filled.append(scale) or ())
    target = world.ready()
    for _ in range(2):
        target.start()
        target.check()
        target.stop()
    assert filled == [1]
    world.cluster.end_pod("a")
    target.start()
    target.check()
    assert filled == [1, 1]


def test_a_reset_waits_for_the_next_pod(world: World) -> None:
    target = world.ready()
    target.start()
    target.check()
    found = world.kube.object("StatefulSet", SERVER)
    assert found is not None
    world.kube.change("StatefulSet", SERVER, {"spec": {"replicas": 0}})
    world.cluster.end_pod("a")
    assert not target.is_alive()

    def make_another() -> None:
        made = world.kube.change("StatefulSet", SERVER, {"spec": {"replicas": 1}})
        world.kube.written(made)

    timer = threading.Timer(0.3, make_another)
    timer.start()
    target.reset()
    timer.join()
    assert target.check() == ()


def test_a_pod_that_is_taken_away_while_it_is_filled_is_filled_again(world: World) -> None:
    target = world.target()
    target.provide()
    load = target._loader.run

    def lose(*_: object, **__: object) -> LoadResult:
        target._loader.run = load  # type: ignore[method-assign]
        world.cluster.end_pod("a")
        lost = "pgbench: error: server closed the connection unexpectedly"
        return LoadResult(returncode=1, stdout="", stderr=lost, elapsed_s=0.1)

    target._loader.run = lose  # type: ignore[method-assign]
    target.prepare(1)
    assert world.told == ["a: its pod was deleted; its database is filled again"]
    target.start()
    assert target.check() == ()


def test_one_at_a_time_is_down_while_others_are_measured(world: World) -> None:
    target = world.ready(one_at_a_time=True)
    assert not world.machine.is_running("a")
    assert f"data-{SERVER}-0" in world.left()
    target.start()
    assert target.check() == ()
    target.stop()
    assert not world.machine.is_running("a")
    world.cluster.executed.clear()
    target.remove()
    assert world.left() == set()
    # Only a pod that runs can wipe its volume.
    assert servers.wipe_command(world.plan().environments[0], run_id=RUN_ID) in (
        world.cluster.executed
    )


def test_a_warm_server_rests_without_a_checkpoint(world: World) -> None:
    target = world.target(is_warm=True)
    target.provide()
    target.prepare(1)
    target.start()
    target.check()

    def checkpoints() -> object:
        with world.machine.connect("a") as connection:
            return connection.execute("SELECT redo_lsn FROM pg_control_checkpoint()").fetchone()

    before = checkpoints()
    target.stop()
    assert checkpoints() == before
    assert target.is_alive()


def test_another_version_than_was_asked_for_is_refused(world: World) -> None:
    target = world.target(version=17)
    with pytest.raises(TargetError, match="its image has PostgreSQL 16, not 17") as caught:
        target.provide()
    assert "name an image of PostgreSQL 17" in caught.value.hint
    target.remove()
    assert world.left() == set()


def test_without_a_password_nothing_is_made(world: World) -> None:
    [asked] = world.plan().environments
    with pytest.raises(TargetError, match="no password") as caught:
        KubernetesTarget(
            asked,
            world.access(login=None),
            world.loader(),
            lease=world.lease,
            tell=world.told.append,
        )
    assert f"{NAME}-credentials" in caught.value.hint


def test_what_was_never_made_is_removed_without_a_word(world: World) -> None:
    world.target().remove()
    assert world.told == []
    assert [w for w in world.kube.writes if w.startswith("delete")] == []


# -- given by a Service


def service(world: World, login: ServerLogin | None, **more: object) -> ServiceTarget:
    asked = {"name": "db", "secret": "login", **more}
    [environment] = planned(
        suite_text({"given": {"target": "kubernetes", "service": asked}})
    ).environments
    assert environment.cluster is not None
    assert environment.cluster.service is not None
    # As a pod without any right: it asks the API server nothing.
    world.kube.deny("*", "*")
    return ServiceTarget(
        environment,
        environment.cluster.service,
        world.access(
            logins={} if login is None else {"given": login},
            reach=lambda _: Reached(host="127.0.0.1", port=world.machine.port("a")),
        ),
        world.loader(),
        lease=world.lease,
        tell=world.told.append,
    )


OWNER = ServerLogin(user="postgres", password=PASSWORD)


@pytest.fixture
def started(world: World) -> Iterator[World]:
    world.machine.start("a")
    yield world
    world.machine.stop("a")


def test_a_given_server_gets_a_database_and_loses_it(started: World) -> None:
    target = service(started, OWNER)
    target.provide()
    target.prepare(1)
    assert len(started.machine.databases("a")) == 1
    target.start()
    assert target.check() == ()
    assert target.is_alive()
    assert target.storage_facts() is None
    assert target.watch_points().pod is None
    target.remove()
    assert started.machine.databases("a") == set()


def test_a_given_database_is_taken_over(started: World) -> None:
    first = service(started, OWNER)
    first.provide()
    first.prepare(1)
    started.keeps = True
    first.remove()
    second = service(started, OWNER)
    second.provide()
    second.prepare(1)
    assert started.told == ["given: takes over its dataset of scale 1"]
    started.keeps = False
    second.remove()
    assert started.machine.databases("a") == set()


def test_a_given_server_that_was_started_again_spoils_the_trial(started: World) -> None:
    target = service(started, OWNER)
    target.provide()
    target.prepare(1)
    target.start()
    target.check()
    started.machine.stop("a")
    assert not target.is_alive()
    started.machine.start("a")
    assert not target.is_alive()
    assert target.why_dead() == "it was started again in the middle of the trial"
    target.start()
    target.check()
    assert target.is_alive()
    target.remove()


def test_a_database_of_somebody_else_is_not_taken(started: World) -> None:
    target = service(started, OWNER)
    target.provide()
    with started.machine.connect("a") as connection:
        connection.execute(f"COMMENT ON DATABASE {target._database} IS 'precious'")
    with pytest.raises(TargetError, match=r"belongs to somebody else \(precious\)"):
        service(started, OWNER).provide()
    target.remove()
    assert started.machine.databases("a") == {target._database}
    with started.machine.connect("a") as connection:
        connection.execute(f"COMMENT ON DATABASE {target._database} IS NULL")
    # As after a death between creating it and saying whose it is.
    again = service(started, OWNER)
    again.provide()
    again.remove()
    assert started.machine.databases("a") == set()


def test_without_a_login_the_secret_is_named(world: World) -> None:
    with pytest.raises(TargetError, match="of the secret login") as caught:
        service(world, None)
    assert caught.value.hint == "make it with the keys username and password"


def test_a_wrong_password_is_one_line(started: World) -> None:
    wrong = ServerLogin(user="postgres", password="open-sesame")
    with pytest.raises(TargetError, match="password authentication failed") as caught:
        service(started, wrong).provide()
    assert "open-sesame" not in caught.value.message
