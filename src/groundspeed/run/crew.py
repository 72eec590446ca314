"""What a run works with, and what it knows of the environments that stand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec

from groundspeed.ports import Clock, Listener, Store, Target, Watcher, WatchPoints
from groundspeed.record import ClusterFacts, HostFacts

if TYPE_CHECKING:
    from groundspeed.plan import Cell, Trial
    from groundspeed.record import Caution, ServerFacts, StorageFacts
    from groundspeed.run.upkeep import Upkeep


class Crew(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run works with. `unavailable` maps an environment to why it has no target.

    `is_warm`: targets keep their servers between trials, and are brought back now and then only.
    `look_at_cluster` tells what a server in Kubernetes runs on; it raises nothing.
    """

    targets: Mapping[str, Target]
    unavailable: Mapping[str, str]
    store: Store
    clock: Clock
    listener: Listener
    host: HostFacts
    watcher: Watcher
    is_warm: bool = False
    look_at_cluster: Callable[[WatchPoints], ClusterFacts] | None = None


class EnvironmentState:
    """What the run knows of an environment that stands."""

    def __init__(self, upkeep: Upkeep) -> None:
        self.dirty = False
        self.upkeep = upkeep
        # Of the last checkpoint: they ride on every trial that follows it.
        self.checkpoint_cautions: tuple[Caution, ...] = ()
        # Transactions a second of the last measured trial of each cell.
        self.tps_per_s: dict[Cell, float] = {}
        self.tool_version = ""
        self.server: ServerFacts | None = None
        self.storage: StorageFacts | None = None
        self.cluster: ClusterFacts | None = None
        self._pod_uid: str | None = None

    def look_at_cluster(self, crew: Crew, target: Target) -> None:
        """Ask what the running server is on, unless that is known of the pod it has."""
        if crew.look_at_cluster is None:
            return
        points = target.watch_points()
        if points.server_pid is not None:
            # A server of our own, beside us in our pod.
            return
        uid = None if points.pod is None else points.pod.uid
        if self.cluster is None or self._pod_uid != uid:
            self.cluster, self._pod_uid = crew.look_at_cluster(points), uid


def attempt_number(crew: Crew, trial: Trial) -> int:
    """Count attempts from 1, those of earlier processes among them."""
    earlier = sum(r.trial.trial_id == trial.trial_id for r in crew.store.records())
    return earlier + 1


def timestamp(wall_s: float) -> str:
    """Write seconds since 1970 for people, in UTC."""
    moment = dt.datetime.fromtimestamp(wall_s, tz=dt.UTC)
    return moment.isoformat(timespec="milliseconds")
