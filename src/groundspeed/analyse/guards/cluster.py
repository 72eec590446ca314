"""Cluster guard: what a server in Kubernetes shares, and what happened to it while it was measured.

Figures are right all the same; they are those of a server that shares its node with its load, that
is held back by its own limits, or whose volume lacks a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.diagnosis import GuardFinding, GuardKind
from groundspeed.analyse.guards.trials import by_cell, environments_of, keys_of
from groundspeed.analyse.guards.wording import listed, low_to_high
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.plan import Cell
    from groundspeed.record import ClusterFacts
    from groundspeed.record.cluster import LonghornFacts, PodFacts, PodResources
    from groundspeed.record.cluster_work import ClusterWork, ContainerWork

# The bandwidth controller counts a period now and then where a quota does not matter yet.
_THROTTLED_RATIO = 0.01
_GUARANTEED = "Guaranteed"
_HEALTHY = "healthy"
_PERCENT = 100
# Words of `vary` by which it is compared where a server and its load are.
_PLACES = frozenset({"host", "network"})


class _Rule(NamedTuple):
    """A code, what it finds in a trial in words, and what that means."""

    code: str
    look: Callable[[ClusterFacts, MeasuredTrial], str]
    meaning: str


class _Held(NamedTuple):
    """A code, whose containers it is about, what that is in words, and what it means."""

    code: str
    containers: Callable[[ClusterWork], Sequence[ContainerWork | None]]
    who: str
    meaning: str


def cluster_findings(settled: Settled) -> tuple[GuardFinding, ...]:
    """Find what a server shares, what held it back and what happened to it, once for each cause."""
    cells = by_cell(settled)
    found = [finding for rule in _RULES for finding in _found(settled, cells, rule)]
    held = [finding for one in _HELD for finding in _held(settled, cells, one)]
    return (*found, *held)


def _found(
    settled: Settled, cells: Mapping[Cell, Sequence[MeasuredTrial]], rule: _Rule
) -> Iterator[GuardFinding]:
    causes: dict[str, list[Cell]] = {}
    for cell, trials in cells.items():
        for trial in trials:
            facts = trial.record.provenance.cluster
            text = "" if facts is None else rule.look(facts, trial)
            if text:
                causes.setdefault(text, []).append(cell)
    for text, touched in causes.items():
        names = environments_of(settled, touched)
        yield GuardFinding(
            kind=GuardKind.CLUSTER,
            code=rule.code,
            message=f"{listed(names)}: {text}: {rule.meaning}",
            cells=keys_of(settled, touched),
            environments=names,
        )


def _held(
    settled: Settled, cells: Mapping[Cell, Sequence[MeasuredTrial]], one: _Held
) -> Iterator[GuardFinding]:
    most: dict[Cell, float] = {}
    for cell, trials in cells.items():
        ratios = [
            seen.throttled_ratio or 0.0
            for trial in trials
            if (work := _work(trial)) is not None
            for seen in one.containers(work)
            if seen is not None
        ]
        if ratios and max(ratios) > _THROTTLED_RATIO:
            most[cell] = max(ratios)
    if not most:
        return
    names = environments_of(settled, most)
    shares = low_to_high([_PERCENT * ratio for ratio in most.values()], ".0f")
    yield GuardFinding(
        kind=GuardKind.CLUSTER,
        code=one.code,
        message=f"{listed(names)}: {one.who} held back in {shares}% of the periods of its CPU"
        f" quota: {one.meaning}",
        cells=keys_of(settled, most),
        environments=names,
    )


def _work(trial: MeasuredTrial) -> ClusterWork | None:
    evidence = trial.record.evidence
    return None if evidence is None else evidence.cluster


def _same_node(facts: ClusterFacts, trial: MeasuredTrial) -> str:
    if not facts.is_same_node or facts.server is None:
        return ""
    # Where a server and its load are is what is compared.
    if not _PLACES.isdisjoint(trial.run.vary or ()):
        return ""
    return f"the load is made on the server's node {facts.server.node.name}"


def _other_zone(facts: ClusterFacts, trial: MeasuredTrial) -> str:
    if facts.server is None or facts.client is None or facts.generator_nodes:
        return ""
    ours, its = facts.client.node.zone, facts.server.node.zone
    if ours is None or its is None or ours == its or not _PLACES.isdisjoint(trial.run.vary or ()):
        return ""
    return f"the load is made in zone {ours}, the server is in {its}"


def _burstable(facts: ClusterFacts, _: MeasuredTrial) -> str:
    pod = facts.server
    if pod is None or pod.qos in {"", _GUARANTEED}:
        return ""
    asked, limits = _amounts(pod.requests), _amounts(pod.limits)
    if not asked and not limits:
        return f"the server's pod is {pod.qos}, without requests and limits"
    return (
        f"the server's pod is {pod.qos}: its requests ({asked or 'none'}) are not its limits"
        f" ({limits or 'none'})"
    )


def _amounts(resources: PodResources) -> str:
    parts = []
    if resources.cpu_count is not None:
        parts.append(f"{resources.cpu_count:g} CPUs")
    if resources.memory_bytes is not None:
        parts.append(format_bytes(resources.memory_bytes))
    return ", ".join(parts)


def _shared_cores(facts: ClusterFacts, _: MeasuredTrial) -> str:
    pod = facts.server
    if pod is None or pod.qos != _GUARANTEED or not _is_whole(pod.limits.cpu_count):
        return ""
    asked = f"{pod.limits.cpu_count:g} whole CPUs are the limit of the server's pod"
    count = pod.cpuset_count
    if count is None:
        is_shared = pod.node.cpu_manager == "none"
        return f"{asked}, and its node has no CPU manager" if is_shared else ""
    is_all = count > (pod.limits.cpu_count or 0) and not _is_whole_node(pod, count)
    return f"{asked}, and it runs on any of {count}" if is_all else ""


def _is_whole(count: float | None) -> bool:
    return count is not None and count >= 1 and count == int(count)


def _is_whole_node(pod: PodFacts, count: int) -> bool:
    """Tell whether a pod has nearly all of its node, where there is nobody to share with."""
    return (pod.limits.cpu_count or 0.0) > count - 1


def _pressure(_: ClusterFacts, trial: MeasuredTrial) -> str:
    work = _work(trial)
    told = [] if work is None else [f"{one.condition} on node {one.node}" for one in work.pressures]
    return f"{listed(told)} while trials ran" if told else ""


def _restarted(_: ClusterFacts, trial: MeasuredTrial) -> str:
    work = _work(trial)
    if work is None or not (work.restart_count or work.oom_count):
        return ""
    if work.oom_count:
        return "processes of the server were killed for their memory while trials ran"
    return "the server's container began anew while trials ran"


def _near_replica(facts: ClusterFacts, _: MeasuredTrial) -> str:
    nodes = {one.node for volume in _replicated(facts) for one in volume.replicas}
    near = sorted(nodes & facts.load_nodes)
    return f"a replica of its volume is on the node of the load ({listed(near)})" if near else ""


def _degraded(facts: ClusterFacts, trial: MeasuredTrial) -> str:
    work = _work(trial)
    if work is not None and work.degraded:
        return "its volume lacked a replica while trials ran"
    for volume in _replicated(facts):
        running = sum(one.is_running for one in volume.replicas)
        if volume.robustness != _HEALTHY and running < volume.replica_count:
            return f"{running} of {volume.replica_count} replicas of its volume ran"
    return ""


def _replicated(facts: ClusterFacts) -> list[LonghornFacts]:
    return [volume.longhorn for volume in facts.volumes if volume.longhorn is not None]


_RULES = (
    _Rule("same-node", _same_node, "what it takes, the server lacks"),
    _Rule("other-zone", _other_zone, "every round trip crosses zones"),
    _Rule("burstable", _burstable, "what it gets depends on its neighbours"),
    _Rule("shared-cores", _shared_cores, "these are shares of cores that others use, not its own"),
    _Rule("node-pressure", _pressure, "the kubelet was about to evict pods"),
    _Rule("restarted", _restarted, "it was not the same server throughout"),
    _Rule("replica-on-client-node", _near_replica, "writing there takes from what makes the load"),
    _Rule("replicas-degraded", _degraded, "it wrote fewer copies than it promises"),
)
_HELD = (
    _Held(
        "throttled",
        lambda work: (work.server,),
        "the server was",
        "this measures the quota as well",
    ),
    _Held(
        "load-throttled",
        lambda work: (work.client, *work.generators),
        "a pod that makes the load was",
        "the load may be the limit, not the server",
    ),
)
