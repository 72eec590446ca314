from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.ports import PodPlace
from groundspeed.probes import cluster_facts
from groundspeed.probes.cluster_groups import Group
from groundspeed.record.cluster import InstanceFacts, ReplicaFacts
from tests.kube_server import ready_pod
from tests.unit.probes.captured_cluster import NODE, POINTS, RUNNER, SERVER, cluster, telling

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.record import ClusterFacts
    from tests.kube_server import KubeServer

OWN = Group(version=2, cpuset="4-5")


@pytest.fixture
def server() -> Iterator[KubeServer]:
    with cluster() as running:
        yield running


def ask(server: KubeServer, place: PodPlace | None = SERVER) -> ClusterFacts:
    points = msgspec.structs.replace(POINTS, pod=place)
    return cluster_facts.ask(server.client(), points, RUNNER, own=lambda: OWN)


def missed(facts: ClusterFacts) -> dict[str, str]:
    return {absent.what: absent.reason for absent in facts.absent}


def test_all_of_a_real_cluster_is_told(server: KubeServer) -> None:
    facts = ask(server)

    assert missed(facts) == {}
    assert facts.kubernetes_version == "1.34.4"
    assert facts.server is not None
    assert facts.server.node.name == NODE
    assert (facts.server.node.cpu_manager, facts.server.node.topology_manager) == ("none", "none")
    assert (facts.server.qos, facts.server.cpuset, facts.server.group_version) == (
        "Burstable",
        "0-1",
        1,
    )
    assert facts.client is not None
    assert (facts.client.qos, facts.client.cpuset) == ("Guaranteed", "4-5")
    assert facts.is_same_node is True
    assert facts.operator is None


def test_a_volume_is_told_with_its_class(server: KubeServer) -> None:
    (volume,) = ask(server).volumes

    assert (volume.claim, volume.size_bytes) == ("data-pg-0", 2 * 1024**3)
    assert volume.access_modes == ("ReadWriteOnce",)
    assert volume.provisioner == "kubernetes.io/no-provisioner"
    assert volume.reclaim_policy == "Retain"
    assert volume.handle == "/mnt/disks/bench-pv-0"
    assert volume.longhorn is None


def test_a_volume_of_longhorn_is_told_with_its_replicas(server: KubeServer) -> None:
    place = msgspec.structs.replace(SERVER, claims=("data-pg-0", "replicated"))

    volume = ask(server, place).volumes[1]

    assert volume.parameters == (
        ("dataLocality", "disabled"),
        ("fsType", "ext4"),
        ("numberOfReplicas", "2"),
        ("staleReplicaTimeout", "30"),
    )
    assert (volume.filesystem, volume.mount_options) == ("ext4", ("noatime",))
    assert volume.longhorn is not None
    assert volume.longhorn.engine_image == "longhorn-engine:v1.9.1"
    assert (volume.longhorn.robustness, volume.longhorn.replica_count) == ("degraded", 2)
    assert volume.longhorn.replicas == (
        ReplicaFacts(
            name="pvc-5f0c9f5e-r-1a2b3c4d",
            node=NODE,
            disk="/var/lib/longhorn/",
            is_running=True,
        ),
        ReplicaFacts(
            name="pvc-5f0c9f5e-r-5e6f7a8b",
            node="other",
            disk="/var/lib/longhorn/",
            is_running=False,
        ),
    )


def test_secrets_of_a_class_are_not_told(server: KubeServer) -> None:
    change = {"parameters": {"csi.storage.k8s.io/node-publish-secret-name": "weka"}}
    server.change("StorageClass", "bench-local", change)

    assert ask(server).volumes[0].parameters == ()


def test_the_operator_of_a_cluster_is_told(server: KubeServer) -> None:
    place = PodPlace(namespace="bench", name="one-1", container="postgres", claims=("one-1",))

    facts = ask(server, place)

    assert facts.operator is not None
    assert facts.operator.version == "1.29.0"
    assert (facts.operator.cluster, facts.operator.primary) == ("one", "one-1")
    assert facts.operator.instance_count == 1
    assert facts.operator.instances == (InstanceFacts(pod="one-1", node=NODE),)


def test_generators_of_the_run_tell_where_load_is_made(server: KubeServer) -> None:
    labels = {"groundspeed/run": "20260131-120000-quick", "groundspeed/role": "generator"}
    for place, node in enumerate(("node-b", "node-c")):
        server.put(ready_pod(f"load-{place}", labels=labels, node=node))
    server.put(ready_pod("stranger", labels={"groundspeed/role": "generator"}, node=NODE))

    facts = ask(server)

    assert facts.generator_nodes == ("node-b", "node-c")
    assert facts.is_same_node is False


def test_who_may_see_one_namespace_alone_is_told_what_is_missing(server: KubeServer) -> None:
    for verb, resource, group in (
        ("get", "nodes", ""),
        ("get", "persistentvolumes", ""),
        ("get", "storageclasses", "storage.k8s.io"),
        ("get", "pods/exec", ""),
    ):
        server.deny(verb, resource, group=group)
    server.fail_next("GET", "/proxy/configz", 403)

    facts = ask(server)

    assert missed(facts) == {
        "cluster-node": "not allowed",
        "cluster-kubelet": "not allowed",
        "cluster-inside": "not allowed",
        "cluster-volume": "not allowed",
        "cluster-storage-class": "not allowed",
    }
    assert facts.server is not None
    assert (facts.server.node.name, facts.server.node.kernel) == (NODE, None)
    assert (facts.volumes[0].class_name, facts.volumes[0].provisioner) == ("bench-local", None)
    assert facts.volumes[0].parameters is None


def test_a_claim_tells_its_provisioner_where_the_class_may_not_be_read(server: KubeServer) -> None:
    server.deny("get", "storageclasses", group="storage.k8s.io")
    server.deny("get", "persistentvolumes")
    place = msgspec.structs.replace(SERVER, claims=("replicated",))

    (volume,) = ask(server, place).volumes

    assert (volume.provisioner, volume.parameters) == ("driver.longhorn.io", None)
    assert volume.longhorn is not None


def test_a_given_server_without_a_pod_tells_of_its_clients_alone(server: KubeServer) -> None:
    facts = ask(server, None)

    assert facts.server is None
    assert facts.volumes == ()
    assert facts.client is not None
    assert facts.is_same_node is None
    assert missed(facts) == {"cluster-server": "the pod of a given server is not known"}


def test_a_pod_that_is_gone_is_absent(server: KubeServer) -> None:
    server.remove("Pod", "pg-0")

    assert missed(ask(server)) == {"cluster-server": "there is no Pod pg-0"}


def test_a_container_without_a_shell_keeps_its_set_of_processors(server: KubeServer) -> None:
    server.on_exec(lambda _pod, _container, _argv: (sys.executable, "-c", "raise SystemExit(127)"))

    facts = ask(server)

    assert missed(facts) == {"cluster-inside": "the container has no shell"}
    assert facts.server is not None
    assert facts.server.cpuset is None


def test_objects_of_another_shape_fail_nothing(server: KubeServer) -> None:
    server.change("Pod", "pg-0", {"status": {"containerStatuses": "soon"}})
    server.on_exec(lambda _pod, _container, _argv: telling("@ nothing we know\n"))

    facts = ask(server)

    assert facts.server is None
    assert missed(facts)["cluster"].startswith("AttributeError")
    assert facts.client is not None
    assert facts.volumes[0].class_name == "bench-local"
