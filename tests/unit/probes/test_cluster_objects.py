from __future__ import annotations

import pytest

from groundspeed.probes.cluster_objects import container_of, cpuset, node_facts, pod_facts, quantity
from groundspeed.record.cluster import NodeFacts, PodFacts, PodResources
from tests.unit.probes.captured_cluster import captured

MIB = 1024**2


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2", 2.0),
        ("100m", 0.1),
        ("1.5", 1.5),
        ("24479284Ki", 24479284 * 1024),
        ("2Gi", 2 * 1024**3),
        ("5G", 5e9),
        ("128e6", 128e6),
        ("2E", 2e18),
        ("0", 0.0),
    ],
)
def test_amounts_are_read_as_kubernetes_writes_them(text: str, amount: float) -> None:
    assert quantity(text) == pytest.approx(amount)


@pytest.mark.parametrize("text", ["", None, "two", "1.2.3", "3Xi", {}])
def test_what_is_no_amount_is_none(text: object) -> None:
    assert quantity(text) is None


def test_a_real_pod_has_its_class_and_its_resources() -> None:
    facts = pod_facts(captured("pod"), "postgres", NodeFacts(name="node-a"))

    assert (facts.name, facts.qos, facts.image) == (
        "pg-0",
        "Burstable",
        "registry.example/postgres:18",
    )
    assert facts.image_id.startswith("sha256:eea72dd3")
    assert facts.requests == PodResources(cpu_count=0.1, memory_bytes=128 * MIB)
    assert facts.limits == PodResources(cpu_count=0.2, memory_bytes=256 * MIB)


def test_a_real_node_tells_what_pods_may_have_of_it() -> None:
    node = captured("node")
    node["metadata"]["labels"] |= {
        "topology.kubernetes.io/zone": "eu-west-1a",
        "node.kubernetes.io/instance-type": "m6i.2xlarge",
    }

    facts = node_facts("node-a", node)

    assert (facts.zone, facts.instance_type) == ("eu-west-1a", "m6i.2xlarge")
    assert (facts.cpu_count, facts.memory_bytes) == (2.0, 24479284 * 1024)
    assert facts.container_runtime == "containerd://1.6.20"
    assert facts.kubelet == "v1.34.4"


def test_of_a_node_that_could_not_be_read_only_the_name_is_known() -> None:
    assert node_facts("node-a", None) == NodeFacts(name="node-a")


def test_a_container_that_is_not_there_is_the_first_one() -> None:
    pod = captured("pod")

    assert container_of(pod, "sidecar")[0]["name"] == "postgres"
    assert container_of({"metadata": {"name": "bare"}}, "postgres") == ({}, {})


@pytest.mark.parametrize(("text", "count"), [("0-3,8", 5), ("7", 1), ("0-1\n", 2)])
def test_processors_of_a_set_are_counted(text: str, count: int) -> None:
    facts = PodFacts(
        namespace="b", name="p", uid="u", node=NodeFacts(name="n"), cpuset=cpuset(text)
    )

    assert facts.cpuset_count == count


@pytest.mark.parametrize("text", ["", "all", "0-", "1,,2"])
def test_what_is_no_set_of_processors_is_none(text: str) -> None:
    assert cpuset(text) is None
