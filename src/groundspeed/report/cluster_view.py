"""Where servers in Kubernetes ran, in words: node, pod, volumes and who made them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.analyse.cluster import OPERATOR, parameters_text
from groundspeed.report.cluster_shapes import ClusterRow, ClusterView
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse import EnvironmentFacts, Findings
    from groundspeed.analyse.findings import TrialEvidence
    from groundspeed.record import ClusterFacts
    from groundspeed.record.cluster import LonghornFacts, NodeFacts, PodFacts, VolumeFacts
    from groundspeed.record.cluster_work import ClusterWork, ContainerWork

_EVENTS_SHOWN = 2


def cluster_view(findings: Findings) -> ClusterView:
    """Word where each server ran; of several runs the first that knows."""
    known = [(e, e.cluster) for e in findings.environments if e.cluster is not None]
    if not known:
        return ClusterView()
    versions = dict.fromkeys(c.kubernetes_version for _, c in known if c.kubernetes_version)
    loads = dict.fromkeys(text for _, cluster in known if (text := load_text(cluster)))
    return ClusterView(
        rows=tuple(_row(facts, cluster, findings) for facts, cluster in known),
        version=f"Kubernetes {' and '.join(versions)}".rstrip(),
        load="; ".join(loads),
    )


def _row(facts: EnvironmentFacts, cluster: ClusterFacts, findings: Findings) -> ClusterRow:
    server = cluster.server
    return ClusterRow(
        environment=facts.environment,
        label=label_of(facts.environment, findings.emulated),
        node="" if server is None else node_text(server.node),
        pod="" if server is None else pod_text(server),
        volumes=tuple(volume_text(volume) for volume in cluster.volumes),
        made_by=_maker(cluster),
    )


def node_text(node: NodeFacts) -> str:
    """Name a node with its type, its zone and what pods may have of it."""
    parts = [part for part in (node.instance_type, node.zone) if part]
    if node.cpu_count is not None:
        parts.append(f"{node.cpu_count:g} CPUs")
    if node.memory_bytes is not None:
        parts.append(format_bytes(node.memory_bytes))
    return f"{node.name} ({', '.join(parts)})" if parts else node.name


def pod_text(pod: PodFacts) -> str:
    """Say what a pod may have: its class and its requests to limits."""
    asked, limits = pod.requests, pod.limits
    parts = [pod.qos or "of unknown class"]
    if (cpu := _span(_count(asked.cpu_count), _count(limits.cpu_count))) != "":
        parts.append(f"{cpu} CPUs")
    memory = _span(_size(asked.memory_bytes), _size(limits.memory_bytes))
    parts += [memory] if memory else []
    if limits.huge_pages_bytes:
        parts.append(f"{format_bytes(limits.huge_pages_bytes)} of huge pages")
    count = pod.cpuset_count
    if count is not None and pod.node.cpu_count is not None and count < pod.node.cpu_count:
        parts.append(f"pinned to {pod.cpuset}")
    return ", ".join(parts)


def _count(count: float | None) -> str:
    return "" if count is None else f"{count:g}"


def _size(size_bytes: int | None) -> str:
    return "" if size_bytes is None else format_bytes(size_bytes)


def _span(asked: str, limit: str) -> str:
    if asked == limit:
        return asked
    if asked and limit:
        return f"{asked} to {limit}"
    return f"{asked} or more" if asked else f"up to {limit}"


def volume_text(volume: VolumeFacts) -> str:
    """Name a volume by its class, its size and how it is made."""
    name = volume.class_name or volume.claim
    head = name if volume.size_bytes is None else f"{name} {format_bytes(volume.size_bytes)}"
    parts = [
        part for part in (volume.provisioner, parameters_text(volume.parameters or ())) if part
    ]
    if volume.mount_options:
        parts.append(f"mounted {','.join(volume.mount_options)}")
    if volume.longhorn is not None:
        parts.append(_replicas(volume.longhorn))
    return f"{head}: {', '.join(parts)}" if parts else head


def _replicas(volume: LonghornFacts) -> str:
    nodes = Counter(one.node for one in volume.replicas)
    where = f" on {', '.join(nodes)}" if nodes else ""
    counted = "1 replica" if volume.replica_count == 1 else f"{volume.replica_count} replicas"
    return f"{counted}{where} ({volume.robustness})"


def _maker(cluster: ClusterFacts) -> str:
    operator = cluster.operator
    if operator is None:
        return ""
    count = operator.instance_count
    counted = "1 instance" if count == 1 else f"{count} instances"
    return " ".join(part for part in (OPERATOR, operator.version) if part) + f", {counted}"


def load_text(cluster: ClusterFacts) -> str:
    """Say where the load is made; empty where no pod makes it."""
    if cluster.generator_nodes:
        count = len(cluster.generator_nodes)
        nodes = ", ".join(dict.fromkeys(cluster.generator_nodes))
        return f"{count} pods on {nodes}"
    return "" if cluster.client is None else node_text(cluster.client.node)


def cluster_story(trial: TrialEvidence, findings: Findings) -> Iterator[tuple[str, str]]:
    """Tell of one trial, by a word each, what its server had and what happened to it."""
    work = trial.evidence.cluster
    if work is None:
        return
    mine = (e.cluster for e in findings.environments if e.environment == trial.environment)
    if told := "; ".join(_had(next(mine, None), work)):
        yield "pod", told
    if told := "; ".join(_happened(work)):
        yield "cluster", told


def _had(cluster: ClusterFacts | None, work: ClusterWork) -> Iterator[str]:
    if work.server is not None and (told := container_text(work.server)):
        yield told
    if work.memory_used_bytes is not None and work.memory_limit_bytes is not None:
        used, limit = format_bytes(work.memory_used_bytes), format_bytes(work.memory_limit_bytes)
        yield f"memory {used} of {limit}"
    for one in (work.client, *work.generators):
        if one is not None and one.throttled_ratio:
            yield f"load in {one.pod} {container_text(one)}"
    if cluster is not None and cluster.server is not None:
        yield f"{cluster.server.name} on {cluster.server.node.name}, {pod_text(cluster.server)}"


def container_text(work: ContainerWork) -> str:
    """Say what a container burnt, and how often it was held back."""
    burnt = "" if work.cpu_count is None else f"burnt {work.cpu_count:.2f} cores"
    ratio = work.throttled_ratio
    held = "" if ratio is None else f"held back in {ratio:.0%} of its periods"
    return ", ".join(part for part in (burnt, held) if part)


def _happened(work: ClusterWork) -> Iterator[str]:
    if work.restart_count:
        yield "began anew" if work.restart_count == 1 else f"began anew {work.restart_count} times"
    if work.oom_count == 1:
        yield "1 process killed for its memory"
    elif work.oom_count:
        yield f"{work.oom_count} processes killed for their memory"
    yield from (f"{one.condition} on {one.node}" for one in work.pressures)
    # A warning first: it is the one to read.
    events = sorted(work.events, key=lambda event: event.kind != "Warning")
    for event in events[:_EVENTS_SHOWN]:
        often = f" x{event.count}" if event.count > 1 else ""
        yield f"{event.reason}{often} at {event.at_s:.0f} s ({event.message})"
    if more := events[_EVENTS_SHOWN:]:
        yield f"{len(more)} more events"
