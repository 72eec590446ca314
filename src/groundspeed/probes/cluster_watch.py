"""Watches what a cluster does around a trial, beside what another watcher sees of it.

It looks before the trial and after it and asks nothing meanwhile, so that watching loads no server,
no node and no API while load is measured. It fails no trial.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.probes import cluster_events, cluster_groups, cluster_kubelet
from groundspeed.probes.cluster_asking import Asking
from groundspeed.probes.cluster_groups import Group
from groundspeed.probes.cluster_kubelet import Room
from groundspeed.probes.cluster_looks import Looker
from groundspeed.record.cluster_work import ClusterWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.kube.api import Api
    from groundspeed.ports import PodPlace, Seen, Watch, Watcher, WatchPoints
    from groundspeed.probes.cluster_looks import Groups, Look
    from groundspeed.record.cluster_work import ContainerWork


class ClusterWatcher:
    """Implements `ports.Watcher` around another one; `client` is the pod that we are in."""

    def __init__(
        self,
        inner: Watcher,
        api: Api,
        client: PodPlace | None = None,
        *,
        own: Callable[[], Group] = cluster_groups.own,
    ) -> None:
        """Ask nothing yet. `own` reads the control group of this process."""
        self._inner = inner
        self._api = api
        self._client = client
        self._own = own

    def open(self, points: WatchPoints) -> Watch | None:
        """Open the other's watch; None where that is None, as nothing shall be watched then.

        Of a server that is a child of ours, in our own pod, the other sees everything.
        """
        inner = self._inner.open(points)
        if inner is None or points.server_pid is not None:
            return inner
        if points.pod is None and self._client is None:
            return inner
        asking = Asking(self._api)
        looker = Looker(asking, points.pod, self._client, self._own)
        return ClusterWatch(inner, asking, looker, points.pod, self._client)


class ClusterWatch:
    """Implements `ports.Watch`."""

    def __init__(
        self,
        inner: Watch,
        asking: Asking,
        looker: Looker,
        server: PodPlace | None,
        client: PodPlace | None,
    ) -> None:
        """Look at nothing yet."""
        self._inner = inner
        self._asking = asking
        self._looker = looker
        self._server = server
        self._client = client
        self._before: Look | None = None
        self._began_at_s = time.time()

    def begin(self) -> None:
        """Look, and let the other begin to count; returns when it does."""
        self._before = self._asking.safely(self._looker.before)
        self._began_at_s = time.time()
        self._inner.begin()

    def end(self) -> Seen:
        """Let the other stop counting, and look again."""
        seen = self._inner.end()
        work = self._asking.safely(lambda: self._work(seen.evidence.elapsed_s))
        evidence = msgspec.structs.replace(
            seen.evidence,
            cluster=work,
            costs=(*seen.evidence.costs, self._asking.cost),
            absent=(*seen.evidence.absent, *self._asking.absent),
        )
        return msgspec.structs.replace(seen, evidence=evidence)

    def close(self) -> None:
        """Close the other's watch; there is nothing of our own."""
        self._inner.close()

    def _work(self, elapsed_s: float) -> ClusterWork | None:
        before = self._before
        if before is None:
            return None
        after = self._looker.after()
        container = "" if self._server is None else self._server.container
        restart_count, is_killed = cluster_events.restarts(before.pod, after.pod, container)
        came = cluster_events.came(
            cluster_events.counts(before.events), after.events, self._began_at_s
        )
        group = after.groups.server or Group()
        room = after.room or Room(None, None)
        is_known = before.pod is not None and after.pod is not None
        kill_count = _kills(before.groups, after.groups)
        return ClusterWork(
            server=self._server_work(before.groups, after.groups, elapsed_s),
            client=self._client_work(before.groups, after.groups, elapsed_s),
            generators=_generators(before.groups, after.groups, elapsed_s),
            restart_count=restart_count if is_known else None,
            oom_count=max(kill_count or 0, 1) if is_killed else kill_count,
            memory_used_bytes=group.memory_used_bytes,
            memory_limit_bytes=group.memory_limit_bytes,
            pressures=cluster_events.pressures(before.nodes, after.nodes),
            events=came,
            degraded=tuple(dict.fromkeys((*before.degraded, *after.degraded))),
            volume_used_bytes=room.used_bytes,
            volume_free_bytes=room.free_bytes,
        )

    def _server_work(self, before: Groups, after: Groups, elapsed_s: float) -> ContainerWork | None:
        if self._server is None:
            return None
        name = self._server.name
        seen = cluster_groups.work(name, before.server, after.server, elapsed_s)
        return seen or cluster_kubelet.work(name, before.counted, after.counted)

    def _client_work(self, before: Groups, after: Groups, elapsed_s: float) -> ContainerWork | None:
        if self._client is None:
            return None
        return cluster_groups.work(self._client.name, before.client, after.client, elapsed_s)


def _generators(before: Groups, after: Groups, elapsed_s: float) -> tuple[ContainerWork, ...]:
    seen = (
        cluster_groups.work(pod, before.generators.get(pod), group, elapsed_s)
        for pod, group in after.generators.items()
    )
    return tuple(one for one in seen if one is not None)


def _kills(before: Groups, after: Groups) -> int | None:
    """Count the processes of the server that the kernel killed for their memory."""
    if before.server is None or after.server is None or after.server.kill_count is None:
        return None
    grown = after.server.kill_count - (before.server.kill_count or 0)
    # A container that began anew counts anew.
    return grown if grown >= 0 else after.server.kill_count
