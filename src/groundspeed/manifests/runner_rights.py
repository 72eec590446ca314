"""What the runner and its caller may do: the least that they need, and nothing of secrets to read.

Server-side apply of what is not there yet needs both create and patch.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming
from groundspeed.manifests.runner_options import kinds_of
from groundspeed.manifests.runner_pod import meta
from groundspeed.plan import ClusterKind

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner_options import RunnerOptions
    from groundspeed.plan import Plan

RBAC_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_OWN = (*_READ, "create", "patch", "delete")
_MADE = frozenset({ClusterKind.CNPG, ClusterKind.POSTGRES})


def rule(
    group: str, resources: Sequence[str], verbs: Sequence[str], names: Sequence[str] = ()
) -> Object:
    """Spell out one rule; with names it is of these objects alone."""
    found: Object = {"apiGroups": [group], "resources": list(resources)}
    if names:
        found["resourceNames"] = list(names)
    return {**found, "verbs": list(verbs)}


def runner_rules(
    kinds: Collection[ClusterKind], *, has_generators: bool, run_id: str | None = None
) -> list[Object]:
    """What the runner needs in its namespace, for these kinds of servers.

    Of one run it may only touch that run's own anchor and lease.
    """
    names = () if run_id is None else (naming.run_name(run_id),)
    rules = [
        rule("", ["configmaps"], ["get", "patch"], names),
        # A name cannot be checked before the object is there.
        rule("coordination.k8s.io", ["leases"], ["create"]),
        # Watched while another pod has it.
        rule("coordination.k8s.io", ["leases"], [*_READ, "update", "patch"], names),
        # Its own, to know whether another pod comes after it.
        rule("batch", ["jobs"], ["get"], names),
        rule("", ["pods", "events"], _READ),
        # Evidence from inside a server's container, wiping its directory, load generators. The
        # client comes by a websocket, which is a get; newer servers ask for create as well.
        rule("", ["pods/exec"], ["get", "create"]),
        rule("", ["pods/log"], ["get"]),
    ]
    if ClusterKind.POSTGRES in kinds:
        rules.append(rule("apps", ["statefulsets"], _OWN))
        rules.append(rule("", ["services"], _OWN))
    # Made by the controllers of the servers; those of a given one are read for the report.
    verbs = (*_READ, "delete") if _MADE & set(kinds) else _READ
    rules.append(rule("", ["persistentvolumeclaims"], verbs))
    if ClusterKind.CNPG in kinds:
        rules.append(rule("postgresql.cnpg.io", ["clusters"], _OWN))
    if has_generators:
        rules.append(rule("batch", ["jobs"], _OWN))
    return rules


def evidence_rules() -> list[Object]:
    """What the report tells of nodes and volumes; reading, in the whole cluster.

    Not nodes/proxy, by which the kubelet tells its policies: who may read that may also start
    programs in every pod of the node.
    """
    return [
        rule("", ["nodes", "persistentvolumes"], ["get"]),
        rule("storage.k8s.io", ["storageclasses"], ["get"]),
        rule("longhorn.io", ["volumes", "replicas"], ["get", "list"]),
    ]


def access_objects(
    plan: Plan, *, run_id: str, options: RunnerOptions, owner: Mapping[str, Any] | None
) -> tuple[Object, ...]:
    """Make the account of the runner and its rights; nothing where an account was named."""
    if options.service_account is not None:
        return ()
    name = naming.run_name(run_id)
    rules = runner_rules(kinds_of(plan), has_generators=plan.generator_count > 1, run_id=run_id)
    metadata = meta(name, naming.labels(run_id, "access"), namespace=options.namespace, owner=owner)
    made = list(account_objects(metadata, rules))
    if options.cluster_evidence:
        made += cluster_access(run_id, options)
    return tuple(made)


def account_objects(metadata: Object, rules: Sequence[Object]) -> tuple[Object, ...]:
    """Make an account, a role and their binding, all of one name."""
    subject = {"kind": "ServiceAccount", "name": metadata["name"]}
    if "namespace" in metadata:
        subject["namespace"] = metadata["namespace"]
    return (
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": deepcopy(metadata),
            # Pods say it where they need it.
            "automountServiceAccountToken": False,
        },
        role("Role", metadata, rules),
        binding("RoleBinding", metadata, "Role", subject),
    )


def cluster_access(run_id: str, options: RunnerOptions) -> tuple[Object, ...]:
    """Make the right to read nodes and volumes, and its binding. Needs a namespace."""
    namespace = options.namespace
    assert namespace is not None  # noqa: S101 - the caller's check: a binding has to name one
    # Two namespaces may have runs of one id, and these names are shared by all.
    metadata = meta(cluster_access_name(run_id, namespace), naming.labels(run_id, "access"))
    account = naming.run_name(run_id)
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    return (
        role("ClusterRole", metadata, evidence_rules()),
        binding("ClusterRoleBinding", metadata, "ClusterRole", subject),
    )


def cluster_access_name(run_id: str, namespace: str) -> str:
    """Name the right of a run in the whole cluster."""
    return f"{naming.run_name(run_id)}.{namespace}"


def role(kind: str, metadata: Object, rules: Sequence[Object]) -> Object:
    """Make a Role or a ClusterRole."""
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": kind,
        "metadata": deepcopy(metadata),
        "rules": list(rules),
    }


def binding(kind: str, metadata: Object, role_kind: str, subject: Object) -> Object:
    """Bind a role of the same name to somebody."""
    return {
        "apiVersion": f"{RBAC_GROUP}/v1",
        "kind": kind,
        "metadata": deepcopy(metadata),
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": metadata["name"]},
        "subjects": [subject],
    }
