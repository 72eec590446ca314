"""What is kept of a server in Kubernetes: its pod, its node, its volumes, and who asks it.

Asked where an environment is set up, and again where its server has another pod. What could not be
read is None or empty, and told once as `Absent`.
"""

from __future__ import annotations

import msgspec

from groundspeed.record.evidence import Absent


class PodResources(msgspec.Struct, frozen=True, kw_only=True):
    """What a container requests, or its limits; None where nothing is set."""

    cpu_count: float | None = None
    memory_bytes: int | None = None
    huge_pages_bytes: int | None = None


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A node as far as it could be read; what pods may have of it, not what the machine has.

    `cpu_manager` and `topology_manager` are the kubelet's policies, as in static and none.
    """

    name: str
    zone: str | None = None
    instance_type: str | None = None
    cpu_count: float | None = None
    memory_bytes: int | None = None
    huge_pages_bytes: int | None = None
    kernel: str | None = None
    container_runtime: str | None = None
    kubelet: str | None = None
    cpu_manager: str | None = None
    topology_manager: str | None = None


class PodFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A pod and the container in it that is meant.

    `image_id` has the image's digest. `cpuset` are the processors it may run on as the container
    sees them, as in 0-3,8; `group_version` is that of its control groups, 1 or 2.
    """

    namespace: str
    name: str
    uid: str
    node: NodeFacts
    image: str = ""
    image_id: str = ""
    qos: str = ""
    requests: PodResources = PodResources()
    limits: PodResources = PodResources()
    cpuset: str | None = None
    group_version: int | None = None

    @property
    def cpuset_count(self) -> int | None:
        """Give the number of processors in the set; None where it is not known."""
        if not self.cpuset:
            return None
        count = 0
        for part in self.cpuset.split(","):
            first, _, last = part.partition("-")
            count += int(last or first) - int(first) + 1
        return count


class ReplicaFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One copy of a replicated volume; `is_running` as its storage system says."""

    name: str
    node: str
    disk: str
    is_running: bool


class LonghornFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of Longhorn. `robustness` is its own word: healthy, degraded, faulted, unknown."""

    engine_image: str
    robustness: str
    replica_count: int
    data_locality: str = ""
    replicas: tuple[ReplicaFacts, ...] = ()


class VolumeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, the volume behind it and the class it is of; `size_bytes` is what was given.

    `handle` is what the storage system calls it, `parameters` are those of the class, None where
    that could not be read.
    """

    claim: str
    size_bytes: int | None = None
    access_modes: tuple[str, ...] = ()
    volume: str | None = None
    handle: str | None = None
    reclaim_policy: str | None = None
    filesystem: str | None = None
    mount_options: tuple[str, ...] = ()
    class_name: str | None = None
    provisioner: str | None = None
    parameters: tuple[tuple[str, str], ...] | None = None
    longhorn: LonghornFacts | None = None


class InstanceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One instance of a Cluster: its pod and the node of it."""

    pod: str
    node: str


class OperatorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The operator that made the server, and its Cluster; `primary` is a pod."""

    version: str | None
    cluster: str
    instance_count: int
    primary: str
    instances: tuple[InstanceFacts, ...] = ()


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A server in Kubernetes and its clients.

    `server` is None where the pod of a given server is not known, `client` where the load is not
    made in a pod. `volumes` are that of the data first, then that of the log. `generator_nodes` has
    a node for each further pod that makes load.
    """

    kubernetes_version: str | None
    server: PodFacts | None = None
    volumes: tuple[VolumeFacts, ...] = ()
    operator: OperatorFacts | None = None
    client: PodFacts | None = None
    generator_nodes: tuple[str, ...] = ()
    absent: tuple[Absent, ...] = ()

    @property
    def load_nodes(self) -> frozenset[str]:
        """Name the nodes on which load is made: of the generators, or without any of the client."""
        if self.generator_nodes:
            return frozenset(self.generator_nodes)
        return frozenset() if self.client is None else frozenset({self.client.node.name})

    @property
    def is_same_node(self) -> bool | None:
        """Tell whether load is made on the server's node; None where either is not known."""
        if self.server is None or not self.load_nodes:
            return None
        return self.server.node.name in self.load_nodes

    @property
    def memory_bytes(self) -> int | None:
        """Give the memory that holds the server and its page cache; None where it is not known."""
        if self.server is None:
            return None
        known = (self.server.limits.memory_bytes, self.server.node.memory_bytes)
        return min((size for size in known if size is not None), default=None)
