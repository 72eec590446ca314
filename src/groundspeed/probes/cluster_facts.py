"""What a server in Kubernetes runs on: asked where it is set up, and where it has another pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.manifests.naming import ROLE_LABEL, RUN_LABEL
from groundspeed.probes import cluster_groups, cluster_kubelet
from groundspeed.probes.cluster_asking import EXECUTE_LIMIT_S, Asking
from groundspeed.probes.cluster_objects import dug, node_facts, pod_facts
from groundspeed.probes.cluster_volumes import volume_facts
from groundspeed.record.cluster import (
    ClusterFacts,
    InstanceFacts,
    NodeFacts,
    OperatorFacts,
    PodFacts,
    VolumeFacts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.ports import PodPlace, WatchPoints
    from groundspeed.probes.cluster_groups import Group

VERSION, SERVER, CLIENT = "cluster-version", "cluster-server", "cluster-client"
NODE = "cluster-node"
INSIDE = "cluster-inside"
OPERATOR, GENERATORS = "cluster-operator", "cluster-generators"
_CNPG_VERSION = "postgresql.cnpg.io/v1"
_CNPG_LABEL = "cnpg.io/cluster"
_CNPG_OPERATOR = "cnpg.io/operatorVersion"


def ask(
    api: Api,
    points: WatchPoints,
    client: PodPlace | None = None,
    *,
    own: Callable[[], Group] = cluster_groups.own,
) -> ClusterFacts:
    """Ask for all that is known of a server and its clients; `client` is the pod that we are in.

    `own` reads the control group of this process. It raises nothing for what a cluster does not
    tell: that is in `ClusterFacts.absent`.
    """
    asking, place = Asking(api), points.pod
    version = asking.ask(VERSION, api.server_version)
    nodes: dict[str, NodeFacts] = {}
    if place is None:
        asking.miss(SERVER, "the pod of a given server is not known")
    pod, runner = read_pod(asking, SERVER, place), read_pod(asking, CLIENT, client)
    found = ClusterFacts(
        kubernetes_version=version,
        server=asking.safely(
            lambda: _seen(asking, pod, place, nodes, lambda of: inside(asking, of))
        ),
        volumes=asking.safely(lambda: _volumes(asking, place)) or (),
        operator=asking.safely(lambda: _operator(asking, pod)),
        client=asking.safely(lambda: _seen(asking, runner, client, nodes, lambda _: own())),
        generator_nodes=asking.safely(lambda: _generator_nodes(asking, runner)) or (),
    )
    return msgspec.structs.replace(found, absent=asking.absent)


def read_pod(asking: Asking, what: str, place: PodPlace | None) -> Object | None:
    """Read a pod; None where none is meant, or it could not be read."""
    if place is None:
        return None
    return asking.get(what, "Pod", place.name, namespace=place.namespace)


def inside(asking: Asking, place: PodPlace, what: str = INSIDE) -> Group | None:
    """Let a shell in a container read its control group; None where there is none to ask."""
    if place.namespace != asking.api.namespace:
        asking.miss(what, "the pod is in another namespace")
        return None
    ran = asking.ask(
        what,
        lambda: asking.api.execute(
            place.name, place.container, cluster_groups.COMMAND, limit_s=EXECUTE_LIMIT_S
        ),
        is_of_pod=True,
    )
    if ran is None:
        return None
    if ran.returncode != 0:
        asking.miss(what, "the container has no shell")
        return None
    return cluster_groups.told(ran.stdout)


def _seen(
    asking: Asking,
    pod: Object | None,
    place: PodPlace | None,
    nodes: dict[str, NodeFacts],
    look_inside: Callable[[PodPlace], Group | None],
) -> PodFacts | None:
    if pod is None or place is None:
        return None
    name = dug(pod, "spec", "nodeName") or ""
    if name not in nodes:
        nodes[name] = _node(asking, name)
    facts = pod_facts(pod, place.container, nodes[name])
    group = look_inside(place)
    if group is None:
        return facts
    return msgspec.structs.replace(facts, cpuset=group.cpuset, group_version=group.version)


def _volumes(asking: Asking, place: PodPlace | None) -> tuple[VolumeFacts, ...]:
    if place is None:
        return ()
    return tuple(volume_facts(asking, place.namespace, name) for name in place.claims)


def _node(asking: Asking, name: str) -> NodeFacts:
    node = asking.get(NODE, "Node", name, namespace=None)
    cpu_manager, topology_manager = cluster_kubelet.policies(asking, name)
    return msgspec.structs.replace(
        node_facts(name, node), cpu_manager=cpu_manager, topology_manager=topology_manager
    )


def _operator(asking: Asking, pod: Object | None) -> OperatorFacts | None:
    """Ask for the Cluster of a pod that CloudNativePG made; None of another pod."""
    name = (dug(pod, "metadata", "labels") or {}).get(_CNPG_LABEL)
    if pod is None or name is None:
        return None
    meta = pod["metadata"]
    where = meta["namespace"]
    cluster = asking.get(OPERATOR, "Cluster", name, namespace=where, version=_CNPG_VERSION)
    pods = asking.ask(
        OPERATOR,
        lambda: asking.api.list("v1", "Pod", namespace=where, labels={_CNPG_LABEL: name}),
    )
    found = [p for p in pods or () if dug(p, "spec", "nodeName")]
    return OperatorFacts(
        version=(meta.get("annotations") or {}).get(_CNPG_OPERATOR),
        cluster=name,
        instance_count=dug(cluster, "spec", "instances") or len(found),
        primary=dug(cluster, "status", "currentPrimary") or meta["name"],
        instances=tuple(
            InstanceFacts(pod=p["metadata"]["name"], node=p["spec"]["nodeName"]) for p in found
        ),
    )


def _generator_nodes(asking: Asking, runner: Object | None) -> tuple[str, ...]:
    return tuple(pod["spec"]["nodeName"] for pod in generators(asking, runner))


def generators(asking: Asking, runner: Object | None) -> list[Object]:
    """List the pods that make load for the run of this pod."""
    run = (dug(runner, "metadata", "labels") or {}).get(RUN_LABEL)
    if runner is None or run is None:
        return []
    found = asking.ask(
        GENERATORS,
        lambda: asking.api.list(
            "v1",
            "Pod",
            namespace=runner["metadata"]["namespace"],
            labels={RUN_LABEL: run, ROLE_LABEL: "generator"},
        ),
    )
    return [pod for pod in found or () if dug(pod, "status", "phase") == "Running"]
