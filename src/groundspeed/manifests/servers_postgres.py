"""A PostgreSQL of one pod, as a StatefulSet and a Service, from any image with its programs.

The entrypoint of the official image is not used: it wants to be root first, and other images have
none. An init container runs initdb, as the same user that the server then runs as, so the pod holds
to the restricted Pod Security Standard. The user must be one that the image knows: initdb asks.

Data lie in a directory that carries the run in its name: a static volume keeps what another run
left on it, and no run may take that for its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming, placing
from groundspeed.manifests.storage_classes import class_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import ClusterRequest, EnvironmentPlan, VolumeRequest

CONTAINER = "postgres"
PORT = 5432
# Where volumes are mounted; what is below is named by `data_directory` and `log_directory`.
_DATA_MOUNT = "/var/lib/postgresql/data"
_LOG_MOUNT = "/var/lib/postgresql/wal"
_SOCKETS = "/var/run/postgresql"
_SECRETS = "/etc/groundspeed"
_FIRST_VERSION_WITH_SET = 16
# A fast shutdown writes a checkpoint: gigabytes, on the slowest of storage.
_GRACE_S = 600
# For a recovery after a crash; the run has a limit of its own.
_START_PERIOD_S, _START_TRIES = 2, 1800
# Seldom, since each probe is a process beside the server; a server under load may answer late.
_READY_PERIOD_S, _READY_TRIES, _READY_LIMIT_S = 10, 6, 8

# As the embedded server is made, so that they can be compared. `$1` is the data directory, `$2`
# that of the log or empty; the rest are further arguments of initdb. The directory gets its name
# when it is whole: an initdb that was interrupted is begun again.
_PREPARE = """\
set -eu
umask 077
data=$1 log=$2
shift 2
if ! id -un >/dev/null 2>&1; then
  echo "the image knows no user $(id -u): name the one of its server as user" >&2
  exit 1
fi
if [ -s "$data/PG_VERSION" ]; then
  # fsGroup opens it to the group when it is mounted, and the server then refuses it.
  chmod 0700 "$data"
  exit 0
