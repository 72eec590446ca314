"""The pods of a server: what is waited for, what is told meanwhile, and what became of one."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.manifests import naming, servers
from groundspeed.targets.kube_access import Reached
from groundspeed.targets.kube_pods import PodMark, ServerPods
from tests.kube_runs import RUN_ID, access, planned, pod, put_anchor, suite_text
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kube_store import Object

NOWHERE = Reached(host="127.0.0.1", port=1)


class Seen:
    """A server's pods, and what was told while they were waited for."""

    def __init__(self, kube: KubeServer, **environment: object) -> None:
        plan = planned(suite_text({"a": pod(**environment)}))
        [self.environment] = plan.environments
        anchor = put_anchor(kube)
        self.kube = kube
        self.access = access(kube.client(), anchor, lambda _: NOWHERE)
        self.pods = ServerPods(self.environment, self.access)
        self.name = naming.server_name(RUN_ID, "a")
        self.told: list[str] = []
        self.nudged = 0

    def put_main(self, **more: object) -> Object:
        made = servers.server_objects(
            self.environment, run_id=RUN_ID, owner=self.access.owner, credentials="c"
        )
        return self.kube.put({**made[-1], **more})

    def put_pod(self, name: str | None = None, /, **status: object) -> Object:
        found = ready_pod(
            name or f"{self.name}-0",
            labels=servers.primary_labels(self.environment, run_id=RUN_ID),
            container=servers.CONTAINER,
        )
        found["status"] |= status
        return self.kube.put(found)

    def put_event(self, about: Object, reason: str, message: str) -> None:
        meta = about["metadata"]
        self.kube.put(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{meta['name']}.{len(self.kube.objects('Event'))}"},
                "involvedObject": {
                    "kind": about["kind"],
                    "name": meta["name"],
                    "uid": meta["uid"],
                },
                "type": "Warning",
                "reason": reason,
                "message": message,
                "lastTimestamp": "2026-01-31T12:00:00Z",
            }
        )

    def wait(self, limit_s: float) -> Object:
        def nudge() -> None:
            self.nudged += 1

        return self.pods.wait_until_ready(limit_s, self.told.append, nudge)


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer(cnpg=True) as server:
        yield server


PENDING = {
    "phase": "Pending",
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/3 nodes are available: 3 Insufficient cpu.",
        }
    ],
    "containerStatuses": [],
}


def image_that_is_not_there(name: str) -> dict[str, object]:
    waiting = {"reason": "ErrImageNeverPull", "message": "not present with pull policy of Never"}
    status = {"name": name, "image": "x", "ready": False, "state": {"waiting": waiting}}
    return {"phase": "Pending", "conditions": [], "containerStatuses": [status]}


