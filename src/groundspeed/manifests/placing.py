"""Where pods run and what they may take: placement, resources and who leaves them alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming

if TYPE_CHECKING:
    from groundspeed.plan import PlacementRequest, ResourceRequest

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
# Cluster Autoscaler and Karpenter move pods to save nodes; in a trial that is a lost trial.
UNDISTURBED = {
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
    "karpenter.sh/do-not-disrupt": "true",
}
_LOAD_ROLES = ("generator", "runner")
# Half of the memory of a pod, as Linux gives a tmpfs; what is in it counts as the pod's memory.
_SHARED_MEMORY_SHARE = 2
_SHARED_MEMORY_BYTES = 1024**3


def node_choice(placement: PlacementRequest) -> dict[str, Any]:
    """Spell out selector and tolerations, as a pod and a Cluster's affinity both have them."""
    found: dict[str, Any] = {}
    if placement.node_selector:
        found["nodeSelector"] = dict(placement.node_selector)
    if placement.tolerations:
        found["tolerations"] = [dict(pairs) for pairs in placement.tolerations]
    return found


def anti_affinity(apart: str, *, run_id: str, environment_slug: str) -> dict[str, Any] | None:
    """Keep a server from pods of the same run; None where it may be anywhere.

    The scheduler reads it both ways: a generator that comes later does not join the server either.
    Servers of the same environment are left out, so that a Cluster may still be on one node.
    """
    if apart == "no":
        return None
    roles = _LOAD_ROLES if apart == "load" else (*_LOAD_ROLES, "server")
    slug = naming.label_value(environment_slug)
    run = naming.label_value(run_id)
    others = [
        {"key": naming.RUN_LABEL, "operator": "In", "values": [run]},
        {"key": naming.ROLE_LABEL, "operator": "In", "values": list(roles)},
        {"key": naming.ENVIRONMENT_LABEL, "operator": "NotIn", "values": [slug]},
    ]
    term = {"labelSelector": {"matchExpressions": others}, "topologyKey": topology_key(apart)}
    return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}


def topology_key(apart: str) -> str:
    """Name the node label within whose value pods count as together."""
    return ZONE if apart == "zone" else HOSTNAME


def resources(asked: ResourceRequest | None) -> dict[str, Any] | None:
    """Spell out requests and limits, the same; None without any.

    Every container of a pod needs them, also one that only prepares: else the pod's quality of
    service is Burstable, and no core is pinned.
    """
    if asked is None:
        return None
    amounts = {"cpu": cpu(asked.cpu_count), "memory": str(asked.memory_bytes)}
    if asked.huge_pages_bytes:
        amounts["hugepages-2Mi"] = str(asked.huge_pages_bytes)
    return {"requests": amounts, "limits": dict(amounts)}


def cpu(count: float) -> str:
    """Write cores as a quantity: 2, or 1500m; a fraction of a thousandth is rounded."""
    thousandths = round(count * 1000)
    whole, rest = divmod(thousandths, 1000)
    return f"{thousandths}m" if rest else str(whole)


def shared_memory_bytes(asked: ResourceRequest | None) -> int:
    """Size /dev/shm, where parallel queries exchange rows: a container has 64 MiB else."""
    return _SHARED_MEMORY_BYTES if asked is None else asked.memory_bytes // _SHARED_MEMORY_SHARE
