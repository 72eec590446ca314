"""What whoever starts runs needs to be allowed, and an account that runners can share.

Printed for the people who give rights; nothing here is ever applied by groundspeed itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.manifests.naming import MANAGER
from groundspeed.manifests.runner_pod import meta
from groundspeed.manifests.runner_rights import (
    RBAC_GROUP,
    account_objects,
    binding,
    evidence_rules,
    role,
    rule,
    runner_rules,
)
from groundspeed.plan import ClusterKind

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object

CALLER, RUNNER = "groundspeed-caller", "groundspeed-runner"
# Whoever reads the manifest puts a user or another group here.
_SUBJECT = {"kind": "Group", "name": "benchmarkers", "apiGroup": RBAC_GROUP}
_READ = ("get", "list", "watch")
_MAKE = (*_READ, "create", "patch", "delete")
_LABELS = {"app.kubernetes.io/name": MANAGER}


def caller_rules() -> list[Object]:
    """What starting, following, collecting and removing a run takes in its namespace."""
    return [
        rule("", ["configmaps", "persistentvolumeclaims", "pods"], _MAKE),
        # Made up, handed over and removed; never read.
        rule("", ["secrets"], ["create", "patch", "delete"]),
        rule("batch", ["jobs"], _MAKE),
        rule("", ["pods/exec"], ["get", "create"]),
        rule("", ["pods/log"], ["get"]),
        rule("", ["events"], _READ),
        # What a runner made that could not end in order.
        rule("", ["services"], [*_READ, "delete"]),
        rule("apps", ["statefulsets"], [*_READ, "patch", "delete"]),
        rule("postgresql.cnpg.io", ["clusters"], [*_READ, "delete"]),
        rule("coordination.k8s.io", ["leases"], ["get", "list", "delete"]),
    ]


def access_rules() -> list[Object]:
    """What giving each runner an account of its own takes.

    Nobody may give what is not theirs, so the rights of the runner are among them.
    """
    return [
        rule("", ["serviceaccounts"], _MAKE),
        rule(RBAC_GROUP, ["roles", "rolebindings"], _MAKE),
        *runner_rules(tuple(ClusterKind), has_generators=True),
    ]


def cluster_rules() -> list[Object]:
    """What suites take in the whole cluster that bring storage classes or local volumes."""
    return [
        rule("storage.k8s.io", ["storageclasses"], _MAKE),
        rule("", ["persistentvolumes"], _MAKE),
    ]


def given_evidence_rules() -> list[Object]:
    """What letting each runner read nodes and volumes takes in the whole cluster."""
    names = ["clusterroles", "clusterrolebindings"]
    return [rule(RBAC_GROUP, names, _MAKE), *evidence_rules()]


def caller_objects(namespace: str | None) -> tuple[Object, Object]:
    """Make the Role of callers and its binding."""
    metadata = meta(CALLER, _LABELS, namespace=namespace)
    rules = [*caller_rules(), *access_rules()]
    return role("Role", metadata, rules), binding("RoleBinding", metadata, "Role", _SUBJECT)


def cluster_objects() -> tuple[Object, Object]:
    """Make the ClusterRole of callers and its binding."""
    metadata = meta(CALLER, _LABELS)
    return (
        role("ClusterRole", metadata, [*cluster_rules(), *given_evidence_rules()]),
        binding("ClusterRoleBinding", metadata, "ClusterRole", _SUBJECT),
    )


def shared_account(namespace: str | None) -> tuple[Object, ...]:
    """Make an account for all runners of a namespace, for callers who may not make roles."""
    metadata = meta(RUNNER, _LABELS, namespace=namespace)
    return account_objects(metadata, runner_rules(tuple(ClusterKind), has_generators=True))
