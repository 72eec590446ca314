"""The storage that a run brings along: classes, and static volumes of directories of nodes.

All of it belongs to the whole cluster, so it is made with the rights of the caller and carries the
run in its name.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from groundspeed.manifests import naming
from groundspeed.manifests.placing import HOSTNAME
from groundspeed.plan import VolumeKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import EnvironmentPlan, Plan, VolumeRequest

# Where the class is made by the run, and where it is the cluster's.
_MADE = frozenset({VolumeKind.GP3, VolumeKind.LONGHORN, VolumeKind.WEKA, VolumeKind.LOCAL})
# As the documentation of WEKA's driver has it; others bind where the pod will be.
_IMMEDIATE = frozenset({VolumeKind.WEKA})


def storage_objects(plan: Plan, *, run_id: str) -> tuple[Object, ...]:
    """Make the classes and static volumes that a plan asks for, each once, in order of creation.

    Environments that ask for the same class share it. A directory of a node is a volume of its
    own, with a class of its own: no other claim can take it.
    """
    found: dict[tuple[str, str], Object] = {}
    for environment, volume, is_log in _volumes(plan):
        if volume.kind not in _MADE:
            continue
        name = class_name(volume, run_id=run_id, environment_slug=environment.slug, log=is_log)
        made = [_storage_class(volume, name, run_id)]
        if volume.kind is VolumeKind.LOCAL:
            made.append(_local_volume(volume, name, run_id, environment.slug))
        for one in made:
            found.setdefault((one["kind"], name), one)
    return tuple(found.values())


def class_name(
    volume: VolumeRequest, *, run_id: str, environment_slug: str, log: bool = False
) -> str:
    """Name the class of a volume: the cluster's, or the run's, at most 63 characters.

    `log` tells the volume of a write-ahead log from the other one of its server.
    """
    if volume.class_name is not None:
        return volume.class_name
    run = hashlib.sha256(run_id.encode()).hexdigest()[:8]
    if volume.kind is VolumeKind.LOCAL:
        part = "wal" if log else "data"
        return f"gs-{run}-local-{_digest(environment_slug)}-{part}"
    told = [volume.provisioner or "", *(f"{name}={value}" for name, value in volume.parameters)]
    digest = _digest(" ".join(told))
    return f"gs-{run}-{volume.kind.value}-{digest}"


def classes_needed(plan: Plan) -> tuple[str, ...]:
    """List the classes that the cluster must have already, each once."""
    names = [volume.class_name for _, volume, _ in _volumes(plan)]
    return tuple(dict.fromkeys(name for name in names if name is not None))


def provisioners_needed(plan: Plan) -> tuple[str, ...]:
    """List the CSI drivers that classes made for the run speak to, each once."""
    names = [volume.provisioner for _, volume, _ in _volumes(plan) if volume.path is None]
    return tuple(dict.fromkeys(name for name in names if name is not None))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _volumes(plan: Plan) -> Iterator[tuple[EnvironmentPlan, VolumeRequest, bool]]:
    for environment in plan.environments:
        if environment.cluster is None:
            continue
        asked = ((environment.cluster.volume, False), (environment.cluster.wal_volume, True))
        for volume, is_log in asked:
            if volume is not None:
                yield environment, volume, is_log


def _storage_class(volume: VolumeRequest, name: str, run_id: str) -> Object:
    made: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name, "labels": naming.labels(run_id, "storage")},
        "provisioner": volume.provisioner,
        # What a run made goes with its claim; a static volume has a policy of its own.
        "reclaimPolicy": "Delete",
        "volumeBindingMode": ("Immediate" if volume.kind in _IMMEDIATE else "WaitForFirstConsumer"),
    }
    if volume.parameters:
        made["parameters"] = dict(volume.parameters)
    return made


def _local_volume(volume: VolumeRequest, name: str, run_id: str, slug: str) -> Object:
    on_node = {"key": HOSTNAME, "operator": "In", "values": [volume.node]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": naming.labels(run_id, "storage", slug)},
        "spec": {
            "capacity": {"storage": str(volume.size_bytes)},
            "volumeMode": "Filesystem",
            "accessModes": ["ReadWriteOnce"],
            # Nobody deletes a directory of a node; see servers.wipe_command for what is in it.
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": name,
            "local": {"path": volume.path},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [on_node]}]}},
        },
    }
