"""What keeps a Job or a Cluster of CloudNativePG from what it is to make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import trouble
from groundspeed.manifests.trouble import Trouble, name_of, one_line

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object

_JOB_ENDINGS = {
    "BackoffLimitExceeded": ("backoff-limit", "its pods failed more often than they are retried"),
    "DeadlineExceeded": ("deadline-exceeded", "it ran out of its time"),
    "PodFailurePolicy": ("pod-failure-policy", "a pod failed in a way that is not retried"),
}
_SEE_OPERATOR = (
    "see the log of the operator: kubectl logs -n cnpg-system deploy/cnpg-controller-manager"
)
_WAITS_ON = "Waiting for user action"
# Phases of CloudNativePG 1.29 (api/v1/cluster_types.go): reason, hint, and whether it is final.
_PHASES: dict[str, tuple[str, str, bool]] = {
    "Cluster is unrecoverable and needs manual intervention": (
        "unrecoverable",
        "remove the run with groundspeed clean and run it again",
        True,
    ),
    "Cluster has incomplete or invalid image catalog": (
        "image-catalog",
        "name an image in the suite",
        True,
    ),
    "Cluster cannot proceed to reconciliation due to an unknown plugin being required": (
        "unknown-plugin",
        "install the plugin, or leave it out",
        True,
    ),
    "Cluster cannot proceed to reconciliation due to an error while interacting with plugins": (
        "plugin-failed",
        _SEE_OPERATOR,
        False,
    ),
    "Cluster cannot execute instance online upgrade due to missing architecture binary": (
        "architecture",
        "keep it on nodes of one kind of processor by placement.node_selector",
        True,
    ),
    "Unable to create required cluster objects": ("not-created", _SEE_OPERATOR, False),
    _WAITS_ON: ("waits-for-user", _SEE_OPERATOR, False),
}


def job_trouble(job: Object) -> Trouble | None:
    """Tell why a Job failed; None for one that did not."""
    found = trouble.condition(job, "Failed")
    if found.get("status") != "True":
        found = trouble.condition(job, "FailureTarget")
    if found.get("status") != "True":
        return None
    reason, name = str(found.get("reason")), name_of(job)
    slug, meaning = _JOB_ENDINGS.get(reason, ("failed", "it failed"))
    said = one_line(found.get("message"))
    # Only of a pod's own ending is there more to tell than the reason tells.
    told = (
        f": {said}" if said and reason not in {"BackoffLimitExceeded", "DeadlineExceeded"} else ""
    )
    return Trouble(
        reason=slug,
        message=f"the job {name} ended: {meaning}{told}",
        hint=f"see kubectl logs job/{name}",
        is_final=True,
    )


def cluster_trouble(cluster: Object) -> Trouble | None:
    """Tell what keeps a Cluster from serving; None for one that serves or is on its way.

    What keeps its pods and claims is told by those.
    """
    status: dict[str, Any] = cluster.get("status") or {}
    phase, name = status.get("phase"), name_of(cluster)
    if phase is None:
        return Trouble(
            reason="no-operator",
            message=f"nobody makes the Cluster {name}: it has no status",
            hint="see that the operator runs: kubectl get pods -n cnpg-system",
            is_final=False,
        )
    if phase not in _PHASES:
        return None
    reason, hint, is_final = _PHASES[phase]
    why = one_line(status.get("phaseReason")).split(". ", maxsplit=1)[0]
    what = f"the Cluster {name} is not made: {phase}" + (f": {why}" if why else "")
    return Trouble(reason=reason, message=what, hint=hint, is_final=is_final)


def is_cluster_ready(cluster: Object) -> bool:
    """Tell whether all instances of a Cluster serve."""
    leaving = cluster["metadata"].get("deletionTimestamp") is not None
    return not leaving and trouble.holds(cluster, "Ready")
