"""The objects of the API server of `kube_server`, their versions, owners of fields and history.

What it answers was compared with Kubernetes 1.34: texts, codes, what a watch tells of an object
that leaves a selector. It knows no HTTP.
"""

from __future__ import annotations

import copy
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.kube_fields import (
    FieldPath,
    Object,
    RefusedError,
    check_conflicts,
    is_taken,
    leaves,
    merged,
    nested,
    owned_part,
    remove_at,
    set_at,
    value_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Kind(NamedTuple):
    api_version: str
    kind: str
    plural: str
    is_namespaced: bool = True


KINDS = (
    Kind("v1", "Pod", "pods"),
    Kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims"),
    Kind("v1", "PersistentVolume", "persistentvolumes", is_namespaced=False),
    Kind("v1", "Secret", "secrets"),
    Kind("v1", "ConfigMap", "configmaps"),
    Kind("v1", "Service", "services"),
    Kind("v1", "ServiceAccount", "serviceaccounts"),
    Kind("v1", "Event", "events"),
    Kind("v1", "Node", "nodes", is_namespaced=False),
    Kind("v1", "Namespace", "namespaces", is_namespaced=False),
    Kind("apps/v1", "StatefulSet", "statefulsets"),
    Kind("batch/v1", "Job", "jobs"),
    Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    Kind("rbac.authorization.k8s.io/v1", "Role", "roles"),
    Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings"),
    Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", is_namespaced=False),
    Kind(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        is_namespaced=False,
    ),
    Kind("storage.k8s.io/v1", "StorageClass", "storageclasses", is_namespaced=False),
    Kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", is_namespaced=False),
    Kind("coordination.k8s.io/v1", "Lease", "leases"),
)
CNPG = Kind("postgresql.cnpg.io/v1", "Cluster", "clusters")
# Written only through their subresource `status`, as the real server does it.
HAVE_STATUS = {
    "Pod",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "Service",
    "Node",
    "Namespace",
    "StatefulSet",
    "Job",
    "Cluster",
}


class Seen(NamedTuple):
    """One thing that happened, for watches."""

    version: int
    kind: Kind
    before: Object | None
    after: Object | None


class Place(NamedTuple):
    kind: Kind
    namespace: str
    name: str


class Store:
    """Objects by their place. Every call is one step for all threads."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.version = 1000
        self.oldest = 0
        self.history: list[Seen] = []
        self._objects: dict[Place, Object] = {}
        # Which manager and operation set which leaves.
        self._owners: dict[Place, dict[tuple[str, str], set[FieldPath]]] = {}

    def get(self, place: Place) -> Object | None:
        with self.changed:
            return copy.deepcopy(self._objects.get(place))

    def must(self, place: Place) -> Object:
        found = self.get(place)
        if found is None:
            raise missing(place.kind, place.name)
        return found

    def all(self, kind: Kind | None = None, namespace: str | None = None) -> list[Object]:
        with self.changed:
            return [
                copy.deepcopy(found)
                for place, found in sorted(self._objects.items())
                if kind in (None, place.kind) and namespace in (None, place.namespace)
            ]

    def put(self, place: Place, obj: Object) -> Object:
        """Write a whole object, as a controller may: nobody's fields are asked for."""
        with self.changed:
            before = self._objects.get(place)
            found = self._stamped(place, copy.deepcopy(obj), before)
            return self._write(place, before, found)

    def create(self, place: Place, obj: Object, manager: str, *, dry_run: bool) -> Object:
        with self.changed:
            if self._objects.get(place) is not None:
                raise RefusedError(
                    409,
                    "AlreadyExists",
                    f'{place.kind.plural} "{place.name}" already exists',
                    name=place.name,
                    kind=place.kind.plural,
                )
            found = self._stamped(place, _writable(place, copy.deepcopy(obj), None), None)
            if dry_run:
                return found
            self._owners[place] = {
                (manager, "Update"): {path for path, _ in leaves(owned_part(obj))}
            }
            return self._write(place, None, found)

    def apply(
        self, place: Place, obj: Object, manager: str, *, force: bool, dry_run: bool
    ) -> Object:
        with self.changed:
            before = self._objects.get(place)
            _check_version(place, before, obj)
            owners = copy.deepcopy(self._owners.get(place, {}))
            wanted = dict(leaves(owned_part(obj)))
            if not force:
                check_conflicts(owners, wanted, before, manager)
            found = copy.deepcopy(before) if before else {}
            for path in owners.get((manager, "Apply"), set()) - set(wanted):
                if not any(path in set_ for who, set_ in owners.items() if who[0] != manager):
                    remove_at(found, path)
            for path, value in wanted.items():
                set_at(found, path, value)
            for who in owners:
                owners[who] -= {
                    p for p in wanted if p in owners[who] and is_taken(before, p, wanted)
                }
            owners[manager, "Apply"] = set(wanted)
            found = self._stamped(place, _writable(place, found, before), before)
            if dry_run:
                return found
            self._owners[place] = owners
            return self._write(place, before, found)

    def patch(
        self, place: Place, change: Mapping[str, Any], manager: str, subresource: str
    ) -> Object:
        with self.changed:
            before = self.must(place)
            _check_version(place, before, change)
            found = merged(before, change)
            if subresource == "status":
                found = {**before, "status": found.get("status", {})}
            else:
                found = _writable(place, found, before)
            owners = self._owners.setdefault(place, {})
            paths = {path for path, _ in leaves(owned_part(change))}
            for who in owners:
                owners[who] -= {p for p in paths if value_at(before, p) != value_at(found, p)}
            owners.setdefault((manager, "Update"), set()).update(paths)
            return self._write(place, before, self._stamped(place, found, before))

    def delete(self, place: Place, *, uid: str | None = None, orphan: bool = False) -> Object:
        with self.changed:
            found = self.must(place)
            if uid is not None and found["metadata"]["uid"] != uid:
                raise RefusedError(
                    409,
                    "Conflict",
                    f'Operation cannot be fulfilled on {place.kind.kind} "{place.name}": the UID '
                    f"in the precondition ({uid}) does not match the UID in record "
                    f"({found['metadata']['uid']}). The object might have been deleted and then "
                    "recreated",
                    name=place.name,
                    kind=place.kind.kind,
                )
            if found["metadata"].get("finalizers"):
                if "deletionTimestamp" not in found["metadata"]:
                    found["metadata"]["deletionTimestamp"] = now()
                    self._write(place, self._objects[place], found)
                return found
            self._drop(place, orphan=orphan)
            return found

    def _drop(self, place: Place, *, orphan: bool = False) -> None:
        before = self._objects.pop(place)
        self._owners.pop(place, None)
        self._tell(place.kind, before, None)
        uid = before["metadata"]["uid"]
        if place.kind.kind == "Namespace":
            inside = [other for other in self._objects if other.namespace == place.name]
        else:
            inside = [other for other in self._objects if self._belongs(other, uid)]
        for other in inside:
            if other in self._objects and not orphan:
                self.delete(other)

    def _belongs(self, place: Place, uid: str) -> bool:
        owners = self._objects[place]["metadata"].get("ownerReferences") or ()
        return any(owner.get("uid") == uid for owner in owners)

    def _stamped(self, place: Place, obj: Object, before: Object | None) -> Object:
        meta = obj.setdefault("metadata", {})
        obj |= {"apiVersion": place.kind.api_version, "kind": place.kind.kind}
        meta["name"] = place.name
        if place.kind.is_namespaced:
            meta["namespace"] = place.namespace
        was = (before or {}).get("metadata", {})
        meta["uid"] = was.get("uid") or str(uuid.uuid4())
        meta["creationTimestamp"] = was.get("creationTimestamp") or now()
        meta.pop("managedFields", None)
        if place.kind.kind in HAVE_STATUS and place.kind.kind not in ("Node", "Namespace"):
            is_same = before is not None and before.get("spec") == obj.get("spec")
            meta["generation"] = was.get("generation", 0) + (0 if is_same else 1)
        if before is None:
            meta.pop("resourceVersion", None)
        else:
            meta["resourceVersion"] = was["resourceVersion"]
        return obj

    def _write(self, place: Place, before: Object | None, found: Object) -> Object:
        managed = self._managed(place)
        if managed:
            found["metadata"]["managedFields"] = managed
        if before is not None and before == found:
            return copy.deepcopy(found)
        self._objects[place] = found
        self._tell(place.kind, before, found)
        meta = found["metadata"]
        if "deletionTimestamp" in meta and not meta.get("finalizers"):
            self._drop(place)
        return copy.deepcopy(found)

    def _managed(self, place: Place) -> list[Object]:
        return [
            {
                "manager": manager,
                "operation": operation,
                "apiVersion": place.kind.api_version,
                "fieldsType": "FieldsV1",
                "fieldsV1": nested(paths),
            }
            for (manager, operation), paths in sorted(self._owners.get(place, {}).items())
            if paths
        ]

    def _tell(self, kind: Kind, before: Object | None, after: Object | None) -> None:
        self.version += 1
        told = copy.deepcopy(after)
        if after is not None and told is not None:
            after["metadata"]["resourceVersion"] = str(self.version)
            told["metadata"]["resourceVersion"] = str(self.version)
        self.history.append(Seen(self.version, kind, copy.deepcopy(before), told))
        self.changed.notify_all()

    def since(self, version: int, kind: Kind, chosen: Callable[[Object], bool]) -> list[Object]:
        """Tell as a watch does what happened to objects that are chosen, or were."""
        with self.changed:
            if version < self.oldest:
                message = f"too old resource version: {version} ({self.oldest})"
                raise RefusedError(410, "Expired", message)
            return [
                event
                for seen in self.history
                if seen.version > version and seen.kind == kind
                for event in _events(seen, chosen)
            ]


def _events(seen: Seen, chosen: Callable[[Object], bool]) -> Iterator[Object]:
    was = seen.before is not None and chosen(seen.before)
    is_now = seen.after is not None and chosen(seen.after)
    if is_now:
        yield {"type": "MODIFIED" if was else "ADDED", "object": seen.after}
    elif was:
        last = copy.deepcopy(seen.after or seen.before or {})
        last["metadata"]["resourceVersion"] = str(seen.version)
        yield {"type": "DELETED", "object": last}


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def missing(kind: Kind, name: str) -> RefusedError:
    return RefusedError(
        404, "NotFound", f'{kind.plural} "{name}" not found', name=name, kind=kind.plural
    )


def _writable(place: Place, obj: Object, before: Object | None) -> Object:
    if place.kind.kind in HAVE_STATUS:
        obj.pop("status", None)
        if before and "status" in before:
            obj["status"] = before["status"]
    return obj


def _check_version(place: Place, before: Object | None, change: Mapping[str, Any]) -> None:
    wanted = change.get("metadata", {}).get("resourceVersion")
    if wanted and (before is None or before["metadata"]["resourceVersion"] != wanted):
        raise RefusedError(
            409,
            "Conflict",
            f'Operation cannot be fulfilled on {place.kind.plural} "{place.name}": the object has '
            "been modified; please apply your changes to the latest version and try again",
            name=place.name,
            kind=place.kind.plural,
        )
