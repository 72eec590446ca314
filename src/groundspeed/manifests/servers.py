"""The server of an environment as objects, whoever makes it, and where they are found again."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.manifests import naming, servers_cnpg, servers_postgres
from groundspeed.manifests.naming import Ref
from groundspeed.plan import ClusterKind, VolumeKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import EnvironmentPlan

# The container of the server in its pod, with either maker.
CONTAINER = servers_postgres.CONTAINER
PORT = servers_postgres.PORT
_MAIN_KINDS = {"StatefulSet", servers_cnpg.KIND}
# Data on these may stay when the claim is gone: nobody deletes a directory of a node, and what a
# given class does is its owner's.
_MAY_STAY = frozenset({VolumeKind.LOCAL, VolumeKind.CLASS})
# The server still runs and may put a file where one was removed; a second try then has it.
_WIPE = 'for i in 1 2 3 4 5; do rm -rf -- "$@" && exit 0; sleep 1; done; exit 1'


def server_objects(
    environment: EnvironmentPlan,
    *,
    run_id: str,
    owner: Mapping[str, Any] | None,
    credentials: str,
) -> tuple[Object, ...]:
    """Make the objects of a server, in order of creation; none for one that is given.

    `owner` is a reference to what they go with, `credentials` the name of a Secret with username
    and password. The last object has the hash of all of them as an annotation: a server with the
    same one is the same server.
    """
    kind = kind_of(environment)
    if kind is ClusterKind.SERVICE:
        return ()
    maker = servers_cnpg if kind is ClusterKind.CNPG else servers_postgres
    made = tuple(
        deepcopy(one) for one in maker.objects(environment, run_id=run_id, credentials=credentials)
    )
    told = spec_hash(made)
    for one in made:
        if owner is not None:
            one["metadata"]["ownerReferences"] = [dict(owner)]
        if one["kind"] in _MAIN_KINDS:
            one["metadata"].setdefault("annotations", {})[naming.SPEC_HASH_ANNOTATION] = told
    return made


def spec_hash(made: tuple[Object, ...]) -> str:
    """Hash what is asked of a server, without who owns it: 16 hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode(made, order="sorted")).hexdigest()[:16]


def kind_of(environment: EnvironmentPlan) -> ClusterKind:
    """Tell who makes a server. Raises ValueError for one that is not in Kubernetes."""
    if environment.cluster is None:
        msg = f"{environment.name} is not in Kubernetes"
        raise ValueError(msg)
    return environment.cluster.kind


def main_ref(environment: EnvironmentPlan, *, run_id: str, namespace: str) -> Ref:
    """Tell which object the server is: its StatefulSet or its Cluster.

    Raises ValueError for a given server.
    """
    kinds = {
        ClusterKind.POSTGRES: ("apps/v1", "StatefulSet"),
        ClusterKind.CNPG: (servers_cnpg.API_VERSION, servers_cnpg.KIND),
    }
    kind = kind_of(environment)
    if kind not in kinds:
        msg = f"{environment.name} is given by its Service"
        raise ValueError(msg)
    api_version, name = kinds[kind]
    return Ref(
        api_version=api_version,
        kind=name,
        name=naming.server_name(run_id, environment.slug),
        namespace=namespace,
    )


def address_of(environment: EnvironmentPlan, *, run_id: str, namespace: str) -> str:
    """Name the host of the server that takes writes, as pods of the cluster resolve it."""
    kind = kind_of(environment)
    if kind is ClusterKind.SERVICE:
        service = environment.cluster.service if environment.cluster else None
        host = "" if service is None else service.host
        return host if "." in host else f"{host}.{namespace}.svc"
    suffix = "-rw" if kind is ClusterKind.CNPG else ""
    return f"{naming.server_name(run_id, environment.slug)}{suffix}.{namespace}.svc"


def pod_labels(environment: EnvironmentPlan, *, run_id: str) -> dict[str, str]:
    """Tell by which labels its pods are found; of a Cluster also those that prepare an instance."""
    if kind_of(environment) is ClusterKind.CNPG:
        return servers_cnpg.pod_labels(run_id, environment.slug)
    return servers_postgres.pod_labels(run_id, environment.slug)


def primary_labels(environment: EnvironmentPlan, *, run_id: str) -> dict[str, str]:
    """Tell by which labels the one pod is found that takes writes."""
    found = pod_labels(environment, run_id=run_id)
    if kind_of(environment) is ClusterKind.CNPG:
        found[servers_cnpg.ROLE_LABEL] = "primary"
    return found


def claims_selector(environment: EnvironmentPlan, *, run_id: str) -> dict[str, str]:
    """Tell by which labels its volume claims are found."""
    return servers_postgres.pod_labels(run_id, environment.slug)


def scaled(
    environment: EnvironmentPlan, *, run_id: str, namespace: str, replicas: int
) -> tuple[Ref, dict[str, Any]]:
    """Make the change that takes a server down (0) or up again (1); its volume stays.

    Raises ValueError for a server that is not a StatefulSet.
    """
    if kind_of(environment) is not ClusterKind.POSTGRES:
        msg = f"{environment.name} is not scaled by us"
        raise ValueError(msg)
    ref = main_ref(environment, run_id=run_id, namespace=namespace)
    return ref, {"spec": {"replicas": replicas}}


def data_directories(environment: EnvironmentPlan, *, run_id: str) -> tuple[str, ...]:
    """Name the directories of a server as its pod has them: data, and the log's if it is apart."""
    kind = kind_of(environment)
    if kind is ClusterKind.CNPG:
        both = (servers_cnpg.DATA_DIRECTORY, servers_cnpg.LOG_DIRECTORY)
    else:
        names = (run_id, environment.slug)
        both = (servers_postgres.data_directory(*names), servers_postgres.log_directory(*names))
    is_apart = environment.cluster is not None and environment.cluster.wal_volume is not None
    return both if is_apart else both[:1]


def wipe_command(environment: EnvironmentPlan, *, run_id: str) -> tuple[str, ...]:
    """Make the command that removes the data of a server from volumes that outlive their claims.

    It is run in the container of the server, right before the server is deleted; the server does
    not survive it. It removes what the run made and nothing beside it. Empty where volumes go with
    their claims. Where it could not be run, the data stay, under a name that carries the run (with
    CloudNativePG: pgdata and pg_wal, which the next Cluster there puts aside).
    """
    cluster = environment.cluster
    volumes = () if cluster is None else (cluster.volume, cluster.wal_volume)
    if not any(volume is not None and volume.kind in _MAY_STAY for volume in volumes):
        return ()
    return ("sh", "-c", _WIPE, "wipe", *data_directories(environment, run_id=run_id))