def test_a_pod_that_is_ready_is_given(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    put = seen.put_pod()
    assert seen.wait(5)["metadata"]["uid"] == put["metadata"]["uid"]
    assert (seen.told, seen.nudged) == ([], 0)


def test_what_is_waited_for_is_told_once_and_a_later_pod_is_seen(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    seen.put_pod(**PENDING)

    def tell(message: str) -> None:
        seen.told.append(message)
        threading.Thread(target=seen.put_pod).start()

    found = seen.pods.wait_until_ready(30, tell, lambda: None)
    assert found["status"]["phase"] == "Running"
    [told] = seen.told
    assert told.startswith("a: waiting: the pod")
    assert "3 Insufficient cpu" in told


def test_a_trouble_that_is_over_is_no_line_of_its_own(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    seen.put_pod(**PENDING)
    starting = {"phase": "Pending", "conditions": [], "containerStatuses": []}

    def nudge() -> None:
        # At each look another step: the same twice, then nothing to tell twice, then ready.
        seen.nudged += 1
        if seen.nudged == 3:
            seen.put_pod(**starting)
        if seen.nudged == 5:
            seen.put_pod()

    seen.pods.wait_until_ready(60, seen.told.append, nudge)
    assert len(seen.told) == 1


def test_what_does_not_pass_is_an_error_at_once(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    seen.put_pod(**image_that_is_not_there(servers.CONTAINER))
    with pytest.raises(TargetError, match=r"^a: the image x of the pod .* cannot be had"):
        seen.wait(600)


def test_after_its_time_the_last_trouble_is_the_error(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    seen.put_pod(**PENDING)
    with pytest.raises(TargetError, match="3 Insufficient cpu") as caught:
        seen.wait(0)
    assert caught.value.message.startswith("a: its server is not ready after 0 s")
    assert seen.nudged == 1


def test_a_claim_without_a_class_is_an_error(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    labels = servers.claims_selector(seen.environment, run_id=RUN_ID)
    claim = kube.put(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "labels": labels},
            "spec": {"storageClassName": "fast"},
            "status": {"phase": "Pending"},
        }
    )
    seen.put_event(claim, "ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found')
    with pytest.raises(TargetError, match="names the storage class fast"):
        seen.wait(600)


def test_a_quota_is_told(kube: KubeServer) -> None:
    seen = Seen(kube)
    made = seen.put_main()
    seen.put_event(made, "FailedCreate", 'pods "x-0" is forbidden: exceeded quota: small')
    with pytest.raises(TargetError, match="exceeded quota: small"):
        seen.wait(0)


def test_without_any_sign_it_is_said_where_to_look(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    with pytest.raises(TargetError, match="nothing tells why") as caught:
        seen.wait(0)
    assert caught.value.hint == "kubectl describe statefulset"


def test_all_instances_of_a_cluster_are_waited_for(kube: KubeServer) -> None:
    seen = Seen(kube, cluster="cnpg", instances=2)
    seen.put_main(status={"phase": "Setting up primary", "readyInstances": 1})
    seen.put_pod(f"{seen.name}-1")
    with pytest.raises(TargetError, match="not ready"):
        seen.wait(0)
    assert seen.nudged == 1
    ready = {"type": "Ready", "status": "True"}
    seen.put_main(status={"phase": "Cluster in healthy state", "conditions": [ready]})
    assert seen.wait(0)["metadata"]["name"] == f"{seen.name}-1"


def test_a_cluster_that_nobody_makes_is_told(kube: KubeServer) -> None:
    seen = Seen(kube, cluster="cnpg")
    seen.put_main()
    with pytest.raises(TargetError, match="nobody makes the Cluster"):
        seen.wait(0)


def test_it_is_down_when_no_pod_is_left(kube: KubeServer) -> None:
    seen = Seen(kube)
    seen.put_main()
    put = seen.put_pod()
    with pytest.raises(TargetError, match="did not end within 0 s"):
        seen.pods.wait_until_down(0)
    threading.Thread(target=lambda: kube.remove("Pod", put["metadata"]["name"])).start()
    seen.pods.wait_until_down(30)
    assert kube.objects("Pod") == []


# -- what became of a pod


def marked(seen: Seen) -> PodMark:
    seen.put_main()
    seen.put_pod()
    mark = seen.pods.mark()
    assert mark is not None
    return mark


def test_nothing_became_of_a_pod_that_runs_on(kube: KubeServer) -> None:
    seen = Seen(kube)
    assert seen.pods.why_gone(marked(seen)) is None


def test_a_pod_that_is_another_one_was_deleted(kube: KubeServer) -> None:
    seen = Seen(kube)
    mark = marked(seen)
    kube.remove("Pod", mark.name)
    assert seen.pods.why_gone(mark) == "its pod was deleted"
    seen.put_pod()
    assert seen.pods.why_gone(mark) == "its pod was deleted"
    assert seen.pods.mark() != mark


def test_an_eviction_is_told_by_its_events(kube: KubeServer) -> None:
    seen = Seen(kube)
    mark = marked(seen)
    found = kube.object("Pod", mark.name)
    assert found is not None
    seen.put_event(found, "Evicted", "The node was low on resource: memory.")
    kube.remove("Pod", mark.name)
    assert seen.pods.why_gone(mark) == (
        "its pod was taken away: Evicted: The node was low on resource: memory"
    )


def test_an_evicted_pod_tells_itself(kube: KubeServer) -> None:
    seen = Seen(kube)
    mark = marked(seen)
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "low on memory", "conditions": []}
    kube.change("Pod", mark.name, {"status": evicted})
    why = seen.pods.why_gone(mark)
    assert why == f"the pod {mark.name} was evicted: low on memory"


def test_a_drain_is_told(kube: KubeServer) -> None:
    seen = Seen(kube)
    mark = marked(seen)
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    change = {
        "metadata": {"finalizers": ["tests/stay"], "deletionTimestamp": "2026-01-31T12:00:00Z"},
        "status": {"conditions": [target]},
    }
    kube.change("Pod", mark.name, change)
    assert seen.pods.why_gone(mark) == (
        f"the pod {mark.name} is taken away: Eviction API: evicting"
    )


def test_a_container_that_was_killed_for_memory_is_told_with_its_limit(kube: KubeServer) -> None:
    seen = Seen(kube)
    mark = marked(seen)
    limits = {"memory": str(4 * 1024**3)}
    kube.change(
        "Pod",
        mark.name,
        {
            "spec": {"containers": [{"name": servers.CONTAINER, "resources": {"limits": limits}}]},
            "status": {
                "containerStatuses": [
                    {
                        "name": servers.CONTAINER,
                        "restartCount": 1,
                        "state": {"running": {}},
                        "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                    }
                ]
            },
        },
    )
    assert seen.pods.why_gone(mark) == (
        f"the container {servers.CONTAINER} of the pod {mark.name} was killed for its memory:"
        " its limit is 4GiB"
    )


def test_a_container_that_ended_is_told(kube: KubeServer) -> None:
    seen = Seen(kube)
    mark = marked(seen)
    ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "PANIC: no room"}}
    status = {"name": servers.CONTAINER, "restartCount": 0, "state": ended}
    kube.change("Pod", mark.name, {"status": {"containerStatuses": [status]}})
    why = seen.pods.why_gone(mark)
    assert why is not None
    assert "ended with code 1: PANIC: no room" in why


def test_another_primary_is_told(kube: KubeServer) -> None:
    seen = Seen(kube, cluster="cnpg", instances=2)
    mark = marked(seen)
    role = {"metadata": {"labels": {"cnpg.io/instanceRole": "replica"}}}
    kube.change("Pod", mark.name, role)
    assert seen.pods.why_gone(mark) == "another instance became the primary"
