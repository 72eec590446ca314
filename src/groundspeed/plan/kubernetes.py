"""What a plan asks of a Kubernetes cluster: types, and nothing of how its objects look."""

from __future__ import annotations

from enum import Enum

import msgspec


class ClusterKind(Enum):
    """Who makes the server of an environment in Kubernetes."""

    # A Cluster of the CloudNativePG operator.
    CNPG = "cnpg"
    # A StatefulSet of one pod with the official image.
    POSTGRES = "postgres"
    # Nobody: it is given by its Service.
    SERVICE = "service"


class VolumeKind(Enum):
    """Where the storage class of a volume comes from."""

    # The cluster has it.
    CLASS = "class"
    GP3 = "gp3"
    LONGHORN = "longhorn"
    WEKA = "weka"
    # A directory of one node, as a static local volume.
    LOCAL = "local"
    # The cluster has it, under the name that its provisioner gives it.
    LOCAL_PATH = "local-path"


class VolumeRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of a server. `label` is what reports call it, as in "gp3 16,000 IOPS, 1,000 MiB/s".

    `class_name` is None where the run makes the class; `provisioner` and `parameters` then are that
    class's, as the API server has them. `node` and `path` are of a static local volume.
    """

    kind: VolumeKind
    label: str
    size_bytes: int
    class_name: str | None = None
    provisioner: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    node: str | None = None
    path: str | None = None


class ServiceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A given server, by its Service; `secret` is in the namespace of the run."""

    host: str
    port: int
    database: str
    secret: str
    user_key: str
    password_key: str
    sslmode: str


class ResourceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Requests and limits, which are the same."""

    cpu_count: float
    memory_bytes: int
    huge_pages_bytes: int | None = None


class PlacementRequest(msgspec.Struct, frozen=True, kw_only=True):
    """On which nodes pods run.

    `apart` is node, zone, load or no; tolerations are pairs as in a pod.
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    tolerations: tuple[tuple[tuple[str, str | int], ...], ...] = ()
    apart: str = "no"


class ClusterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A server in Kubernetes. Of one given by `service` nothing else is asked."""

    kind: ClusterKind
    service: ServiceRequest | None = None
    # None takes the operator's own.
    image: str | None = None
    pull_policy: str = "IfNotPresent"
    # By its number; None takes the operator's own.
    user: int | None = None
    instance_count: int = 1
    volume: VolumeRequest | None = None
    wal_volume: VolumeRequest | None = None
    resources: ResourceRequest | None = None
    placement: PlacementRequest = PlacementRequest()
    one_at_a_time: bool = False
