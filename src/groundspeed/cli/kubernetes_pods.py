"""Pods of a run as the API server tells of them: which there are, and how far they came."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.probes.cluster_objects import dug

if TYPE_CHECKING:
    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object


def pods_of(api: Api, run: ClusterRun, role: str) -> list[Object]:
    """List the pods of a role, oldest first. Raises KubeError."""
    found = api.list("v1", "Pod", namespace=run.namespace, labels=run.labels(role))
    return sorted(found, key=lambda pod: (_created_at(pod), pod["metadata"]["name"]))


def events_of(api: Api, obj: Object) -> list[Object]:
    """List what the cluster noted of an object, in order. Raises KubeError."""
    meta = obj["metadata"]
    fields = {"involvedObject.uid": meta["uid"]}
    found = api.list("v1", "Event", namespace=meta.get("namespace"), fields=fields)
    return sorted(found, key=_last_seen)


def _last_seen(event: Object) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")


def _created_at(pod: Object) -> str:
    return str(dug(pod, "metadata", "creationTimestamp") or "")


def state_of(pod: Object) -> dict[str, Any]:
    """Give the state of its only container: waiting, running or terminated; {} before that."""
    statuses = dug(pod, "status", "containerStatuses") or [{}]
    return dict(statuses[0].get("state") or {})


def has_started(pod: Object) -> bool:
    """Tell whether it has a log."""
    return bool({"running", "terminated"} & set(state_of(pod)))


def has_ended(pod: Object) -> bool:
    """Tell whether its container came to its end."""
    return "terminated" in state_of(pod) or dug(pod, "status", "phase") in {"Succeeded", "Failed"}


def is_running(pod: Object) -> bool:
    """Tell whether programs can be started in it."""
    return "running" in state_of(pod) and dug(pod, "metadata", "deletionTimestamp") is None


def exit_code(pod: Object) -> int | None:
    """Give the exit code of its container; None before it ended."""
    found = dug(state_of(pod), "terminated", "exitCode")
    return found if isinstance(found, int) else None


def has_condition(obj: Object, kind: str) -> bool:
    """Tell whether a condition of an object holds, as Complete of a Job."""
    conditions = dug(obj, "status", "conditions") or ()
    return any(each.get("type") == kind and each.get("status") == "True" for each in conditions)
