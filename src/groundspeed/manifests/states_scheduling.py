"""Why a pod has no node: the scheduler's words, and what of a suite they come from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from groundspeed.manifests.trouble import Trouble, condition, first_match, name_of, one_line

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object

# What the scheduler says beside the reasons: whether it could push other pods aside.
_ASIDE = re.compile(r"(\.? no new claims to deallocate|,? preemption:).*", re.DOTALL)
_HINTS = (
    (
        r"Insufficient hugepages",
        (
            "set that many huge pages aside on a node (vm.nr_hugepages) and restart its kubelet, or"
            " leave out hugepages_2mi"
        ),
    ),
    (r"Insufficient ", "{asked}ask for less in resources, or make room on a node or add one"),
    (
        r"node affinity/selector",
        "{selector}label a node, or change placement.node_selector",
    ),
    (
        r"anti-affinity",
        (
            "there is no node left for it alone: add one, or take placement.apart: load or no, or"
            " one_at_a_time"
        ),
    ),
    (r"taint", "name it in placement.tolerations, or take the taint off a node"),
    (
        r"PersistentVolume's node affinity|volume node affinity",
        (
            "its volume is where it may not run: change placement, or give the storage class"
            " volumeBindingMode: WaitForFirstConsumer"
        ),
    ),
    (
        r"available persistent volumes to bind",
        (
            "no volume of its class is free and large enough: see kubectl get pv; one of an"
            " earlier run is freed by groundspeed clean"
        ),
    ),
    (r"unbound|persistentvolumeclaim", "see kubectl describe pvc: its claim has no volume yet"),
    (r"max volume count|volume limit", "the node has as many volumes as it can: use another one"),
    (r"were unschedulable", "a node is cordoned: kubectl uncordon NODE"),
)


def scheduling_trouble(pod: Object) -> Trouble | None:
    """Tell why a pod has no node; None when it has one, or was not looked at yet.

    It is never final: nodes are added, and other pods end.
    """
    found = condition(pod, "PodScheduled")
    if found.get("status") != "False" or found.get("reason") == "SchedulingGated":
        return None
    said = str(found.get("message") or "")
    name = name_of(pod)
    hint = first_match(said, _HINTS) or f"see kubectl describe pod {name}"
    return Trouble(
        reason="unschedulable",
        message=f"the pod {name} finds no node: {one_line(_ASIDE.sub('', said))}",
        hint=hint.format(asked=_asked(pod), selector=_selector(pod)),
        is_final=False,
    )


def _asked(pod: Object) -> str:
    """Say what the most demanding container of a pod asks for."""
    spec = pod.get("spec") or {}
    containers: list[dict[str, Any]] = [*spec.get("initContainers", []), *spec["containers"]]
    most: dict[str, str] = {}
    for container in containers:
        most |= (container.get("resources") or {}).get("requests") or {}
    return f"it asks for {', '.join(f'{v} {k}' for k, v in most.items())}: " if most else ""


def _selector(pod: Object) -> str:
    labels = (pod.get("spec") or {}).get("nodeSelector") or {}
    wanted = ", ".join(f"{key}={value}" for key, value in labels.items())
    return f"no node that has room is {wanted}: " if wanted else ""