fi
rm -rf -- "$data.new"
[ -z "$log" ] || rm -rf -- "$log"
initdb -D "$data.new" -U postgres -E UTF8 --locale=C -A scram-sha-256 "$@"
echo 'host all all all scram-sha-256' >> "$data.new/pg_hba.conf"
mv -- "$data.new" "$data"
"""


def objects(environment: EnvironmentPlan, *, run_id: str, credentials: str) -> tuple[Object, ...]:
    """Make the Service and the StatefulSet; the password comes from the Secret `credentials`."""
    name = naming.server_name(run_id, environment.slug)
    labels = naming.labels(run_id, "server", environment.slug)
    chosen = pod_labels(run_id, environment.slug)
    service: Object = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            # One address whatever pod serves: names of pods stay in caches when they are gone.
            "type": "ClusterIP",
            "selector": chosen,
            "ports": [{"name": "postgresql", "port": PORT, "targetPort": "postgresql"}],
            # A server that answers its probe late under load must not lose its clients.
            "publishNotReadyAddresses": True,
        },
    }
    server: Object = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "labels": dict(labels)},
        "spec": {
            "replicas": 1,
            "serviceName": name,
            "revisionHistoryLimit": 1,
            "selector": {"matchLabels": chosen},
            # They go by their labels, with what is on them; not because a server was taken down.
            "persistentVolumeClaimRetentionPolicy": {
                "whenDeleted": "Retain",
                "whenScaled": "Retain",
            },
            "template": {
                "metadata": {"labels": dict(labels), "annotations": dict(placing.UNDISTURBED)},
                "spec": _pod(environment, run_id, credentials),
            },
            "volumeClaimTemplates": _claims(environment, run_id),
        },
    }
    return service, server


def pod_labels(run_id: str, slug: str) -> dict[str, str]:
    """Tell by which labels the pod and the claims of a server are found."""
    whole = naming.labels(run_id, "server", slug)
    kept = (naming.RUN_LABEL, naming.ROLE_LABEL, naming.ENVIRONMENT_LABEL)
    return {key: whole[key] for key in kept}


def data_directory(run_id: str, slug: str) -> str:
    """Name the data directory, as the pod has it."""
    return f"{_DATA_MOUNT}/{naming.server_name(run_id, slug)}"


def log_directory(run_id: str, slug: str) -> str:
    """Name the directory of the write-ahead log where it has a volume of its own."""
    return f"{_LOG_MOUNT}/{naming.server_name(run_id, slug)}-wal"


def _pod(environment: EnvironmentPlan, run_id: str, credentials: str) -> dict[str, Any]:
    cluster = _cluster(environment)
    pod: dict[str, Any] = {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": _GRACE_S,
        "securityContext": _security(cluster.user),
        "initContainers": [_preparing(environment, cluster, run_id)],
        "containers": [_serving(environment, cluster, run_id)],
        "volumes": _scratch_volumes(cluster, credentials),
        **placing.node_choice(cluster.placement),
    }
    apart = placing.anti_affinity(
        cluster.placement.apart, run_id=run_id, environment_slug=environment.slug
    )
    if apart is not None:
        pod["affinity"] = {"podAntiAffinity": apart}
    return pod


def _cluster(environment: EnvironmentPlan) -> ClusterRequest:
    if environment.cluster is None or environment.cluster.volume is None:
        msg = f"{environment.name} asks for no server in Kubernetes"
        raise ValueError(msg)
    return environment.cluster


def _security(user: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
        # Without it a mount would open every file of the server to its group, at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
    }
    if user is not None:
        found |= {"runAsUser": user, "runAsGroup": user, "fsGroup": user}
    return found


def _container(cluster: ClusterRequest, name: str, mounts: list[Object]) -> dict[str, Any]:
    """What both containers have: without equal resources in both the pod is not Guaranteed."""
    made: dict[str, Any] = {
        "name": name,
        "image": cluster.image,
        "imagePullPolicy": cluster.pull_policy,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        # What it said last is then in the status of the pod, which is read when it fails.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }
    amounts = placing.resources(cluster.resources)
    if amounts is not None:
        made["resources"] = amounts
    return made


def _mounts(cluster: ClusterRequest) -> list[Object]:
    mounts = [
        {"name": "data", "mountPath": _DATA_MOUNT},
        {"name": "shared-memory", "mountPath": "/dev/shm"},  # noqa: S108 - in the pod
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the same
        {"name": "sockets", "mountPath": _SOCKETS},
    ]
    if cluster.wal_volume is not None:
        mounts.append({"name": "wal", "mountPath": _LOG_MOUNT})
    return mounts


def _preparing(
    environment: EnvironmentPlan, cluster: ClusterRequest, run_id: str
) -> dict[str, Any]:
    data = data_directory(run_id, environment.slug)
    log = "" if cluster.wal_volume is None else log_directory(run_id, environment.slug)
    arguments = [f"--pwfile={_SECRETS}/password"]
    if log:
        arguments.append(f"--waldir={log}")
    version = environment.version
    if version is not None and version >= _FIRST_VERSION_WITH_SET and _has_no_huge_pages(cluster):
        # initdb tries huge pages that the pod may not have, and dies of a bus error.
        arguments.append("--set=huge_pages=off")
    mounts = [*_mounts(cluster), {"name": "credentials", "mountPath": _SECRETS, "readOnly": True}]
    made = _container(cluster, "initdb", mounts)
    made["command"] = ["sh", "-c", _PREPARE, "initdb", data, log, *arguments]
    return made


def _serving(environment: EnvironmentPlan, cluster: ClusterRequest, run_id: str) -> dict[str, Any]:
    asking = {"exec": {"command": ["pg_isready", "-q", "-h", _SOCKETS, "-p", str(PORT)]}}
    made = _container(cluster, CONTAINER, _mounts(cluster))
    data = data_directory(run_id, environment.slug)
    made |= {
        "command": ["postgres", "-D", data, *_settings(environment, cluster)],
        "ports": [{"name": "postgresql", "containerPort": PORT}],
        # For a shell in the pod; the server needs neither.
        "env": [{"name": "PGDATA", "value": data}, {"name": "PGHOST", "value": _SOCKETS}],
        "startupProbe": {
            **asking,
            "periodSeconds": _START_PERIOD_S,
            "timeoutSeconds": _READY_LIMIT_S,
            "failureThreshold": _START_TRIES,
        },
        "readinessProbe": {
            **asking,
            "periodSeconds": _READY_PERIOD_S,
            "timeoutSeconds": _READY_LIMIT_S,
            "failureThreshold": _READY_TRIES,
        },
        # Without it an image that names no signal would wait for its clients to leave.
        "lifecycle": {"preStop": {"exec": {"command": ["sh", "-c", "kill -INT 1"]}}},
    }
    return made


def _has_no_huge_pages(cluster: ClusterRequest) -> bool:
    return cluster.resources is None or not cluster.resources.huge_pages_bytes


def settings_of(environment: EnvironmentPlan, cluster: ClusterRequest) -> dict[str, str]:
    """Spell out the settings, by names in lower case, as PostgreSQL reads them: the last counts."""
    found = {"huge_pages": "off"} if _has_no_huge_pages(cluster) else {}
    return found | {name.lower(): value for name, value in environment.settings}


def _settings(environment: EnvironmentPlan, cluster: ClusterRequest) -> list[str]:
    whole: Mapping[str, str] = settings_of(environment, cluster) | {
        "listen_addresses": "*",
        "port": str(PORT),
        "unix_socket_directories": _SOCKETS,
        "logging_collector": "off",
    }
    return [part for name, value in whole.items() for part in ("-c", f"{name}={value}")]


def _scratch_volumes(cluster: ClusterRequest, credentials: str) -> list[Object]:
    shared = {"medium": "Memory", "sizeLimit": str(placing.shared_memory_bytes(cluster.resources))}
    key = {"key": "password", "path": "password"}
    secret = {"secretName": credentials, "items": [key], "defaultMode": 0o440}
    return [
        {"name": "shared-memory", "emptyDir": shared},
        {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        {"name": "sockets", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        {"name": "credentials", "secret": secret},
    ]


def _claims(environment: EnvironmentPlan, run_id: str) -> list[Object]:
    cluster = _cluster(environment)
    volumes = (("data", cluster.volume, False), ("wal", cluster.wal_volume, True))
    return [
        _claim(name, volume, environment.slug, run_id, is_log=is_log)
        for name, volume, is_log in volumes
        if volume is not None
    ]


def _claim(name: str, volume: VolumeRequest, slug: str, run_id: str, *, is_log: bool) -> Object:
    named = class_name(volume, run_id=run_id, environment_slug=slug, log=is_log)
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "labels": naming.labels(run_id, "server", slug)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": named,
            "resources": {"requests": {"storage": str(volume.size_bytes)}},
        },
    }
