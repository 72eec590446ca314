"""The pods of the load generators: which are waited for, and what became of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.errors import TargetError
from groundspeed.manifests import naming
from groundspeed.targets import generator_pods
from groundspeed.targets.generator_job import ensure_generators, remove_generators
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.kube.client import Client
    from groundspeed.targets.generator_pods import GeneratorPod

RUN_ID = "20260131-120000-several"
LABELS = naming.labels(RUN_ID, "generator")
INDEX = "batch.kubernetes.io/job-completion-index"


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer() as server:
        server.put(job())
        yield server


@pytest.fixture
def api(kube: KubeServer) -> Client:
    return kube.client()


def job(**status: object) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "load", "namespace": "bench", "labels": dict(LABELS)},
        "spec": {"completions": 3},
        "status": status,
    }


def pod(number: int, *, node: str = "node-1", attempt: str = "a", **labels: str) -> dict[str, Any]:
    # A Job of an older cluster has the number as an annotation alone.
    made = ready_pod(
        f"load-{number}-{attempt}", labels={**LABELS, **labels}, container="generator", node=node
    )
    made["metadata"]["annotations"] = {INDEX: str(number)}
    return made


def starting(number: int, **waiting: str) -> dict[str, Any]:
    made = pod(number)
    waits = {"reason": "ContainerCreating", **waiting}
    made["status"] = {
        "phase": "Pending",
        "containerStatuses": [
            {"name": "generator", "ready": False, "restartCount": 0, "state": {"waiting": waits}}
        ],
    }
    return made


def ready(api: Client, told: list[str] | None = None) -> tuple[GeneratorPod, ...]:
    tell = ([] if told is None else told).append
    return generator_pods.ready_pods(api, job(), run_id=RUN_ID, count=3, tell=tell)


def test_ready_ones_come_in_the_order_of_their_numbers(kube: KubeServer, api: Client) -> None:
    for number in (2, 0, 1):
        kube.put(pod(number, node=f"node-{number}"))
    leaving = pod(1, attempt="b")
    leaving["metadata"]["finalizers"] = ["still/there"]
    kube.put(leaving)
    kube.remove("Pod", "load-1-b")
    kube.put(pod(0, attempt="other", **{naming.RUN_LABEL: "another"}))
    told: list[str] = []
    found = ready(api, told)
    assert [(each.name, each.index, each.node) for each in found] == [
        (f"load-{number}-a", number, f"node-{number}") for number in range(3)
    ]
    assert {each.container for each in found} == {"generator"}
    assert told == []


def test_those_that_start_are_waited_for(kube: KubeServer, api: Client) -> None:
    """Each is ready only once it was told that it is waited for."""
    kube.put(pod(0))
    kube.put(starting(1))
    told: list[str] = []

    class Told(list[str]):
        def append(self, line: str) -> None:
            told.append(line)
            kube.put(pod(len(told)))

    ready(api, Told())
    assert told == [
        "waiting for 2 of 3 load generators",
        "waiting for 1 of 3 load generators",
    ]


def test_a_trouble_that_does_not_pass_is_told_at_once(kube: KubeServer, api: Client) -> None:
    """Also behind one that does: a pod that failed, and was replaced."""
    failed = pod(0, attempt="failed")
    failed["metadata"]["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "load", "uid": "u", "controller": True}
    ]
    failed["status"] = {"phase": "Failed", "reason": "Evicted", "message": "low on memory"}
    kube.put(failed)
    kube.put(starting(0, reason="InvalidImageName", message="it is no name"))
    with pytest.raises(TargetError, match=r"load generators: .*no name") as caught:
        ready(api)
    assert caught.value.hint


def test_a_job_that_failed_makes_no_more_pods(kube: KubeServer, api: Client) -> None:
    condition = {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}
    kube.put(job(conditions=[condition]))
    with pytest.raises(TargetError, match=r"load generators: .*more often than they are retried"):
        ready(api)


def test_a_job_that_is_gone_is_said_to_be(kube: KubeServer, api: Client) -> None:
    kube.remove("Job", "load")
    with pytest.raises(TargetError, match="the Job of the load generators is gone"):
        ready(api)


def test_the_job_is_made_once_and_taken_away(kube: KubeServer, api: Client) -> None:
    ensure_generators(api, job())
    assert kube.writes == []
    remove_generators(api, job())
    assert kube.object("Job", "load") is None
    remove_generators(api, job())
    ensure_generators(api, job())
    assert kube.writes == ["delete Job/load", "apply Job/load"]


def lost(kube: KubeServer, api: Client, change: dict[str, Any] | None) -> str | None:
    """What is said of the second of three after something happened to it."""
    for number in range(3):
        kube.put(pod(number))
    mine = ready(api)[1]
    if change is not None:
        kube.change("Pod", mine.name, change)
    return generator_pods.why_lost(api, mine)


def test_one_that_lives_on_is_not_lost(kube: KubeServer, api: Client) -> None:
    assert lost(kube, api, None) is None


def test_one_that_is_drained_or_failed_says_why(kube: KubeServer, api: Client) -> None:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    told = lost(kube, api, {"status": {"conditions": [condition]}})
    assert told == "the pod load-1-a is taken away: Eviction API: evicting"
    status = {"phase": "Failed", "reason": "Evicted", "message": "low on memory", "conditions": []}
    assert lost(kube, api, {"status": status}) == "the pod load-1-a was evicted: low on memory"


def test_one_that_is_gone_or_another_is_lost(kube: KubeServer, api: Client) -> None:
    for number in range(3):
        kube.put(pod(number))
    mine = ready(api)[1]
    kube.remove("Pod", mine.name)
    assert generator_pods.why_lost(api, mine) == "its pod is gone"
    kube.put(pod(1))
    assert generator_pods.why_lost(api, mine) == "its pod is gone"


def test_an_api_server_that_refuses_is_told_too(kube: KubeServer, api: Client) -> None:
    for number in range(3):
        kube.put(pod(number))
    mine = ready(api)[1]
    kube.deny("get", "pods")
    assert "may not" in (generator_pods.why_lost(api, mine) or "")


def test_nodes_are_those_of_running_servers_of_one_environment(
    kube: KubeServer, api: Client
) -> None:
    for name, slug, phase in (
        ("a-0", "a", "Running"),
        ("a-1", "a", "Running"),
        ("a-init", "a", "Succeeded"),
        ("b-0", "b", "Running"),
    ):
        labels = naming.labels(RUN_ID, "server", slug)
        made = ready_pod(name, labels=labels, node=f"node-of-{name}")
        made["status"]["phase"] = phase
        kube.put(made)
    found = generator_pods.server_nodes(api, run_id=RUN_ID, environment_slug="a")
    assert found == {"node-of-a-0", "node-of-a-1"}
    assert generator_pods.server_nodes(api, run_id=RUN_ID, environment_slug="c") == frozenset()
