"""A PostgreSQL by CloudNativePG, as one Cluster: the operator makes all else of it.

Its defaults stay as its users have them, archiving included, so that the figures are theirs. What a
suite may say of them in settings, `archive_mode: off` too, is put where a Cluster has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming, placing
from groundspeed.manifests.servers_postgres import settings_of
from groundspeed.manifests.storage_classes import class_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import ClusterRequest, EnvironmentPlan, VolumeRequest

API_VERSION, KIND = "postgresql.cnpg.io/v1", "Cluster"
# On pods and claims, by the operator.
CLUSTER_LABEL, ROLE_LABEL = "cnpg.io/cluster", "cnpg.io/instanceRole"
DATA_DIRECTORY = "/var/lib/postgresql/data/pgdata"
LOG_DIRECTORY = "/var/lib/postgresql/wal/pg_wal"
# Without archiving the operator's process for each finished segment is not started.
_NO_ARCHIVING = {"cnpg.io/skipWalArchiving": "enabled"}
_GRACE_S = 600


def objects(environment: EnvironmentPlan, *, run_id: str, credentials: str) -> tuple[Object, ...]:
    """Make the Cluster; its superuser is that of the Secret `credentials`, of type basic-auth."""
    cluster = environment.cluster
    if cluster is None or cluster.volume is None:
        msg = f"{environment.name} asks for no server in Kubernetes"
        raise ValueError(msg)
    settings = settings_of(environment, cluster)
    meta: dict[str, Any] = {
        "name": naming.server_name(run_id, environment.slug),
        "labels": naming.labels(run_id, "server", environment.slug),
    }
    if settings.get("archive_mode", "on").lower() == "off":
        meta["annotations"] = dict(_NO_ARCHIVING)
    spec = {
        "instances": cluster.instance_count,
        **_image(cluster),
        "enableSuperuserAccess": True,
        "superuserSecret": {"name": credentials},
        # As the other servers are made.
        "bootstrap": {
            "initdb": {
                "database": "app",
                "owner": "app",
                "encoding": "UTF8",
                "localeCollate": "C",
                "localeCType": "C",
            }
        },
        "postgresql": _settings(settings),
        **_volumes(environment, cluster, run_id),
        "affinity": _affinity(environment, cluster, run_id),
        "inheritedMetadata": _inherited(environment, run_id),
        "ephemeralVolumesSizeLimit": {"shm": str(placing.shared_memory_bytes(cluster.resources))},
        # Clients of ours need no time to leave; a fast shutdown is the one of the other servers.
        "smartShutdownTimeout": 0,
        "stopDelay": _GRACE_S,
        "primaryUpdateStrategy": "unsupervised",
        "primaryUpdateMethod": "restart",
        # Nothing shall ask the server beside groundspeed.
        "monitoring": {"disableDefaultQueries": True},
    }
    amounts = placing.resources(cluster.resources)
    if amounts is not None:
        spec["resources"] = amounts
    return ({"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": spec},)


def pod_labels(run_id: str, slug: str) -> dict[str, str]:
    """Tell by which labels its pods are found, those included that only prepare."""
    return {CLUSTER_LABEL: naming.server_name(run_id, slug)}


def _image(cluster: ClusterRequest) -> dict[str, Any]:
    found: dict[str, Any] = {"imagePullPolicy": cluster.pull_policy}
    if cluster.image is not None:
        found["imageName"] = cluster.image
    if cluster.user is not None:
        found |= {"postgresUID": cluster.user, "postgresGID": cluster.user}
    return found


def _settings(settings: Mapping[str, str]) -> dict[str, Any]:
    parameters = dict(settings)
    libraries = parameters.pop("shared_preload_libraries", "")
    named = [name.strip() for name in libraries.split(",") if name.strip()]
    # On is what it is anyway; off is said by an annotation, and the operator writes the rest.
    parameters.pop("archive_mode", None)
    return {"parameters": parameters} | ({"shared_preload_libraries": named} if named else {})


def _volumes(environment: EnvironmentPlan, cluster: ClusterRequest, run_id: str) -> dict[str, Any]:
    def spelt(volume: VolumeRequest, *, is_log: bool) -> dict[str, str | bool]:
        slug = environment.slug
        return {
            "storageClass": class_name(volume, run_id=run_id, environment_slug=slug, log=is_log),
            "size": str(volume.size_bytes),
            "resizeInUseVolumes": False,
        }

    found: dict[str, Any] = {}
    if cluster.volume is not None:
        found["storage"] = spelt(cluster.volume, is_log=False)
    if cluster.wal_volume is not None:
        found["walStorage"] = spelt(cluster.wal_volume, is_log=True)
    return found


def _affinity(environment: EnvironmentPlan, cluster: ClusterRequest, run_id: str) -> dict[str, Any]:
    apart = cluster.placement.apart
    found: dict[str, Any] = {
        # Of its own instances, and only where there is room.
        "enablePodAntiAffinity": True,
        "podAntiAffinityType": "preferred",
        "topologyKey": placing.topology_key(apart),
        **placing.node_choice(cluster.placement),
    }
    others = placing.anti_affinity(apart, run_id=run_id, environment_slug=environment.slug)
    if others is not None:
        found["additionalPodAntiAffinity"] = others
    return found


def _inherited(environment: EnvironmentPlan, run_id: str) -> dict[str, Any]:
    """Give pods and claims our labels, by which they are found; the operator's own stay its own."""
    labels = naming.labels(run_id, "server", environment.slug)
    ours = {key: value for key, value in labels.items() if key.startswith("groundspeed/")}
    return {"labels": ours, "annotations": dict(placing.UNDISTURBED)}
