"""What a server in Kubernetes shares and what befell it, found in records; and parity there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed.analyse.diagnosis import GuardKind
from groundspeed.record.cluster import PodResources
from tests.clustered import (
    DATABASE_NODE,
    GIB,
    LOAD_NODE,
    PRESSURE,
    in_cluster,
    make_cluster,
    make_container,
    make_longhorn,
    make_node,
    make_pod,
    make_volume,
    make_work,
)
from tests.examples import make_provenance, make_storage
from tests.unit.guarded import evidence, guarded, host_work, side_by_side

if TYPE_CHECKING:
    from groundspeed.analyse.diagnosis import GuardFinding
    from groundspeed.record import ClusterFacts
    from groundspeed.record.cluster_work import ClusterWork


def found_in(
    *facts: ClusterFacts, work: ClusterWork | None = None, **changed: object
) -> list[GuardFinding]:
    """What guards of the cluster find; environments are called a and b."""
    names = "ab"[: len(facts)]
    seen = msgspec.structs.replace(evidence(), cluster=work)
    records = side_by_side(
        {name: in_cluster(one) for name, one in zip(names, facts, strict=True)},
        workloads=("tpcb-like",),
        seen=dict.fromkeys(names, seen) if work is not None else None,
    )
    return [one for one in guarded(records, **changed) if one.kind is GuardKind.CLUSTER]


def parity_of(first: ClusterFacts, second: ClusterFacts, *vary: str) -> list[str]:
    """What the parity guard says of two environments."""
    records = side_by_side(
        {"a": in_cluster(first), "b": in_cluster(second)}, workloads=("tpcb-like",)
    )
    return [one.message for one in guarded(records, vary=vary) if one.kind is GuardKind.PARITY]


def test_a_server_with_processors_of_its_own_apart_from_its_load_is_left_alone() -> None:
    assert found_in(make_cluster(), work=make_work(server=make_container("pg-0", 0.004))) == []


def test_servers_outside_of_kubernetes_are_left_alone() -> None:
    records = side_by_side({"a": make_provenance(), "b": make_provenance()})

    assert [one for one in guarded(records) if one.kind is GuardKind.CLUSTER] == []


def test_load_on_the_server_s_node_is_named() -> None:
    facts = make_cluster(client=make_pod(make_node(), name="runner"))

    [found] = found_in(facts, facts)

    assert found.code == "same-node"
    assert found.message == (
        f"a and b: the load is made on the server's node {DATABASE_NODE}: what it takes, the server"
        " lacks"
    )
    assert found.environments == ("a", "b")
    assert {cell.environment for cell in found.cells} == {"a", "b"}


@pytest.mark.parametrize("vary", [("network",), ("storage", "host")])
def test_where_the_place_is_compared_it_is_no_caution(vary: tuple[str, ...]) -> None:
    facts = make_cluster(client=make_pod(make_node(), name="runner"))

    assert found_in(facts, make_cluster(), vary=vary) == []


@pytest.mark.parametrize(
    ("node", "server_cpu_count", "told"),
    [
        # From inside a pod the server on the same node looks like anybody's process.
        (DATABASE_NODE, 2.9, []),
        (DATABASE_NODE, 1.0, ["noisy-neighbours"]),
        # Unknown how much of it was the server's: nobody is accused.
        (DATABASE_NODE, None, []),
        (LOAD_NODE, 2.9, ["noisy-neighbours"]),
    ],
)
def test_pods_of_the_run_are_no_noisy_neighbours(
    node: str, server_cpu_count: float | None, told: list[str]
) -> None:
    facts = make_cluster(client=make_pod(make_node(node), name="runner"))
    server = msgspec.structs.replace(make_container("pg-0", 0.0), cpu_count=server_cpu_count)
    seen = msgspec.structs.replace(
        evidence(host=host_work(other_cpu_count=3.0)), cluster=make_work(server=server)
    )
    records = side_by_side({"a": in_cluster(facts)}, seen={"a": seen})
    noisy = [one.code for one in guarded(records) if one.kind is GuardKind.SANITY]
    assert [code for code in noisy if code == "noisy-neighbours"] == told


def test_generators_are_the_load_and_not_the_runner() -> None:
    beside = make_pod(make_node(), name="runner")

    assert found_in(make_cluster(client=beside, generator_nodes=(LOAD_NODE, "third"))) == []
    [found] = found_in(make_cluster(generator_nodes=(LOAD_NODE, DATABASE_NODE)))
    assert found.code == "same-node"


def test_load_from_another_zone_is_named() -> None:
    far = make_pod(make_node(LOAD_NODE, zone="eu-west-1b"), name="runner")

    [found] = found_in(make_cluster(client=far))

    assert found.code == "other-zone"
    assert "zone eu-west-1b, the server is in eu-west-1a" in found.message


@pytest.mark.parametrize(
    ("requests", "limits", "qos", "told"),
    [
        (
            PodResources(cpu_count=0.1, memory_bytes=GIB),
            PodResources(cpu_count=0.2, memory_bytes=2 * GIB),
            "Burstable",
            "its requests (0.1 CPUs, 1.00 GiB) are not its limits (0.2 CPUs, 2.00 GiB)",
        ),
        (
            PodResources(memory_bytes=GIB),
            PodResources(),
            "Burstable",
            "its requests (1.00 GiB) are not its limits (none)",
        ),
        (
            PodResources(),
            PodResources(),
            "BestEffort",
            "is BestEffort, without requests and limits",
        ),
    ],
)
def test_a_pod_that_is_not_guaranteed_is_named(
    requests: PodResources, limits: PodResources, qos: str, told: str
) -> None:
    pod = make_pod(qos=qos, requests=requests, limits=limits, cpuset="0-7")

    [found] = found_in(make_cluster(pod))

    assert found.code == "burstable"
    assert told in found.message


def test_whole_processors_that_are_shared_are_named() -> None:
    [seen] = found_in(make_cluster(make_pod(cpuset="0-7")))
    [told] = found_in(make_cluster(make_pod(make_node(cpu_manager="none"), cpuset=None)))

    assert (seen.code, told.code) == ("shared-cores", "shared-cores")
    assert "4 whole CPUs are the limit of the server's pod, and it runs on any of 8" in seen.message
    assert "its node has no CPU manager" in told.message


@pytest.mark.parametrize(
    "pod",
    [
        make_pod(make_node(cpu_manager=None), cpuset=None),
        make_pod(limits=PodResources(cpu_count=3.5, memory_bytes=GIB), cpuset="0-7"),
        # It has its node nearly for itself.
        make_pod(limits=PodResources(cpu_count=8.0, memory_bytes=GIB), cpuset="0-7"),
    ],
)
def test_where_nothing_is_known_to_be_shared_nothing_is_said(pod: object) -> None:
    assert found_in(make_cluster(pod)) == []  # type: ignore[arg-type]


def test_a_server_that_was_held_back_is_named_with_how_often() -> None:
    [found] = found_in(make_cluster(), work=make_work())

    assert found.code == "throttled"
    assert found.message == (
        "a: the server was held back in 2% of the periods of its CPU quota: this measures the"
        " quota as well"
    )


def test_a_load_that_was_held_back_is_named_apart() -> None:
    quiet = make_container("x", 0.0)
    work = make_work(server=quiet, client=quiet, generators=(quiet, make_container("g-1", 0.5)))

    [found] = found_in(make_cluster(), work=work)

    assert found.code == "load-throttled"
    assert "in 50% of the periods of its CPU quota: the load may be the limit" in found.message


def test_without_a_quota_nobody_is_held_back() -> None:
    bare = msgspec.structs.replace(
        make_container("pg-0", 0.0), period_count=None, throttled_count=None, throttled_s=None
    )

    assert found_in(make_cluster(), work=make_work(server=bare)) == []


def test_what_befell_a_server_is_named() -> None:
    quiet = make_container("pg-0", 0.0)
    work = make_work(server=quiet, pressures=(PRESSURE,), restart_count=1)
    codes = {one.code: one.message for one in found_in(make_cluster(), work=work)}

    assert set(codes) == {"node-pressure", "restarted"}
    assert f"MemoryPressure on node {DATABASE_NODE}" in codes["node-pressure"]
    assert "began anew" in codes["restarted"]

    [killed] = found_in(make_cluster(), work=make_work(server=quiet, oom_count=2))
    assert "killed for their memory" in killed.message


def test_replicas_beside_the_load_and_missing_ones_are_named() -> None:
    near = make_cluster(volume=make_longhorn(DATABASE_NODE, LOAD_NODE))
    lacking = make_cluster(volume=make_longhorn(DATABASE_NODE, "third", running=1))

    [first] = found_in(near)
    [second] = found_in(lacking)

    assert first.code == "replica-on-client-node"
    assert f"is on the node of the load ({LOAD_NODE})" in first.message
    assert second.code == "replicas-degraded"
    assert "1 of 2 replicas of its volume ran" in second.message


def test_a_volume_that_lost_a_replica_meanwhile_is_named() -> None:
    whole = make_cluster(volume=make_longhorn(DATABASE_NODE, "third"))
    work = make_work(server=make_container("pg-0", 0.0), degraded=("data-pg-0",))

    [found] = found_in(whole, work=work)

    assert found.code == "replicas-degraded"


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (make_cluster(make_pod(make_node("n2"))), f"server's machine {DATABASE_NODE} and n2"),
        (
            make_cluster(make_pod(make_node(instance_type="m5.large"))),
            "instance type m6i.2xlarge and m5.large",
        ),
        (make_cluster(make_pod(make_node(zone="eu-west-1b"))), "zone eu-west-1a and eu-west-1b"),
        (make_cluster(make_pod(qos="Burstable")), "QoS class Guaranteed and Burstable"),
        (
            make_cluster(make_pod(image_id="registry.example/postgres@sha256:0011223344556677")),
            "image sha256:eea72dd31b1c and sha256:001122334455",
        ),
        (
            make_cluster(make_pod(limits=PodResources(cpu_count=4.0, memory_bytes=8 * GIB))),
            "memory limit 16.0 GiB and 8.00 GiB",
        ),
    ],
)
def test_what_differs_beyond_what_is_compared_is_named(other: ClusterFacts, told: str) -> None:
    [message] = parity_of(make_cluster(), other, "storage")

    assert told in message
    assert "where only storage may" in message


def test_another_operator_is_another_version() -> None:
    facts = make_cluster()
    newer = msgspec.structs.replace(facts.operator, version="1.30.0")

    [message] = parity_of(facts, make_cluster(operator=newer), "storage")
    [bare] = parity_of(facts, make_cluster(operator=None), "storage")

    assert "CloudNativePG 1.29.0 and 1.30.0" in message
    assert "server made by CloudNativePG and no operator" in bare


def test_parameters_of_a_class_are_storage() -> None:
    slow = make_volume(parameters=(("iops", "3000"), ("throughput", "125"), ("type", "gp3")))
    longhorn = make_cluster(volume=make_longhorn(DATABASE_NODE, "third"))

    assert parity_of(make_cluster(), make_cluster(volume=slow), "storage") == []
    assert parity_of(make_cluster(), longhorn, "storage", "version") == []
    [message] = parity_of(make_cluster(), make_cluster(volume=slow), "settings")
    assert (
        "class parameters iops=16000, throughput=1000, type=gp3 and iops=3000, throughput=125,"
        " type=gp3" in message
    )


def test_a_class_that_could_not_be_read_is_neither_alike_nor_different() -> None:
    unread = make_cluster(volume=make_volume(parameters=None))

    assert parity_of(make_cluster(), unread, "settings") == []


def test_names_of_pods_claims_and_classes_are_no_difference() -> None:
    other = make_cluster(
        make_pod(name="pg-b-0", uid="77aa", cpuset="6-7,0-1"),
        make_volume(claim="data-b", volume="pvc-9", handle="vol-9", class_name="gs-b"),
    )

    assert parity_of(make_cluster(), other, "storage") == []


def test_the_memory_of_the_load_s_machine_is_not_the_server_s() -> None:
    unknown = make_cluster(server=None, client=make_pod(make_node(LOAD_NODE)), volumes=())

    assert parity_of(unknown, unknown, "storage") == []
    assert parity_of(make_cluster(), make_cluster(), "storage") == []


@pytest.mark.parametrize(("memory_bytes", "is_named"), [(16 * GIB, True), (GIB, False)])
def test_data_lie_in_the_memory_of_the_pod_and_not_of_the_load_s_machine(
    memory_bytes: int, *, is_named: bool
) -> None:
    pod = make_pod(limits=PodResources(cpu_count=4.0, memory_bytes=memory_bytes))
    circumstances = in_cluster(make_cluster(pod))
    other = msgspec.structs.replace(circumstances, storage=make_storage(label="weka"))

    # Reads of 1.5 GiB, at scale 100.
    found = guarded(side_by_side({"a": circumstances, "b": other}), vary=("storage",))

    assert ("did-not-measure-storage" in [one.code for one in found]) is is_named
