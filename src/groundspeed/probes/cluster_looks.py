"""One look at a server in Kubernetes and those who load it: objects, events, control groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.ports import PodPlace
from groundspeed.probes import cluster_facts, cluster_kubelet
from groundspeed.probes.cluster_objects import container_of, dug
from groundspeed.probes.cluster_volumes import CLAIM, longhorn_name, longhorn_volume

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.manifests.naming import Object
    from groundspeed.probes.cluster_asking import Asking
    from groundspeed.probes.cluster_groups import Group
    from groundspeed.probes.cluster_kubelet import Counted, Room

EVENTS, NODE_EVENTS = "cluster-events", "cluster-node-events"
# Where the kubelet puts events about its node.
_NODE_EVENTS_NAMESPACE = "default"
# What Longhorn says of a volume that lacks nothing; a volume just attached is unknown for a moment.
_WHOLE = frozenset({"healthy", "unknown"})


class Groups(NamedTuple):
    """Control groups of the server, the runner and the generators, by pod.

    `counted` is what the kubelet counted of the server's, where no shell in it could be asked.
    """

    server: Group | None
    counted: Counted | None
    client: Group | None
    generators: dict[str, Group | None]


class Look(NamedTuple):
    """What was seen at one moment; what was not is absent in the asking.

    `room` is looked for after a load alone.
    """

    pod: Object | None
    nodes: tuple[Object, ...]
    events: tuple[Object, ...]
    degraded: tuple[str, ...]
    room: Room | None
    groups: Groups


class Looker:
    """Looks at one server and its clients, before and after a trial."""

    def __init__(
        self,
        asking: Asking,
        server: PodPlace | None,
        client: PodPlace | None,
        own: Callable[[], Group],
    ) -> None:
        """Look at nothing yet. `own` reads the control group of the client, in which we are."""
        self._asking = asking
        self._server = server
        self._client = client
        self._own = own

    def before(self) -> Look:
        """Look before a load: last at what the load changes."""
        pod, runner = self._pods()
        nodes, events, degraded = self._nodes(pod, runner), self._events(pod), self._degraded()
        return Look(pod, nodes, events, degraded, None, self._groups(pod, runner))

    def after(self) -> Look:
        """Look after a load: first at what the load changed."""
        pod, runner = self._pods()
        groups = self._groups(pod, runner)
        nodes, events, degraded = self._nodes(pod, runner), self._events(pod), self._degraded()
        room, node = None, dug(pod, "spec", "nodeName")
        if node is not None and self._server is not None:
            room = cluster_kubelet.room(self._asking, node, self._server)
        return Look(pod, nodes, events, degraded, room, groups)

    def _pods(self) -> tuple[Object | None, Object | None]:
        return (
            cluster_facts.read_pod(self._asking, cluster_facts.SERVER, self._server),
            cluster_facts.read_pod(self._asking, cluster_facts.CLIENT, self._client),
        )

    def _nodes(self, *pods: Object | None) -> tuple[Object, ...]:
        names = dict.fromkeys(filter(None, (dug(pod, "spec", "nodeName") for pod in pods)))
        nodes = (
            self._asking.get(cluster_facts.NODE, "Node", name, namespace=None) for name in names
        )
        return tuple(node for node in nodes if node is not None)

    def _events(self, pod: Object | None) -> tuple[Object, ...]:
        place, node = self._server, dug(pod, "spec", "nodeName")
        if place is None:
            return ()
        found: list[Object] = []
        about = [("Pod", place.name), *(("PersistentVolumeClaim", name) for name in place.claims)]
        for kind, name in about:
            found += self._told(EVENTS, place.namespace, kind, name)
        if node is not None:
            found += self._told(NODE_EVENTS, _NODE_EVENTS_NAMESPACE, "Node", node)
        return tuple(found)

    def _told(self, what: str, namespace: str, kind: str, name: str) -> list[Object]:
        fields = {"involvedObject.kind": kind, "involvedObject.name": name}
        api = self._asking.api
        return (
            self._asking.ask(
                what, lambda: api.list("v1", "Event", namespace=namespace, fields=fields)
            )
            or []
        )

    def _degraded(self) -> tuple[str, ...]:
        """Name the claims whose volume lacks a replica, as Longhorn says."""
        if self._server is None:
            return ()
        found = []
        for name in self._server.claims:
            claim = self._asking.get(
                CLAIM, "PersistentVolumeClaim", name, namespace=self._server.namespace
            )
            volume = longhorn_name(claim)
            seen = None if volume is None else longhorn_volume(self._asking, volume)
            if seen is not None and dug(seen, "status", "robustness") not in _WHOLE:
                found.append(name)
        return tuple(found)

    def _groups(self, pod: Object | None, runner: Object | None) -> Groups:
        asking, server = self._asking, self._server
        generators: dict[str, Group | None] = {}
        for one in cluster_facts.generators(asking, runner):
            meta, container = one["metadata"], container_of(one, "")[0]
            place = PodPlace(
                namespace=meta["namespace"], name=meta["name"], container=container["name"]
            )
            generators[place.name] = cluster_facts.inside(asking, place, cluster_facts.GENERATORS)
        client = None if self._client is None else self._own()
        group = None if pod is None or server is None else cluster_facts.inside(asking, server)
        node, counted = dug(pod, "spec", "nodeName"), None
        if group is None and node is not None and server is not None:
            counted = cluster_kubelet.counted(asking, node, server)
        return Groups(group, counted, client, generators)
