"""What a suite names of a Kubernetes cluster: servers made in it, their volumes and their places.

Names are those of the API server. Nothing is looked up here: whether a storage class is there, the
run asks before it makes anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, model_validator

from groundspeed.spec.environments import Options, Settings
from groundspeed.spec.quantities import Cores, Count, Size, yaml_no
from groundspeed.spec.strict import Strict

# RFC 1123, as the API server has names of most objects.
OBJECT_NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
SECRET_KEY = r"^[-._a-zA-Z0-9]+$"  # noqa: S105 - a pattern
ABSOLUTE = r"^/"
ObjectName = Annotated[str, Field(pattern=OBJECT_NAME, min_length=1, max_length=253)]
LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
Labels = Mapping[LabelKey, str]
SecretKey = Annotated[str, Field(pattern=SECRET_KEY, min_length=1, max_length=253)]


class Gp3(Strict):
    """An EBS volume of type gp3, by ebs.csi.aws.com; IOPS and throughput as bought."""

    iops: int = Field(default=3000, ge=3000, le=80000, description="Requests a second.")
    throughput: int = Field(default=125, ge=125, le=2000, description="MiB a second.")


class Longhorn(Strict):
    """A Longhorn volume, by driver.longhorn.io."""

    replicas: int = Field(ge=1, le=20, description="Copies of the volume.")
    disk_tags: tuple[str, ...] = Field(default=(), description="Disks that may hold a copy.")
    node_tags: tuple[str, ...] = Field(default=(), description="Nodes that may hold a copy.")
    data_locality: Literal["disabled", "best-effort", "strict-local"] = Field(
        default="disabled", description="Whether a copy is kept on the node of the pod."
    )

    @model_validator(mode="after")
    def _one_strict_copy(self) -> Longhorn:
        if self.data_locality == "strict-local" and self.replicas != 1:
            msg = "takes data_locality strict-local only with one replica: write replicas: 1"
            raise ValueError(msg)
        return self


class Weka(Strict):
    """A directory of a WEKA file system, by csi.weka.io, volume type dir/v1."""

    filesystem: str = Field(default="default", min_length=1, description="Its file system.")
    secret: ObjectName = Field(
        default="csi-wekafs-api-secret", description="Secret with the address of its API."
    )
    secret_namespace: ObjectName = Field(
        default="csi-wekafs", description="Namespace of that Secret."
    )


class LocalVolume(Strict):
    """A directory of one node as a static local volume; the run makes and removes the volume."""

    node: ObjectName = Field(description="Node that has it (its label kubernetes.io/hostname).")
    path: Annotated[str, Field(pattern=ABSOLUTE)] = Field(
        description="Directory on that node; it must be there."
    )


_HUGE_PAGE_BYTES = 2 * 1024**2
_KINDS = ("class_name", "gp3", "longhorn", "weka", "local", "local_path")


class ClusterStorage(Strict):
    """Where a server in Kubernetes keeps its files: a size, and one of the kinds."""

    class_name: ObjectName | None = Field(
        default=None, alias="class", description="A storage class that the cluster has."
    )
    gp3: Gp3 | None = Field(default=None, description="A class for gp3, made for the run.")
    longhorn: Longhorn | None = Field(default=None, description="A Longhorn class, made for it.")
    weka: Weka | None = Field(default=None, description="A WEKA class, made for it.")
    local: LocalVolume | None = Field(default=None, description="A directory of one node.")
    local_path: Literal[True] | None = Field(
        default=None, description="The class local-path of the local-path provisioner."
    )
    size: Size = Field(description="Size of the volume claim.")

    @model_validator(mode="after")
    def _one_kind(self) -> ClusterStorage:
        named = [name for name in _KINDS if getattr(self, name) is not None]
        if len(named) != 1:
            msg = "needs one of class, gp3, longhorn, weka, local and local_path: name one of them"
            raise ValueError(msg)
        return self


class Resources(Strict):
    """Processors and memory of one server pod: requested and its limit, so QoS is Guaranteed."""

    cpu: Cores = Field(description="Cores; whole ones can be pinned by the node's CPU manager.")
    memory: Size = Field(description="Memory, huge pages not included.")
    hugepages_2mi: Size | None = Field(
        default=None, description="Memory in pages of 2 MiB, which the node must have set aside."
    )

    @model_validator(mode="after")
    def _whole_pages(self) -> Resources:
        if self.hugepages_2mi is not None and self.hugepages_2mi % _HUGE_PAGE_BYTES:
            msg = "needs hugepages_2mi in whole pages: a multiple of 2MiB"
            raise ValueError(msg)
        return self


class Placement(Strict):
    """On which nodes the server pods run."""

    node_selector: Labels = Field(default={}, description="Labels that their node must have.")
    tolerations: tuple[Mapping[str, str | int], ...] = Field(
        default=(), description="Taints they tolerate, as in a pod."
    )
    apart: Annotated[Literal["node", "zone", "load", "no"], yaml_no] = Field(
        default="no",
        description="Keep them from the nodes (or zones) of the load generators and of the other"
        " environments; load: from the nodes of the load generators alone. A pod that has no other"
        " place stays unscheduled, which is told.",
    )


class Service(Strict):
    """A given PostgreSQL, by its Service; the run has a database of its own in it."""

    name: ObjectName = Field(description="Service, or a name with its namespace: db.prod.svc.")
    port: int = Field(default=5432, ge=1, le=65535, description="Its port.")
    database: str = Field(default="postgres", description="Where the run connects first.")
    secret: ObjectName = Field(description="Secret in the namespace of the run, by its name.")
    user_key: SecretKey = Field(default="username", description="Key of the user in that Secret.")
    password_key: SecretKey = Field(default="password", description="Key of the password in it.")
    sslmode: Literal["disable", "prefer", "require", "verify-full"] = Field(
        default="prefer", description="As libpq has it."
    )


class KubernetesEnvironment(Strict):
    """A server in a Kubernetes cluster: made for the run, or given by its Service."""

    target: Literal["kubernetes"]
    cluster: Literal["cnpg", "postgres"] | None = Field(
        default=None,
        description="Who makes it: cnpg, a Cluster of CloudNativePG; postgres, a StatefulSet of one"
        " pod with the official image.",
    )
    service: Service | None = Field(default=None, description="A given server instead.")
    version: int | None = Field(
        default=None, ge=1, description="Major version, where it differs from the suite's."
    )
    image: str | None = Field(
        default=None,
        description="Image of the server; postgres:VERSION for postgres, the operator's for cnpg.",
    )
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent", description="When nodes pull the image."
    )
    user: int | None = Field(
        default=None,
        ge=1,
        description="Number of the user that the server runs as, one that its image knows; 999 for"
        " postgres (70 where the image's tag says alpine), the operator's for cnpg.",
    )
    instances: Count = Field(default=1, description="Servers of a Cluster; only with cnpg.")
    settings: Settings = Field(default={}, description="Settings on top of those of the suite.")
    storage: ClusterStorage | None = Field(default=None, description="Where its files live.")
    wal_storage: ClusterStorage | None = Field(
        default=None, description="A volume of its own for the write-ahead log."
    )
    resources: Resources | None = Field(
        default=None, description="Processors and memory; without it the pod has no limits."
    )
    placement: Placement = Field(default=Placement(), description="Where its pods run.")
    one_at_a_time: bool = Field(
        default=False,
        description="Whether the server is taken down (its volume stays) while others are"
        " measured; only with postgres.",
    )
    # Every environment has them; here none are understood.
    options: Options = Field(default={}, exclude=True)

    @model_validator(mode="after")
    def _given_or_made(self) -> KubernetesEnvironment:
        if (self.cluster is None) == (self.service is None):
            msg = "needs either cluster or service: write cluster: cnpg, or cluster: postgres"
            raise ValueError(msg)
        if self.service is not None:
            ours = {"target", "service"}
            for key in sorted(self.model_fields_set - ours):
                msg = f"takes no {key} with service: a given server is as it is"
                raise ValueError(msg)
            return self
        if self.storage is None:
            msg = "needs storage: name a class and a size"
            raise ValueError(msg)
        if self.cluster == "postgres" and self.instances != 1:
            msg = "takes instances only with cluster cnpg: a StatefulSet here is one server"
            raise ValueError(msg)
        if self.cluster == "cnpg" and self.one_at_a_time:
            msg = "takes one_at_a_time only with cluster postgres: leave it out"
            raise ValueError(msg)
        self._refuse_local_volumes_that_cannot_be()
        return self

    def _refuse_local_volumes_that_cannot_be(self) -> None:
        asked = (self.storage, self.wal_storage)
        local = [volume.local for volume in asked if volume is not None and volume.local]
        if local and self.instances != 1:
            msg = "takes instances only with storage that is provisioned: leave them out, a local"
            raise ValueError(f"{msg} directory holds one server")
        if len({volume.node for volume in local}) > 1:
            msg = "has storage and wal_storage on two nodes: no pod reaches both"
            raise ValueError(msg)
