"""What keeps a pod from being ready, read from its status and its events."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from groundspeed.manifests import trouble
from groundspeed.manifests.states_containers import container_trouble
from groundspeed.manifests.states_scheduling import scheduling_trouble
from groundspeed.manifests.trouble import Trouble, name_of, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.manifests.naming import Object

_MOUNT_EVENTS = {"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedBinding"}
# Not of a driver that is not found: on a new node it comes later.
_NEVER_MOUNTS = re.compile(r'path "[^"]+" does not exist|(secret|configmap) "[^"]+" not found')
_DISRUPTIONS = {
    "EvictionByEvictionAPI": "its node is drained: the next pod goes on where there is room",
    "PreemptionByScheduler": "a pod of higher priority took its place: use nodes of your own",
    "DeletionByTaintManager": "its node was tainted: see kubectl describe node",
    "DeletionByPodGC": "its node is gone: see kubectl get nodes",
    "TerminationByKubelet": "its node needed room: see kubectl describe node",
}


def is_ready(pod: Object) -> bool:
    """Tell whether a pod serves, and is not about to go."""
    leaving = pod["metadata"].get("deletionTimestamp") is not None
    return not leaving and trouble.holds(pod, "Ready")


def pod_trouble(pod: Object, events: Sequence[Object]) -> Trouble | None:
    """Tell what keeps a pod from being ready; None for one that is, is leaving or only starts.

    `events` may be of other objects too. A pod that failed is final unless its maker makes another.
    """
    if is_ready(pod) or pod["metadata"].get("deletionTimestamp") is not None:
        return None
    if (pod.get("status") or {}).get("phase") == "Succeeded":
        return None
    ours = trouble.events_of(pod, events)
    if (pod.get("status") or {}).get("phase") == "Failed":
        return _failed(pod, ours)
    return scheduling_trouble(pod) or container_trouble(pod, ours) or _preparing(pod, ours)


def disruption(pod: Object) -> Trouble | None:
    """Tell who takes a pod away; None where nobody but its user does."""
    found = trouble.condition(pod, "DisruptionTarget")
    if found.get("status") != "True":
        return None
    reason = str(found.get("reason"))
    said = one_line(found.get("message")) or reason
    return Trouble(
        reason="disrupted",
        message=f"the pod {name_of(pod)} is taken away: {said}",
        hint=_DISRUPTIONS.get(reason, "see kubectl get events"),
        is_final=False,
    )


def _has_maker(pod: Object) -> bool:
    return any(owner.get("controller") for owner in pod["metadata"].get("ownerReferences") or [])


def _failed(pod: Object, events: Sequence[Object]) -> Trouble:
    status: dict[str, Any] = pod.get("status") or {}
    reason, said = str(status.get("reason") or ""), one_line(status.get("message"))
    name, is_final = name_of(pod), not _has_maker(pod)
    if reason == "Evicted":
        hint = _eviction_hint(said)
        what = f"the pod {name} was evicted: {said}"
        return Trouble(reason="evicted", message=what, hint=hint, is_final=is_final)
    if reason == "DeadlineExceeded":
        hint = "give it a longer time, or less to do"
        what = f"the pod {name} ran out of its time"
        return Trouble(reason="deadline-exceeded", message=what, hint=hint, is_final=is_final)
    found = container_trouble(pod, events) or disruption(pod)
    if found is not None:
        return Trouble(
            reason=found.reason, message=found.message, hint=found.hint, is_final=is_final
        )
    slug = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", reason).lower() or "failed"
    what = f"the pod {name} failed" + (f": {said or reason}" if said or reason else "")
    hint = f"see kubectl describe pod {name}"
    return Trouble(reason=slug, message=what, hint=hint, is_final=is_final)


def _eviction_hint(said: str) -> str:
    if re.search(r"EmptyDir|ephemeral|storage|inodes", said):
        return "it took the node's own disk: free some there, or use a node with more"
    if "memory" in said:
        return "its node ran out of memory: give all pods there limits, or use a larger node"
    return "its node ran out of something: see kubectl describe node"


def _preparing(pod: Object, events: Sequence[Object]) -> Trouble | None:
    """Find what a node cannot do for a pod that it is to start; kubelets tell it by events only."""
    warnings = [event for event in events if event.get("type") == "Warning"]
    # A later success leaves no event of its own: what counts is the last that was told.
    latest = warnings[-1] if warnings and warnings[-1] is events[-1] else None
    if latest is None:
        return None
    said, name = one_line(latest.get("message")), name_of(pod)
    if latest.get("reason") in _MOUNT_EVENTS:
        return Trouble(
            reason="volume-not-mounted",
            message=f"the pod {name} does not get its volume: {said}",
            hint=_mount_hint(said),
            is_final=_NEVER_MOUNTS.search(said) is not None,
        )
    if latest.get("reason") == "FailedCreatePodSandBox":
        hint = "see the network plugin of its node: kubectl get pods -n kube-system"
        what = f"the pod {name} does not get its sandbox: {said}"
        return Trouble(reason="no-sandbox", message=what, hint=hint, is_final=False)
    return None


def _mount_hint(said: str) -> str:
    path = re.search(r'path "([^"]+)" does not exist', said)
    if path is not None:
        return f"make the directory {path[1]} on that node"
    secret = re.search(r'secret "([^"]+)" not found', said)
    if secret is not None:
        return f"make the Secret {secret[1]} in the namespace of the run"
    if "Multi-Attach" in said:
        return "its volume is still on another node: wait, or delete the pod that has it"
    return "see the pods of the volume's driver on that node"
