"""All that a run made in a cluster, found by its labels, by what was written down and by its names.

Each of the three may be missing: an anchor that is gone, kinds that may not be listed, a crash
between writing down and making.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming, runner
from groundspeed.manifests.naming import Ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

_RBAC = "rbac.authorization.k8s.io/v1"
# In the order of removal: what others need goes after them, the anchor last, as it is the list.
STEPS: tuple[tuple[tuple[str, str], ...], ...] = (
    (("batch/v1", "Job"),),
    (("apps/v1", "StatefulSet"), ("postgresql.cnpg.io/v1", "Cluster")),
    (("v1", "Pod"), ("v1", "Service")),
    (("v1", "PersistentVolumeClaim"),),
    (
        ("coordination.k8s.io/v1", "Lease"),
        ("v1", "Secret"),
        (_RBAC, "RoleBinding"),
        (_RBAC, "Role"),
        ("v1", "ServiceAccount"),
    ),
    (("v1", "PersistentVolume"), ("storage.k8s.io/v1", "StorageClass")),
    ((_RBAC, "ClusterRoleBinding"), (_RBAC, "ClusterRole")),
    (("v1", "ConfigMap"),),
)
WHOLE_CLUSTER = frozenset({"PersistentVolume", "StorageClass", "ClusterRole", "ClusterRoleBinding"})
NOT_ALLOWED = 403


class Owned(msgspec.Struct, frozen=True, kw_only=True):
    """An object of a run. `uid` is None for one that may not be read, and is known by its name."""

    ref: Ref
    uid: str | None


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """A kind that may not be listed, and why: nobody here knows whether something of it is left."""

    kind: str
    reason: str


class Owner:
    """Looks for what a run owns, a kind at a time."""

    def __init__(self, api: Api, run: ClusterRun, written: Sequence[Ref]) -> None:
        """Look with what the anchor has written down; see `written_down`."""
        self._api = api
        self._run = run
        self._named = (*written, *_names(run))
        self.unseen: list[Unseen] = []

    def of_kind(self, api_version: str, kind: str) -> list[Owned]:
        """List what there is of a kind now. Raises KubeError for what is no lack of rights."""
        found: dict[Ref, Owned] = {}
        for obj in self._labelled(api_version, kind):
            owned = _owned(obj, kind)
            found[owned.ref] = owned
        for ref in self._named:
            if (ref.api_version, ref.kind) == (api_version, kind) and ref not in found:
                for owned in self.of_name(ref):
                    found[ref] = owned
        return list(found.values())

    def _labelled(self, api_version: str, kind: str) -> list[Object]:
        try:
            return self._api.list(
                api_version, kind, namespace=self._run.namespace, labels=self._run.labels()
            )
        except KubeError as error:
            if error.status != NOT_ALLOWED:
                raise
            # Of the whole cluster all is written down; others may be there by no name of ours.
            unseen = Unseen(kind=kind, reason=error.message)
            if kind not in WHOLE_CLUSTER and unseen not in self.unseen:
                self.unseen.append(unseen)
            return []

    def of_name(self, ref: Ref) -> Iterator[Owned]:
        """Give the object of a name, if it is there and the run's. Raises KubeError."""
        try:
            obj = self._api.get(ref)
        except KubeError as error:
            if error.status != NOT_ALLOWED:
                raise
            # Only of our namespace: there its name is that of this run alone.
            if ref.kind not in WHOLE_CLUSTER:
                yield Owned(ref=ref, uid=None)
            return
        if obj is not None and is_of(obj, self._run):
            yield _owned(obj, ref.kind)


def _owned(obj: Object, kind: str) -> Owned:
    ref = naming.ref_of({"kind": kind, **obj})
    return Owned(ref=ref, uid=obj["metadata"]["uid"])


def is_of(obj: Object, run: ClusterRun) -> bool:
    """Tell by its label whether an object is of a run."""
    labels = obj["metadata"].get("labels") or {}
    return bool(labels.get(naming.RUN_LABEL) == naming.label_value(run.run_id))


def written_down(anchor: Object | None) -> tuple[Ref, ...]:
    """Read what an anchor says that the run owns; nothing where there is none that can be read."""
    try:
        return msgspec.json.decode(
            ((anchor or {}).get("data") or {}).get(runner.OWNED_KEY, "[]"), type=tuple[Ref, ...]
        )
    except msgspec.DecodeError:
        return ()


def _names(run: ClusterRun) -> tuple[Ref, ...]:
    """Name what every run has, for those who may not list it."""
    return (
        run.job,
        run.ref("batch/v1", "Job", runner.generator_name(run.run_id)),
        run.ref("v1", "Pod", runner.collector_name(run.run_id)),
        run.ref("v1", "Secret", runner.credentials_name(run.run_id)),
        run.ref("coordination.k8s.io/v1", "Lease"),
        run.ref("v1", "PersistentVolumeClaim", runner.results_name(run.run_id)),
        run.anchor,
    )
