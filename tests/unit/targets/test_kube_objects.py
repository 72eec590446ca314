"""What is made in a cluster for a server: noted before, taken over, never somebody else's."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.manifests import naming, servers
from groundspeed.targets import kube_objects
from groundspeed.targets.kube_access import Reached
from groundspeed.targets.kube_objects import ServerObjects
from tests.kube_runs import NAME, RUN_ID, Owned, access, planned, pod, put_anchor, suite_text
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_store import Object

CLAIM = "PersistentVolumeClaim"
SERVER = naming.server_name(RUN_ID, "a")


class Made:
    """The objects of a server in a cluster without controllers."""

    def __init__(self, kube: KubeServer, **environment: object) -> None:
        [self.environment] = planned(suite_text({"a": pod(**environment)})).environments
        self.kube = kube
        self.owned = Owned()
        self.told: list[str] = []
        kube.on_exec(self._program)
        self.executed: list[tuple[str, ...]] = []
        self.program: tuple[str, ...] = ("true",)
        anchor = kube.object("ConfigMap", NAME) or put_anchor(kube)
        reached = Reached(host="127.0.0.1", port=1)
        self.access = access(kube.client(), anchor, lambda _: reached, owned=self.owned)
        self.objects = ServerObjects(self.environment, self.access, self.told.append)

    def _program(self, name: str, container: str, argv: tuple[str, ...]) -> tuple[str, ...]:
        self.executed.append((name, container, *argv))
        return self.program

    def put_claim(self, **more: object) -> Object:
        labels = servers.claims_selector(self.environment, run_id=RUN_ID)
        meta = {"name": f"data-{SERVER}-0", "labels": labels, **more}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": {}}
        return self.kube.put(claim)

    def put_pod(self) -> Object:
        labels = servers.pod_labels(self.environment, run_id=RUN_ID)
        return self.kube.put(ready_pod(f"{SERVER}-0", labels=labels, container=servers.CONTAINER))


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer(cnpg=True) as server:
        yield server


def names(kube: KubeServer) -> set[str]:
    found = {f"{one['kind']} {one['metadata']['name']}" for one in kube.objects()}
    return found - {f"ConfigMap {NAME}", f"Job {NAME}"}


def test_it_is_noted_before_it_is_made_and_belongs_to_the_run(kube: KubeServer) -> None:
    made = Made(kube)
    seen: list[set[str]] = []
    kube.on_apply("Service", lambda *_: seen.append({ref.kind for ref in made.owned.noted}))
    assert made.objects.provide() is False
    assert seen == [{"Service", "StatefulSet", "PersistentVolumeClaim"}]
    assert f"data-{SERVER}-0" in {ref.name for ref in made.owned.noted}
    assert names(kube) == {f"Service {SERVER}", f"StatefulSet {SERVER}"}
    for one in (kube.object("Service", SERVER), kube.object("StatefulSet", SERVER)):
        assert one is not None
        assert one["metadata"]["ownerReferences"][0]["name"] == NAME
        assert one["metadata"]["labels"][naming.RUN_LABEL] == RUN_ID


def test_what_is_not_noted_is_not_made(kube: KubeServer) -> None:
    made = Made(kube)

    def refuse(_: object) -> None:
        raise TargetError("no", "no")

    made.owned.own = refuse  # type: ignore[method-assign]
    objects = ServerObjects(
        made.environment,
        access(kube.client(), put_anchor(kube), made.access.reach, owned=made.owned),
        made.told.append,
    )
    with pytest.raises(TargetError):
        objects.provide()
    assert names(kube) == set()


def test_a_server_that_is_there_is_taken_over_as_it_is(kube: KubeServer) -> None:
    made = Made(kube)
    made.objects.provide()
    # Taken down, which is nobody's business here.
    made.kube.change("StatefulSet", SERVER, {"spec": {"replicas": 0}})
    kube.remove("Service", SERVER)
    kube.writes.clear()
    assert made.objects.provide() is True
    assert kube.writes == [f"apply Service/{SERVER}"]


def test_a_server_that_was_made_for_something_else_is_refused(kube: KubeServer) -> None:
    Made(kube).objects.provide()
    with pytest.raises(TargetError, match="was made for something else") as caught:
        Made(kube, settings={"jit": False}).objects.provide()
    assert "groundspeed clean" in caught.value.hint


@pytest.mark.parametrize("kind", ["Service", "StatefulSet"])
def test_what_belongs_to_somebody_else_is_left_alone(kube: KubeServer, kind: str) -> None:
    made = Made(kube)
    version = {"Service": "v1", "StatefulSet": "apps/v1"}[kind]
    theirs = kube.put({"apiVersion": version, "kind": kind, "metadata": {"name": SERVER}})
    with pytest.raises(TargetError, match=f"{kind} {SERVER} is there and does not belong"):
        made.objects.provide()
    made.objects.remove()
    assert kube.object(kind, SERVER) == theirs


def test_what_is_being_deleted_goes_first(kube: KubeServer) -> None:
    made = Made(kube)
    made.put_claim(finalizers=["tests/stay"], deletionTimestamp="2026-01-31T12:00:00Z")
    there: list[bool] = []
    kube.on_apply("StatefulSet", lambda *_: there.append(bool(kube.objects(CLAIM))))

    def go() -> None:
        # Nothing holds it any more.
        kube.change(CLAIM, f"data-{SERVER}-0", {"metadata": {"finalizers": []}})

    timer = threading.Timer(0.3, go)
    timer.start()
    made.objects.provide()
    timer.join()
    assert there == [False]


def test_all_is_removed_by_its_uid_and_forgotten(kube: KubeServer) -> None:
    made = Made(kube)
    made.objects.provide()
    made.put_claim()
    assert made.objects.is_there()
    kube.requests.clear()
    made.objects.remove()
    assert names(kube) == set()
    deletes = [request for request in kube.requests if request.method == "DELETE"]
    assert len(deletes) == 3
    assert all(request.body["preconditions"]["uid"] for request in deletes)
    assert made.owned.noted == []
    assert not made.objects.is_there()
    made.objects.remove()


def test_removal_waits_for_pods_and_says_what_stays(
    kube: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Made(kube)
    made.objects.provide()
    made.put_pod()
    monkeypatch.setattr(kube_objects, "_GONE_LIMIT_S", 0.0)
    with pytest.raises(TargetError, match=f"still there after 0 s: Pod {SERVER}-0"):
        made.objects.remove()
    # It is still known to be ours.
    assert made.owned.noted


def test_data_are_wiped_from_volumes_that_may_stay(kube: KubeServer) -> None:
    made = Made(kube)
    made.objects.provide()
    made.put_pod()
    kube.on_delete("StatefulSet", lambda *_: kube.remove("Pod", f"{SERVER}-0"))
    made.objects.remove()
    [executed] = made.executed
    command = servers.wipe_command(made.environment, run_id=RUN_ID)
    assert executed == (f"{SERVER}-0", servers.CONTAINER, *command)
    assert made.told == []


def test_volumes_that_go_are_not_wiped(kube: KubeServer) -> None:
    made = Made(kube, storage={"gp3": {}, "size": "1GiB"})
    made.objects.provide()
    made.put_pod()
    kube.on_delete("StatefulSet", lambda *_: kube.remove("Pod", f"{SERVER}-0"))
    made.objects.remove()
    assert made.executed == []


def test_what_could_not_be_wiped_is_told_and_removed(kube: KubeServer) -> None:
    made = Made(kube)
    made.objects.provide()
    made.put_pod()
    kube.on_delete("StatefulSet", lambda *_: kube.remove("Pod", f"{SERVER}-0"))
    made.program = ("sh", "-c", "echo 'rm: busy' >&2; exit 1")
    made.objects.remove()
    assert made.told == ["a: data may stay on the volume: rm: busy"]
    assert names(kube) == set()


def test_a_server_that_is_down_cannot_be_wiped_which_is_told(kube: KubeServer) -> None:
    made = Made(kube)
    made.objects.provide()
    made.put_claim()
    made.objects.remove()
    assert made.told == ["a: no pod runs, its data stay on the volume"]


def test_it_is_taken_down_and_up(kube: KubeServer) -> None:
    made = Made(kube)
    made.objects.provide()
    for replicas in (0, 1):
        made.objects.scale(replicas)
        found = kube.object("StatefulSet", SERVER)
        assert found is not None
        assert found["spec"]["replicas"] == replicas


@pytest.mark.parametrize("cluster", ["postgres", "cnpg"])
def test_the_scale_of_its_database_is_told_on_it(kube: KubeServer, cluster: str) -> None:
    made = Made(kube, cluster=cluster)
    made.objects.provide()
    assert made.objects.prepared_scale() is None
    made.objects.note_prepared(100)
    assert made.objects.prepared_scale() == 100
    # It is the same server as before.
    assert made.objects.provide() is True
