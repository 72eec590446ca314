"""Made-up servers in Kubernetes for tests: what they ran on, and what the cluster did meanwhile."""

from __future__ import annotations

import msgspec

from groundspeed.record import ClusterFacts, Provenance
from groundspeed.record.cluster import (
    InstanceFacts,
    LonghornFacts,
    NodeFacts,
    OperatorFacts,
    PodFacts,
    PodResources,
    ReplicaFacts,
    VolumeFacts,
)
from groundspeed.record.cluster_work import (
    ClusterEvent,
    ClusterWork,
    ContainerWork,
    NodePressure,
)
from tests.examples import make_provenance

GIB = 1024**3
DATABASE_NODE = "ip-10-0-1-17"
LOAD_NODE = "ip-10-0-1-40"


def make_node(name: str = DATABASE_NODE, **changed: object) -> NodeFacts:
    """A node of eight processors with the static CPU manager; what is not given is ordinary."""
    plain = NodeFacts(
        name=name,
        zone="eu-west-1a",
        instance_type="m6i.2xlarge",
        cpu_count=7.91,
        memory_bytes=30 * GIB,
        huge_pages_bytes=0,
        kernel="6.1.115",
        container_runtime="containerd://1.7.23",
        kubelet="v1.34.2",
        cpu_manager="static",
        topology_manager="best-effort",
    )
    return msgspec.structs.replace(plain, **changed)


def make_pod(node: NodeFacts | None = None, **changed: object) -> PodFacts:
    """A Guaranteed pod of four processors of its own."""
    resources = PodResources(cpu_count=4.0, memory_bytes=16 * GIB)
    plain = PodFacts(
        namespace="bench",
        name="pg-0",
        uid="9c1f",
        node=node or make_node(),
        image="registry.example/postgres:18",
        image_id="registry.example/postgres@sha256:eea72dd31b1c26488e902c1fb22e8ef6494355",
        qos="Guaranteed",
        requests=resources,
        limits=resources,
        cpuset="2-5",
        group_version=2,
    )
    return msgspec.structs.replace(plain, **changed)


def make_volume(**changed: object) -> VolumeFacts:
    """A gp3 volume of EBS."""
    plain = VolumeFacts(
        claim="data-pg-0",
        size_bytes=100 * GIB,
        access_modes=("ReadWriteOnce",),
        volume="pvc-1a2b",
        handle="vol-0abc",
        reclaim_policy="Delete",
        filesystem="ext4",
        class_name="gs-1f6c-gp3-data",
        provisioner="ebs.csi.aws.com",
        parameters=(("iops", "16000"), ("throughput", "1000"), ("type", "gp3")),
    )
    return msgspec.structs.replace(plain, **changed)


def make_longhorn(*nodes: str, running: int | None = None, **changed: object) -> VolumeFacts:
    """A volume of Longhorn with a replica on each of these nodes; the first ones run."""
    count = len(nodes) if running is None else running
    replicas = tuple(
        ReplicaFacts(name=f"r-{place}", node=node, disk="/mnt/nvme0", is_running=place < count)
        for place, node in enumerate(nodes)
    )
    longhorn = LonghornFacts(
        engine_image="longhorn-engine:v1.9.1",
        robustness="healthy" if count == len(nodes) else "degraded",
        replica_count=len(nodes),
        data_locality="disabled",
        replicas=replicas,
    )
    plain = make_volume(
        class_name="gs-1f6c-longhorn-data",
        provisioner="driver.longhorn.io",
        parameters=(("dataLocality", "disabled"), ("numberOfReplicas", str(len(nodes)))),
        longhorn=longhorn,
    )
    return msgspec.structs.replace(plain, **changed)


def make_cluster(
    pod: PodFacts | None = None, volume: VolumeFacts | None = None, **changed: object
) -> ClusterFacts:
    """A server of CloudNativePG and its load on another node; what is not given is ordinary."""
    server = pod or make_pod()
    plain = ClusterFacts(
        kubernetes_version="1.34.2",
        server=server,
        volumes=(volume or make_volume(),),
        operator=OperatorFacts(
            version="1.29.0",
            cluster="gs-1f6c-gp3",
            instance_count=1,
            primary=server.name,
            instances=(InstanceFacts(pod=server.name, node=server.node.name),),
        ),
        client=make_pod(make_node(LOAD_NODE), name="gs-1f6c-runner", cpuset="1-4"),
    )
    return msgspec.structs.replace(plain, **changed)


def in_cluster(facts: ClusterFacts | None = None) -> Provenance:
    """Circumstances of a record of such a server."""
    return msgspec.structs.replace(make_provenance(), cluster=facts or make_cluster())


def make_work(**changed: object) -> ClusterWork:
    """A trial in which the quota bit twice, and a probe of readiness failed."""
    plain = ClusterWork(
        server=make_container("pg-0", 0.02),
        client=make_container("gs-1f6c-runner", 0.0),
        restart_count=0,
        oom_count=0,
        memory_used_bytes=9 * GIB,
        memory_limit_bytes=16 * GIB,
        events=(
            ClusterEvent(
                about="Pod/pg-0",
                kind="Warning",
                reason="Unhealthy",
                message="Readiness probe failed",
                count=4,
                at_s=11.7,
            ),
        ),
        volume_used_bytes=4 * GIB,
        volume_free_bytes=94 * GIB,
    )
    return msgspec.structs.replace(plain, **changed)


def make_container(pod: str, throttled_ratio: float) -> ContainerWork:
    """A container that was held back in this share of a thousand periods."""
    return ContainerWork(
        pod=pod,
        cpu_count=3.61,
        period_count=1000,
        throttled_count=round(1000 * throttled_ratio),
        throttled_s=1.25,
        source="cpu.stat in the container",
    )


PRESSURE = NodePressure(node=DATABASE_NODE, condition="MemoryPressure")
