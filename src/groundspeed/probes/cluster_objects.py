"""Objects of a cluster, read into facts. Pure: it asks nobody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from groundspeed.record.cluster import NodeFacts, PodFacts, PodResources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object

ZONE_LABEL = "topology.kubernetes.io/zone"
INSTANCE_LABEL = "node.kubernetes.io/instance-type"
HUGE_PAGES = "hugepages-2Mi"
_QUANTITY = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]|[KMGTPE]i)?")
_FACTORS = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "": 1.0,
    "k": 1e3,
    **{letter: 1e3 ** (place + 2) for place, letter in enumerate("MGTPE")},
    **{f"{letter}i": 1024.0 ** (place + 1) for place, letter in enumerate("KMGTPE")},
}
_CPUSET = re.compile(r"[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*")


def quantity(text: object) -> float | None:
    """Read an amount as Kubernetes writes it, as in 500m or 2Gi; None for what is none."""
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        return None
    try:
        return float(match[1]) * _FACTORS[match[2] or ""]
    except ValueError:
        return None


def whole(text: object) -> int | None:
    """Read an amount that is a number of bytes."""
    amount = quantity(text)
    return None if amount is None else round(amount)


def cpuset(text: str) -> str | None:
    """Take a list of processors as the kernel writes it; None for what is none."""
    stripped = text.strip()
    return stripped if _CPUSET.fullmatch(stripped) else None


def dug(obj: Mapping[str, Any] | None, *path: str) -> Any:  # noqa: ANN401 - whatever is there
    """Go down into an object; None where the way ends."""
    found: Any = obj
    for name in path:
        if not isinstance(found, dict):
            return None
        found = found.get(name)
    return found


def node_facts(name: str, node: Object | None) -> NodeFacts:
    """Read a node; of one that could not be read only the name is known."""
    labels = dug(node, "metadata", "labels") or {}
    allocatable = dug(node, "status", "allocatable") or {}
    info = dug(node, "status", "nodeInfo") or {}
    return NodeFacts(
        name=name,
        zone=labels.get(ZONE_LABEL),
        instance_type=labels.get(INSTANCE_LABEL),
        cpu_count=quantity(allocatable.get("cpu")),
        memory_bytes=whole(allocatable.get("memory")),
        huge_pages_bytes=whole(allocatable.get(HUGE_PAGES)),
        kernel=info.get("kernelVersion"),
        container_runtime=info.get("containerRuntimeVersion"),
        kubelet=info.get("kubeletVersion"),
    )


def container_of(pod: Object, name: str) -> tuple[Object, Object]:
    """Give a container of a pod, and its status; the first one where there is none of the name."""
    specs = dug(pod, "spec", "containers") or [{}]
    spec = next((one for one in specs if one.get("name") == name), specs[0])
    statuses = dug(pod, "status", "containerStatuses") or []
    none: Object = {}
    status = next((one for one in statuses if one.get("name") == spec.get("name")), none)
    return spec, status


def pod_facts(pod: Object, container: str, node: NodeFacts) -> PodFacts:
    """Read a pod; what the container itself sees is added by others."""
    spec, status = container_of(pod, container)
    meta = pod["metadata"]
    return PodFacts(
        namespace=meta.get("namespace", ""),
        name=meta["name"],
        uid=meta.get("uid", ""),
        node=node,
        image=spec.get("image", ""),
        image_id=status.get("imageID", ""),
        qos=dug(pod, "status", "qosClass") or "",
        requests=_resources(dug(spec, "resources", "requests")),
        limits=_resources(dug(spec, "resources", "limits")),
    )


def _resources(asked: Mapping[str, Any] | None) -> PodResources:
    amounts = asked or {}
    return PodResources(
        cpu_count=quantity(amounts.get("cpu")),
        memory_bytes=whole(amounts.get("memory")),
        huge_pages_bytes=whole(amounts.get(HUGE_PAGES)),
    )
