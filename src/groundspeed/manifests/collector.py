"""Pods that a person waits for: one to fetch results from, and one to work in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming
from groundspeed.manifests.runner_pod import RESULTS, container, meta, pod_spec, results_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner_options import RunnerOptions

COLLECTOR_CONTAINER, SHELL_CONTAINER = "collector", "shell"
# It is removed when all was fetched; this is for a caller who went away.
_COLLECTOR_LIFE_S = 3600
SHELL_LIFE_S = 4 * 3600
_GRACE_S = 5
_IDLE = ("sleep", "infinity")


def collector_name(run_id: str) -> str:
    """Name the pod that results are fetched from once the runner's is gone."""
    return f"{naming.run_name(run_id)}-collector"


def collector_pod(
    run_id: str, *, options: RunnerOptions, owner: Mapping[str, Any] | None
) -> Object:
    """Make the pod that results are fetched from; it only reads them, and ends after an hour."""
    claim = {"claimName": results_name(run_id), "readOnly": True}
    idle = container(
        COLLECTOR_CONTAINER,
        _IDLE,
        options=options,
        mounts=({"name": "results", "mountPath": RESULTS, "readOnly": True},),
        is_small=True,
    )
    volume = {"name": "results", "persistentVolumeClaim": claim}
    spec = pod_spec(idle, volumes=(volume,), grace_s=_GRACE_S)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(
            collector_name(run_id),
            naming.labels(run_id, "collector"),
            namespace=options.namespace,
            owner=owner,
        ),
        "spec": {**spec, "activeDeadlineSeconds": _COLLECTOR_LIFE_S},
    }


def shell_pod(name: str, *, options: RunnerOptions) -> Object:
    """Make a pod as the runner's to work in; it ends after four hours."""
    idle = container(SHELL_CONTAINER, _IDLE, options=options)
    spec = pod_spec(idle, account=options.service_account, grace_s=_GRACE_S)
    labels = {
        "app.kubernetes.io/name": naming.MANAGER,
        "app.kubernetes.io/managed-by": naming.MANAGER,
        "app.kubernetes.io/component": "shell",
        naming.ROLE_LABEL: "shell",
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, labels, namespace=options.namespace),
        "spec": {**spec, "activeDeadlineSeconds": SHELL_LIFE_S},
    }
