"""What the caller has to be allowed in a cluster, from the objects that are to be made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.manifests.naming import ref_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

Complaint = tuple[str, str]

# Kind to (API group, resource), as rights are given.
RESOURCES: Mapping[str, tuple[str, str]] = {
    "ConfigMap": ("", "configmaps"),
    "Secret": ("", "secrets"),
    "ServiceAccount": ("", "serviceaccounts"),
    "Service": ("", "services"),
    "Pod": ("", "pods"),
    "PersistentVolumeClaim": ("", "persistentvolumeclaims"),
    "PersistentVolume": ("", "persistentvolumes"),
    "Role": ("rbac.authorization.k8s.io", "roles"),
    "RoleBinding": ("rbac.authorization.k8s.io", "rolebindings"),
    "ClusterRole": ("rbac.authorization.k8s.io", "clusterroles"),
    "ClusterRoleBinding": ("rbac.authorization.k8s.io", "clusterrolebindings"),
    "StorageClass": ("storage.k8s.io", "storageclasses"),
    "Job": ("batch", "jobs"),
    "StatefulSet": ("apps", "statefulsets"),
    "Lease": ("coordination.k8s.io", "leases"),
    "Cluster": ("postgresql.cnpg.io", "clusters"),
}
# Server-side apply of an object that is not there asks for both.
_MAKE = ("create", "patch", "delete")
# To follow a run, to bring its results here through it or through a pod of our own.
_FOLLOW: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "pods", ("get", "list", "watch", "create", "patch", "delete")),
    ("", "pods/log", ("get",)),
    # Older servers ask for get where the connection is a websocket, newer ones for create.
    ("", "pods/exec", ("create", "get")),
    ("batch", "jobs", ("get", "watch")),
)
_HINT = "groundspeed k8s rights prints what is needed; who runs the cluster can apply it"


def missing(api: Api, objects: Iterable[Object]) -> list[Complaint]:
    """Ask for every right that making, following and removing takes; a complaint for each kind.

    Raises KubeError when it cannot be asked.
    """
    needed: dict[tuple[str, str, str | None], list[str]] = {}
    for group, resource, also in _FOLLOW:
        needed[group, resource, api.namespace] = list(also)
    for ref in map(ref_of, objects):
        group, resource = RESOURCES[ref.kind]
        verbs = needed.setdefault((group, resource, ref.namespace), [])
        verbs += [verb for verb in _MAKE if verb not in verbs]
    return [
        (_sentence(lacking, group, resource, namespace), _HINT)
        for (group, resource, namespace), verbs in needed.items()
        if (lacking := list(_lacking(api, verbs, group, resource, namespace)))
    ]


def may_make(api: Api, objects: Sequence[Object]) -> bool:
    """Tell whether all of these may be made and removed again. Raises KubeError."""
    found = {RESOURCES[ref.kind] + (ref.namespace,) for ref in map(ref_of, objects)}
    return not any(
        list(_lacking(api, _MAKE, group, resource, namespace))
        for group, resource, namespace in found
    )


def _lacking(
    api: Api, verbs: Iterable[str], group: str, resource: str, namespace: str | None
) -> Iterator[str]:
    for verb in verbs:
        # Without a namespace the whole cluster is meant, not the namespace in use.
        if not api.may(verb, resource, group=group, namespace=namespace or ""):
            yield verb


def _sentence(verbs: Sequence[str], group: str, resource: str, namespace: str | None) -> str:
    name = f"{resource}.{group}" if group else resource
    where = f" in namespace {namespace}" if namespace else ", which belong to the whole cluster"
    return f"you may not {', '.join(verbs)} {name}{where}"
