"""What the pods of a run have in common that are not servers: the image, hardened, and its scratch.

Every one keeps the restricted profile of Pod Security, with a root file system that nobody writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming
from groundspeed.manifests.placing import UNDISTURBED, cpu, topology_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner_options import RunnerOptions
    from groundspeed.plan import Plan

# Of the image; a number, so that the kubelet can see that it is not root.
USER = 65532
TMP, SHARED_MEMORY, RESULTS, SUITE = "/tmp", "/dev/shm", "/results", "/suite"  # noqa: S108 - places in a pod
# Its share of a pod's memory, which it counts as: transaction logs lie there, and are freed as they
# are read.
_SHARED_MEMORY_SHARE = 2
_TMP_BYTES = 1024**3


def meta(
    name: str,
    labels: Mapping[str, str],
    *,
    namespace: str | None = None,
    owner: Mapping[str, Any] | None = None,
) -> Object:
    """Make the metadata of an object; what is not known is left out."""
    found: Object = {"name": name}
    if namespace is not None:
        found["namespace"] = namespace
    found["labels"] = dict(labels)
    if owner is not None:
        found["ownerReferences"] = [dict(owner)]
    return found


def results_name(run_id: str) -> str:
    """Name the claim that keeps the results."""
    return f"{naming.run_name(run_id)}-results"


def template(run_id: str, role: str, spec: Object) -> Object:
    """Make the template of a Job's pods; nothing moves them to save a node."""
    labels = naming.labels(run_id, role)
    return {"metadata": {"labels": labels, "annotations": dict(UNDISTURBED)}, "spec": spec}


def pod_spec(
    container: Object,
    *,
    volumes: Sequence[Object] = (),
    account: str | None = None,
    grace_s: int,
    affinity: Object | None = None,
) -> Object:
    """Make the spec of a pod of one container; with an account it may ask the API server."""
    found: Object = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": grace_s,
        # Services of the namespace would come as variables, and PGPORT means something to libpq.
        "enableServiceLinks": False,
        # The first process of a container ignores SIGTERM until it says otherwise, and has to reap
        # what others leave; here the sandbox's own is the first.
        "shareProcessNamespace": True,
        "automountServiceAccountToken": account is not None,
    }
    if account is not None:
        found["serviceAccountName"] = account
    if affinity is not None:
        found["affinity"] = {"podAntiAffinity": affinity}
    return {
        **found,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            # Volumes belong to root when they are new; not on every start, which takes as long as
            # they have files.
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
        "volumes": [*_scratch_volumes(container), *volumes],
    }


def container(  # noqa: PLR0913 - a container has these
    name: str,
    command: Sequence[str],
    *,
    options: RunnerOptions,
    env: Sequence[Object] = (),
    mounts: Sequence[Object] = (),
    is_small: bool = False,
) -> Object:
    """Make a container of our image; a small one takes little and is no load tool."""
    memory_bytes = 256 * 1024**2 if is_small else options.memory_bytes
    amounts = {"cpu": "100m" if is_small else cpu(options.cpu_count), "memory": str(memory_bytes)}
    return {
        "name": name,
        "image": options.image,
        "imagePullPolicy": options.pull_policy,
        "command": list(command),
        "env": [*_scratch_env(), *_place_env(), *env],
        # The same, so that its quality of service is Guaranteed and cores can be pinned.
        "resources": {"requests": amounts, "limits": dict(amounts)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        # What it said last is then told by the API server, also of a pod that is gone.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "tmp", "mountPath": TMP},
            {"name": "shared-memory", "mountPath": SHARED_MEMORY},
            *mounts,
        ],
    }


def apart_from_servers(plan: Plan, run_id: str) -> Object | None:
    """Keep a load from the servers that asked for it, by node or by zone; None where none did.

    The servers say the same. But one that is taken down for the time being says nothing, and its
    volume may be on that node.
    """
    asked: dict[str, list[str]] = {}
    for environment in plan.environments:
        apart = "no" if environment.cluster is None else environment.cluster.placement.apart
        if apart != "no":
            slug = naming.label_value(environment.slug)
            asked.setdefault(topology_key(apart), []).append(slug)
    terms = [_term(run_id, key, slugs) for key, slugs in asked.items()]
    return {"requiredDuringSchedulingIgnoredDuringExecution": terms} if terms else None


def _term(run_id: str, key: str, slugs: Sequence[str]) -> Object:
    wanted = {
        naming.RUN_LABEL: [naming.label_value(run_id)],
        naming.ROLE_LABEL: ["server"],
        naming.ENVIRONMENT_LABEL: list(slugs),
    }
    rules = [{"key": name, "operator": "In", "values": values} for name, values in wanted.items()]
    return {"labelSelector": {"matchExpressions": rules}, "topologyKey": key}


def _scratch_env() -> list[Object]:
    places = {"HOME": TMP, "TMPDIR": TMP, "GROUNDSPEED_STATE_DIR": f"{TMP}/groundspeed-state"}
    return [{"name": name, "value": value} for name, value in places.items()]


def _place_env() -> list[Object]:
    fields = {
        "POD_NAME": "metadata.name",
        "POD_NAMESPACE": "metadata.namespace",
        "NODE_NAME": "spec.nodeName",
    }
    return [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in fields.items()
    ]


def _scratch_volumes(container: Object) -> list[Object]:
    memory_bytes = int(container["resources"]["limits"]["memory"])
    shared = {"medium": "Memory", "sizeLimit": str(memory_bytes // _SHARED_MEMORY_SHARE)}
    return [
        {"name": "tmp", "emptyDir": {"sizeLimit": str(_TMP_BYTES)}},
        {"name": "shared-memory", "emptyDir": shared},
    ]
