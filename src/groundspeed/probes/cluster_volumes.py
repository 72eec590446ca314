"""Volumes of a server in a cluster: claim, volume, class, and the replicas of Longhorn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.probes.cluster_objects import dug, whole
from groundspeed.record.cluster import LonghornFacts, ReplicaFacts, VolumeFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object
    from groundspeed.probes.cluster_asking import Asking

CLAIM, VOLUME, CLASS = "cluster-claim", "cluster-volume", "cluster-storage-class"
LONGHORN = "cluster-longhorn"
LONGHORN_DRIVER = "driver.longhorn.io"
LONGHORN_VERSION = "longhorn.io/v1beta2"
LONGHORN_NAMESPACE = "longhorn-system"
_PROVISIONED_BY = (
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
_RUNNING = "running"
# Names of secrets and where they lie: nothing that shows in a figure.
_SECRET = "csi.storage.k8s.io/"  # noqa: S105 - the begin of a parameter's name


def volume_facts(asking: Asking, namespace: str, name: str) -> VolumeFacts:
    """Ask for a claim and all that stands behind it."""
    claim = asking.get(CLAIM, "PersistentVolumeClaim", name, namespace=namespace)
    volume_name = dug(claim, "spec", "volumeName")
    class_name = dug(claim, "spec", "storageClassName") or None
    volume = storage = None
    if volume_name:
        volume = asking.get(VOLUME, "PersistentVolume", volume_name, namespace=None)
    if class_name:
        storage = asking.get(
            CLASS, "StorageClass", class_name, namespace=None, version="storage.k8s.io/v1"
        )
    csi = dug(volume, "spec", "csi") or {}
    longhorn = longhorn_name(claim, volume)
    return VolumeFacts(
        claim=name,
        size_bytes=whole(dug(claim, "status", "capacity", "storage")),
        access_modes=tuple(dug(claim, "status", "accessModes") or ()),
        volume=volume_name,
        handle=csi.get("volumeHandle") or _place(volume),
        reclaim_policy=dug(volume, "spec", "persistentVolumeReclaimPolicy"),
        filesystem=csi.get("fsType"),
        mount_options=tuple(dug(volume, "spec", "mountOptions") or ()),
        class_name=class_name,
        provisioner=dug(storage, "provisioner") or csi.get("driver") or _provisioner(claim),
        parameters=None if storage is None else _parameters(storage.get("parameters") or {}),
        longhorn=None if longhorn is None else longhorn_facts(asking, longhorn),
    )


def _provisioner(claim: Object | None) -> str | None:
    """Say who made a volume, as its claim tells everybody."""
    annotations = dug(claim, "metadata", "annotations") or {}
    return next((annotations[name] for name in _PROVISIONED_BY if name in annotations), None)


def _place(volume: Object | None) -> str | None:
    """Say where a volume lies that no driver gave a handle."""
    found = dug(volume, "spec", "local", "path") or dug(volume, "spec", "hostPath", "path")
    return None if found is None else str(found)


def _parameters(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    kept = {name: value for name, value in given.items() if not name.startswith(_SECRET)}
    return tuple(sorted(kept.items()))


def longhorn_name(claim: Object | None, volume: Object | None = None) -> str | None:
    """Tell what Longhorn calls the volume of a claim; None where it is not one of Longhorn's."""
    if dug(volume, "spec", "csi", "driver") == LONGHORN_DRIVER:
        return str(dug(volume, "spec", "csi", "volumeHandle"))
    if _provisioner(claim) != LONGHORN_DRIVER:
        return None
    # One that it provisioned has the name of the PersistentVolume.
    return dug(claim, "spec", "volumeName") or None


def longhorn_volume(asking: Asking, name: str) -> Object | None:
    """Ask Longhorn for a volume, by its own name."""
    return asking.get(
        LONGHORN, "Volume", name, namespace=LONGHORN_NAMESPACE, version=LONGHORN_VERSION
    )


def longhorn_facts(asking: Asking, name: str) -> LonghornFacts | None:
    """Ask Longhorn for a volume and where its replicas are; None where it could not be read."""
    volume = longhorn_volume(asking, name)
    if volume is None:
        return None
    replicas = asking.ask(
        LONGHORN,
        lambda: asking.api.list(
            LONGHORN_VERSION,
            "Replica",
            namespace=LONGHORN_NAMESPACE,
            labels={"longhornvolume": name},
        ),
    )
    image = dug(volume, "status", "currentImage") or dug(volume, "spec", "image") or ""
    return LonghornFacts(
        # Without the registry: the tag is the version.
        engine_image=image.rpartition("/")[2],
        robustness=dug(volume, "status", "robustness") or "unknown",
        replica_count=dug(volume, "spec", "numberOfReplicas") or 0,
        data_locality=dug(volume, "spec", "dataLocality") or "",
        replicas=tuple(_replica(one) for one in replicas or ()),
    )


def _replica(replica: Object) -> ReplicaFacts:
    spec = replica.get("spec") or {}
    return ReplicaFacts(
        name=replica["metadata"]["name"],
        node=spec.get("nodeID") or "",
        disk=spec.get("diskPath") or spec.get("diskID") or "",
        is_running=dug(replica, "status", "currentState") == _RUNNING and not spec.get("failedAt"),
    )
