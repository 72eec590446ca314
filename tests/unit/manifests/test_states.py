"""Statuses as a Kubernetes 1.34 and a CloudNativePG 1.29 had them when they were provoked."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.manifests import states

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object

SEEN = Path(__file__).parent / "states"
AFFINITY = "didn't match Pod's node affinity/selector"


def seen(name: str) -> tuple[Object, list[Object]]:
    found = json.loads((SEEN / f"{name}.json").read_text())
    return found["object"], found["events"]


def trouble_of(name: str) -> states.Trouble | None:
    found, events = seen(name)
    kind = name.split("-", maxsplit=1)[0]
    if kind == "pod":
        return states.pod_trouble(found, events)
    if kind == "claim":
        return states.claim_trouble(found, events)
    return states.job_trouble(found) if kind == "job" else states.cluster_trouble(found)


# Name: reason, whether it is final, a part of the message, a part of the hint.
TOLD = {
    "pod-too-many-cores": ("unschedulable", False, "1 Insufficient cpu", "asks for 500 cpu"),
    "pod-too-much-memory": ("unschedulable", False, "hugepages-2Mi", "vm.nr_hugepages"),
    "pod-no-such-node": ("unschedulable", False, AFFINITY, "disk=fast"),
    "pod-not-apart": ("unschedulable", False, "anti-affinity", "one_at_a_time"),
    "pod-unbound-claim": ("unschedulable", False, "unbound", "describe pvc"),
    "pod-no-claim": ("unschedulable", False, "nobody-made-it", "describe pvc"),
    "pod-no-volume": ("unschedulable", False, "available persistent volumes", "kubectl get pv"),
    "pod-volume-elsewhere": ("unschedulable", False, "node affinity", "WaitForFirstConsumer"),
    "pod-image-pull": ("image-pull", False, "connection refused", "reach its registry"),
    "pod-image-never": ("image-pull", True, "k8slab.local/postgres:99", "IfNotPresent"),
    "pod-image-name": ("image-pull", True, "must be lowercase", "correct the name"),
    "pod-missing-secret": ("container-not-made", True, 'secret "not-there"', "make that Secret"),
    "pod-missing-secret-volume": ("volume-not-mounted", True, "not-there", "Secret not-there"),
    "pod-runs-as-root": ("container-not-made", True, "will run as root", "user: 999"),
    "pod-no-directory": ("volume-not-mounted", True, "/mnt/not-there", "make the directory"),
    "pod-out-of-memory": ("oom-killed", True, "its limit is 32Mi", "resources.memory"),
    "pod-crash-loop": ("crash-loop", True, "FATAL: invalid value", "correct the settings"),
    "pod-no-program": ("not-started", True, "executable file not found", "take an image"),
    "pod-init-fails": ("crash-loop", True, "container initdb", "by its number"),
    "pod-cnpg-initdb-failed": ("ended", False, "ended with code 1", "kubectl logs"),
    "pod-evicted": ("evicted", True, "exceeds the limit", "own disk"),
    "pod-deadline": ("deadline-exceeded", True, "out of its time", "longer time"),
    "claim-unknown-class": ("no-storage-class", True, "not-there", "get storageclass"),
    "claim-no-class": ("no-volume", True, "no storage class is set", "name a storage class"),
    "claim-no-driver": ("no-provisioner", False, "ebs.csi.aws.com", "CSI driver"),
    "job-backoff": ("backoff-limit", True, "job backoff", "logs job/backoff"),
    "job-late": ("deadline-exceeded", True, "out of its time", "logs job/late"),
    "job-refused": ("pod-failure-policy", True, "exit code 3", "logs job/refused"),
    "cluster-no-catalog": ("image-catalog", True, "ImageCatalog/none not found", "an image"),
    "cluster-no-plugin": ("unknown-plugin", True, "not.there", "install the plugin"),
}


@pytest.mark.parametrize("name", TOLD)
def test_what_was_provoked_is_named(name: str) -> None:
    reason, is_final, message, hint = TOLD[name]
    found = trouble_of(name)
    assert found is not None
    assert (found.reason, found.is_final) == (reason, is_final)
    assert message in found.message
    assert hint in found.hint
    for line in (found.message, found.hint):
        assert "\n" not in line
        assert not line.endswith(".")


@pytest.mark.parametrize(
    "name",
    [
        "pod-ready",
        "claim-waits-for-pod",
        "claim-bound",
        "job-done",
        "cluster-healthy",
        "cluster-setting-up",
    ],
)
def test_what_is_well_or_on_its_way_is_no_trouble(name: str) -> None:
    assert trouble_of(name) is None


def test_every_status_that_was_seen_is_judged() -> None:
    judged = {*TOLD, "pod-ready", "claim-waits-for-pod", "claim-bound", "job-done"}
    names = {path.stem for path in SEEN.glob("*.json")}
    assert names == judged | {"cluster-healthy", "cluster-setting-up"}


def test_ready_means_serving_and_staying() -> None:
    pod, _ = seen("pod-ready")
    assert states.is_ready(pod)
    leaving = copy.deepcopy(pod)
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert not states.is_ready(leaving)
    assert states.pod_trouble(leaving, []) is None
    assert not states.is_ready(seen("pod-crash-loop")[0])
    assert states.is_cluster_ready(seen("cluster-healthy")[0])
    assert not states.is_cluster_ready(seen("cluster-setting-up")[0])


def test_a_pod_that_was_only_just_made_is_no_trouble() -> None:
    assert states.pod_trouble({"metadata": {"name": "a"}, "spec": {"containers": []}}, []) is None


def test_a_failed_pod_is_not_final_where_its_maker_makes_another() -> None:
    pod, events = seen("pod-evicted")
    pod["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "controller": True}]
    found = states.pod_trouble(pod, events)
    assert found is not None
    assert not found.is_final


def restarted(name: str, count: int) -> Object:
    """Let a container that ended over and over run again, after `count` restarts."""
    pod, _ = seen(name)
    (state,) = pod["status"]["containerStatuses"]
    state |= {"state": {"running": {}}, "restartCount": count}
    return pod


def test_one_that_runs_again_may_still_come_to_serve() -> None:
    found = states.pod_trouble(restarted("pod-out-of-memory", 7), [])
    assert found is not None
    assert (found.reason, found.is_final) == ("oom-killed", False)


def test_how_a_server_ended_is_told_when_it_serves_again() -> None:
    pod = restarted("pod-out-of-memory", 1)
    pod["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    assert states.pod_trouble(pod, []) is None
    found = states.last_ending(pod)
    assert found is not None
    assert found.reason == "oom-killed"
    assert states.restart_count(pod) == 1
    assert states.last_ending(seen("pod-ready")[0]) is None


def test_a_limit_in_bytes_is_told_as_people_write_it() -> None:
    pod, events = seen("pod-out-of-memory")
    pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = str(512 * 1024**2)
    found = states.pod_trouble(pod, events)
    assert found is not None
    assert "its limit is 512MiB" in found.message


def test_a_drained_node_is_told() -> None:
    pod, _ = seen("pod-ready")
    assert states.disruption(pod) is None
    pod["status"]["conditions"].append(
        {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
    )
    found = states.disruption(pod)
    assert found is not None
    assert "evicting" in found.message
    assert "drained" in found.hint


def untolerated(message: str) -> Object:
    return {
        "metadata": {"name": "a"},
        "spec": {"containers": []},
        "status": {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": message,
                }
            ],
        },
    }


# As the sources of Kubernetes have them; one node cannot be made to say them all.
@pytest.mark.parametrize(
    ("message", "hint"),
    [
        (
            (
                "0/3 nodes are available: 3 node(s) had untolerated taint {db: true}. preemption:"
                " 0/3 nodes are available: 3 Preemption is not helpful for scheduling."
            ),
            "placement.tolerations",
        ),
        ("0/3 nodes are available: 3 node(s) had volume node affinity conflict.", "its volume"),
        ("0/1 nodes are available: 1 node(s) were unschedulable.", "cordoned"),
        ("0/1 nodes are available: 1 node(s) exceed max volume count.", "as many volumes"),
        ("0/1 nodes are available: something new.", "kubectl describe pod a"),
    ],
)
def test_other_words_of_the_scheduler(message: str, hint: str) -> None:
    found = states.pod_trouble(untolerated(message), [])
    assert found is not None
    assert hint in found.hint
    assert "preemption" not in found.message


def waiting(reason: str, message: str) -> Object:
    state = {"name": "postgres", "image": "p:1", "state": {"waiting": {}}}
    state["state"]["waiting"] = {"reason": reason, "message": message}
    return {
        "metadata": {"name": "a"},
        "spec": {"containers": []},
        "status": {"phase": "Pending", "containerStatuses": [state]},
    }


def test_why_an_image_is_waited_for_was_told_in_an_event() -> None:
    pod = waiting("ImagePullBackOff", 'Back-off pulling image "p:1"')
    said = 'Failed to pull image "p:1": rpc error: code = NotFound desc = failed to pull and unpack'
    event = {
        "reason": "Failed",
        "message": f'{said} image "p:1": failed to resolve reference "p:1": p:1: not found',
        "involvedObject": {"name": "a"},
    }
    found = states.pod_trouble(pod, [event])
    assert found is not None
    assert found.message.endswith("p:1: not found")
    assert found.is_final
    assert "the tag" in found.hint


@pytest.mark.parametrize("said", ["unauthorized: no", "403 Forbidden", "pull access denied for p"])
def test_a_registry_that_wants_credentials(said: str) -> None:
    found = states.pod_trouble(waiting("ErrImagePull", said), [])
    assert found is not None
    assert found.is_final
    assert "imagePullSecret" in found.hint


def test_a_cluster_that_nobody_looks_at() -> None:
    found = states.cluster_trouble({"metadata": {"name": "c"}})
    assert found is not None
    assert found.reason == "no-operator"
    assert not found.is_final


def test_a_driver_that_is_not_on_a_new_node_yet_is_waited_for() -> None:
    pod = waiting("ContainerCreating", "")
    event = {
        "type": "Warning",
        "reason": "FailedMount",
        "message": "driver name x not found in the list of registered CSI drivers",
        "involvedObject": {"name": "a"},
    }
    found = states.pod_trouble(pod, [event])
    assert found is not None
    assert (found.reason, found.is_final) == ("volume-not-mounted", False)
    later = {"type": "Normal", "reason": "Pulled", "involvedObject": {"name": "a"}}
    assert states.pod_trouble(pod, [event, {**later, "lastTimestamp": "2027"}]) is None


def test_long_words_keep_their_ends() -> None:
    found = states.pod_trouble(waiting("ErrImagePull", f"begin {'x ' * 400}the end."), [])
    assert found is not None
    assert "begin" in found.message
    assert found.message.endswith("the end")
    assert len(found.message) < 400
