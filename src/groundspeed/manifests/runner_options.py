"""How a runner is asked for: its image, what it may take, what it may see."""

from __future__ import annotations

import msgspec

from groundspeed.plan import ClusterKind, Plan


class RunnerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How the runner is asked for. Without a namespace its objects name none, as kustomize has it.

    `cpu_count` and `memory_bytes` are of the runner and of each load generator. With a
    `service_account` no rights are made. With `cluster_evidence` the runner may read nodes, volumes
    and storage classes, which is a right in the whole cluster and needs a namespace.
    """

    image: str
    namespace: str | None = None
    pull_policy: str = "IfNotPresent"
    results_class: str | None = None
    results_bytes: int = 1024**3
    cpu_count: float = 1.0
    memory_bytes: int = 1024**3
    service_account: str | None = None
    cluster_evidence: bool = False
    ttl_s: int = 7 * 24 * 3600


def kinds_of(plan: Plan) -> frozenset[ClusterKind]:
    """Tell who makes the servers of a plan."""
    return frozenset(e.cluster.kind for e in plan.environments if e.cluster is not None)


def makes_servers(plan: Plan) -> bool:
    """Tell whether a run makes a server, and so needs a password for it."""
    return bool({ClusterKind.CNPG, ClusterKind.POSTGRES} & kinds_of(plan))
