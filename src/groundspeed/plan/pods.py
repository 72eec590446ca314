"""An environment in Kubernetes, as a suite asks for it, spelt out for a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.plan.kubernetes import (
    ClusterKind,
    ClusterRequest,
    PlacementRequest,
    ResourceRequest,
    ServiceRequest,
    VolumeKind,
    VolumeRequest,
)

if TYPE_CHECKING:
    from groundspeed import spec
    from groundspeed.spec.kubernetes import Gp3, Longhorn, Weka

EBS, LONGHORN, WEKA = "ebs.csi.aws.com", "driver.longhorn.io", "csi.weka.io"
# Volumes that nobody provisions: the run makes them.
NO_PROVISIONER = "kubernetes.io/no-provisioner"
LOCAL_PATH_CLASS = "local-path"
# Minutes after which Longhorn gives up a copy that does not answer; its own default.
_STALE_REPLICA_MIN = 30
# At each of them WEKA's driver asks its API.
_SECRET_STEPS = (
    "provisioner",
    "controller-publish",
    "controller-expand",
    "node-stage",
    "node-publish",
)


def cluster_request(asked: spec.KubernetesEnvironment, version: int | None) -> ClusterRequest:
    """Spell out what an environment asks of its cluster."""
    if asked.service is not None:
        given = asked.service
        service = ServiceRequest(
            host=given.name,
            port=given.port,
            database=given.database,
            secret=given.secret,
            user_key=given.user_key,
            password_key=given.password_key,
            sslmode=given.sslmode,
        )
        return ClusterRequest(kind=ClusterKind.SERVICE, service=service)
    kind = ClusterKind(asked.cluster)
    image = asked.image
    if image is None and kind is ClusterKind.POSTGRES:
        image = f"postgres:{version}"
    return ClusterRequest(
        kind=kind,
        image=image,
        pull_policy=asked.pull_policy,
        user=_user(asked, kind, image),
        instance_count=asked.instances,
        volume=None if asked.storage is None else volume_request(asked.storage),
        wal_volume=None if asked.wal_storage is None else volume_request(asked.wal_storage),
        resources=_resources(asked),
        placement=PlacementRequest(
            node_selector=tuple(asked.placement.node_selector.items()),
            tolerations=tuple(tuple(one.items()) for one in asked.placement.tolerations),
            apart=asked.placement.apart,
        ),
        one_at_a_time=asked.one_at_a_time,
    )


def _user(asked: spec.KubernetesEnvironment, kind: ClusterKind, image: str | None) -> int | None:
    """Number the user of the server: images of postgres name root, which no pod of ours may be."""
    if asked.user is not None or kind is not ClusterKind.POSTGRES:
        return asked.user
    # The official images, in both their kinds.
    return 70 if "alpine" in (image or "").rpartition(":")[2] else 999


def _resources(asked: spec.KubernetesEnvironment) -> ResourceRequest | None:
    if asked.resources is None:
        return None
    return ResourceRequest(
        cpu_count=asked.resources.cpu,
        memory_bytes=asked.resources.memory,
        huge_pages_bytes=asked.resources.hugepages_2mi,
    )


def volume_request(asked: spec.ClusterStorage) -> VolumeRequest:
    """Spell out a volume: the provisioner and the parameters of its class."""
    if asked.gp3 is not None:
        return _gp3(asked.gp3, asked.size)
    if asked.longhorn is not None:
        return _longhorn(asked.longhorn, asked.size)
    if asked.weka is not None:
        return _weka(asked.weka, asked.size)
    if asked.local is not None:
        return VolumeRequest(
            kind=VolumeKind.LOCAL,
            label=f"local {asked.local.path} on {asked.local.node}",
            size_bytes=asked.size,
            provisioner=NO_PROVISIONER,
            node=asked.local.node,
            path=asked.local.path,
        )
    kind = VolumeKind.CLASS if asked.class_name is not None else VolumeKind.LOCAL_PATH
    name = asked.class_name or LOCAL_PATH_CLASS
    return VolumeRequest(kind=kind, label=name, size_bytes=asked.size, class_name=name)


def _gp3(asked: Gp3, size_bytes: int) -> VolumeRequest:
    return VolumeRequest(
        kind=VolumeKind.GP3,
        label=f"gp3 {asked.iops:,} IOPS, {asked.throughput:,} MiB/s",
        size_bytes=size_bytes,
        provisioner=EBS,
        parameters=(
            ("type", "gp3"),
            ("iops", str(asked.iops)),
            ("throughput", str(asked.throughput)),
        ),
    )


def _longhorn(asked: Longhorn, size_bytes: int) -> VolumeRequest:
    parameters = {
        "numberOfReplicas": str(asked.replicas),
        "staleReplicaTimeout": str(_STALE_REPLICA_MIN),
        "dataLocality": asked.data_locality,
        "fsType": "ext4",
    }
    if asked.disk_tags:
        parameters["diskSelector"] = ",".join(asked.disk_tags)
    if asked.node_tags:
        parameters["nodeSelector"] = ",".join(asked.node_tags)
    return VolumeRequest(
        kind=VolumeKind.LONGHORN,
        label=" ".join((f"longhorn {asked.replicas}r", *asked.disk_tags, *asked.node_tags)),
        size_bytes=size_bytes,
        provisioner=LONGHORN,
        parameters=tuple(parameters.items()),
    )


def _weka(asked: Weka, size_bytes: int) -> VolumeRequest:
    secret = {"name": asked.secret, "namespace": asked.secret_namespace}
    return VolumeRequest(
        kind=VolumeKind.WEKA,
        label=f"weka {asked.filesystem}",
        size_bytes=size_bytes,
        provisioner=WEKA,
        parameters=(
            ("filesystemName", asked.filesystem),
            ("volumeType", "dir/v1"),
            *(
                (f"csi.storage.k8s.io/{step}-secret-{part}", value)
                for step in _SECRET_STEPS
                for part, value in secret.items()
            ),
        ),
    )
