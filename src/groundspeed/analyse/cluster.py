"""What a server in Kubernetes runs on, as facts that environments are compared over.

Each is of a kind that a suite may `vary`. Names of pods, claims and volumes are left out: every
environment has others, and none is faster for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from groundspeed.record import ClusterFacts
    from groundspeed.record.cluster import NodeFacts, PodFacts, VolumeFacts

NONE = "none"
OPERATOR = "CloudNativePG"
_DIGEST_DIGITS = 12


class ClusterFact(NamedTuple):
    """A fact by its kind (a word of `vary`) and its name, for people."""

    kind: str
    name: str
    value: str


def cluster_facts(facts: ClusterFacts) -> tuple[ClusterFact, ...]:
    """Gather what is known; what is not is left out."""
    found: list[tuple[str, str, str | None]] = []
    if facts.server is not None:
        found += _node(facts.server.node)
        found += _pod(facts.server)
        found += _maker(facts)
    for place, volume in enumerate(facts.volumes):
        found += _volume(volume, facts, " of the log" if place else "")
    if facts.is_same_node is not None:
        where = "on one node" if facts.is_same_node else "on different nodes"
        found.append(("network", "client and server", where))
    return tuple(ClusterFact(kind, name, value) for kind, name, value in found if value)


def _node(node: NodeFacts) -> Iterator[tuple[str, str, str | None]]:
    yield "host", "server's machine", node.name
    yield "host", "zone", node.zone
    yield "host", "instance type", node.instance_type
    yield "host", "kernel of the node", node.kernel
    yield "host", "container runtime", node.container_runtime
    yield "cpu", "CPUs of the node", None if node.cpu_count is None else f"{node.cpu_count:g}"
    yield "cpu", "CPU manager", node.cpu_manager
    yield "cpu", "topology manager", node.topology_manager


def _pod(pod: PodFacts) -> Iterator[tuple[str, str, str | None]]:
    asked, limits = pod.requests, pod.limits
    yield "version", "image", image_text(pod.image_id)
    yield "cpu", "QoS class", pod.qos
    yield "cpu", "CPU request", _cores(asked.cpu_count)
    yield "cpu", "CPU limit", _cores(limits.cpu_count)
    # Which ones is chance; how many is what it gets.
    count = pod.cpuset_count
    yield "cpu", "CPUs it may run on", None if count is None else str(count)
    yield "memory", "memory request", _bytes(asked.memory_bytes)
    yield "memory", "memory limit", _bytes(limits.memory_bytes)
    yield "memory", "huge pages of the pod", _bytes(limits.huge_pages_bytes)


def _maker(facts: ClusterFacts) -> Iterator[tuple[str, str, str | None]]:
    operator = facts.operator
    yield "host", "server made by", "no operator" if operator is None else OPERATOR
    if operator is not None:
        yield "host", "instances", str(operator.instance_count)
        yield "version", OPERATOR, operator.version


def _volume(
    volume: VolumeFacts, facts: ClusterFacts, of: str
) -> Iterator[tuple[str, str, str | None]]:
    yield "storage", f"provisioner{of}", volume.provisioner
    if volume.parameters is not None:
        yield "storage", f"class parameters{of}", parameters_text(volume.parameters) or NONE
    if volume.size_bytes is not None:
        yield "storage", f"volume size{of}", format_bytes(volume.size_bytes)
    yield "storage", f"access mode{of}", ", ".join(volume.access_modes)
    yield "storage", f"file system of the volume{of}", volume.filesystem
    yield "storage", f"mount options of the volume{of}", ", ".join(volume.mount_options)
    if volume.longhorn is not None:
        yield "version", "Longhorn engine", volume.longhorn.engine_image
        yield "storage", f"replicas{of}", str(volume.longhorn.replica_count)
        nodes = {one.node for one in volume.longhorn.replicas}
        if nodes and facts.server is not None:
            is_near = facts.server.node.name in nodes
            yield "storage", f"replica on the server's node{of}", "yes" if is_near else "no"


def _cores(count: float | None) -> str:
    return NONE if count is None else f"{count:g} cores"


def _bytes(size_bytes: int | None) -> str:
    return NONE if size_bytes is None else format_bytes(size_bytes)


def image_text(image_id: str) -> str:
    """Write an image by the begin of its digest: a tag may come to mean another one."""
    algorithm, colon, digest = image_id.rpartition("@")[2].partition(":")
    return f"{algorithm}{colon}{digest[:_DIGEST_DIGITS]}"


def parameters_text(parameters: Iterable[tuple[str, str]]) -> str:
    """Write the parameters of a storage class."""
    return ", ".join(f"{name}={value}" for name, value in parameters)
