"""What happened between two looks at a pod, its node and their events. Pure.

Events are told by how their counts grew: no clock but the cluster's has a part in whether one came
during a trial.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from groundspeed.probes.cluster_objects import container_of, dug
from groundspeed.record.cluster_work import ClusterEvent, NodePressure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from groundspeed.manifests.naming import Object

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_KILLED = "OOMKilled"


def counts(events: Iterable[Object]) -> dict[str, int]:
    """Give how often each event came so far, by its uid."""
    return {event["metadata"]["uid"]: _count(event) for event in events}


def _count(event: Object) -> int:
    return dug(event, "series", "count") or event.get("count") or 1


def came(
    before: Mapping[str, int], events: Iterable[Object], began_at_s: float
) -> tuple[ClusterEvent, ...]:
    """List the events that came since; `began_at_s` is the wall clock's, in seconds since 1970."""
    found = []
    for event in events:
        new_count = _count(event) - before.get(event["metadata"]["uid"], 0)
        if new_count > 0:
            found.append(_event(event, new_count, began_at_s))
    return tuple(sorted(found, key=lambda event: event.at_s))


def _event(event: Object, count: int, began_at_s: float) -> ClusterEvent:
    at_s = _last_s(event)
    about = event.get("involvedObject") or {}
    return ClusterEvent(
        about=f"{about.get('kind', '')}/{about.get('name', '')}",
        kind=event.get("type") or "Normal",
        reason=event.get("reason") or "",
        message=" ".join((event.get("message") or "").split()),
        count=count,
        # Whole seconds, and of another clock: what came at once may seem to have come before.
        at_s=0.0 if at_s is None else max(0.0, at_s - began_at_s),
    )


def _last_s(event: Object) -> float | None:
    at = (
        dug(event, "series", "lastObservedTime")
        or event.get("lastTimestamp")
        or event.get("eventTime")
        or dug(event, "metadata", "creationTimestamp")
    )
    return None if at is None else dt.datetime.fromisoformat(at).timestamp()


def restarts(before: Object | None, after: Object | None, container: str) -> tuple[int, bool]:
    """Tell how often a container began anew, and whether the kernel killed it for its memory.

    Another pod of the same name began anew as well.
    """
    if before is None or after is None:
        return 0, False
    was, now = (container_of(pod, container)[1] for pod in (before, after))
    is_same = dug(before, "metadata", "uid") == dug(after, "metadata", "uid")
    first = was.get("restartCount", 0) if is_same else -1
    count = max(0, now.get("restartCount", 0) - first)
    reasons = [dug(now, state, "terminated", "reason") for state in ("state", "lastState")]
    return count, count > 0 and _KILLED in reasons


def pressures(befores: Sequence[Object], afters: Sequence[Object]) -> tuple[NodePressure, ...]:
    """List what nodes were short of at a look, or became between the two."""
    was = {node["metadata"]["name"]: _conditions(node) for node in befores}
    found: dict[NodePressure, None] = {}
    for node in afters:
        name = node["metadata"]["name"]
        earlier, later = was.get(name, {}), _conditions(node)
        for condition in _PRESSURES:
            ends = [ends.get(condition, ("", "")) for ends in (earlier, later)]
            # Of two changes between the looks only the time tells.
            if ends[0][0] == "True" or ends[1][0] == "True" or (earlier and ends[0] != ends[1]):
                found[NodePressure(node=name, condition=condition)] = None
    return tuple(found)


def _conditions(node: Object) -> dict[str, tuple[str, str]]:
    return {
        one["type"]: (one.get("status", ""), one.get("lastTransitionTime", ""))
        for one in dug(node, "status", "conditions") or []
    }
