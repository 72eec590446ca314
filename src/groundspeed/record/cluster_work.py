"""What a cluster did around one trial: looked at before it and after it, never meanwhile."""

from __future__ import annotations

import msgspec


class ContainerWork(msgspec.Struct, frozen=True, kw_only=True):
    """What a container did with the processors it may have; growth over the trial.

    `cpu_count` are the cores it burnt, mean over the trial. `throttled_count` are the periods of
    its quota in which it was held back, None without a quota; the pod has one of its own that it
    does not see, so these are the least. `throttled_s` is how long its tasks stood still for it,
    together; `source` is where it was seen.
    """

    pod: str
    cpu_count: float | None = None
    period_count: int | None = None
    throttled_count: int | None = None
    throttled_s: float | None = None
    source: str

    @property
    def throttled_ratio(self) -> float | None:
        """Share of the periods in which it was held back; None where that is not known."""
        if self.period_count is None or self.throttled_count is None:
            return None
        return min(1.0, self.throttled_count / self.period_count) if self.period_count else 0.0


class NodePressure(msgspec.Struct, frozen=True, kw_only=True):
    """A node that was short of something, as in MemoryPressure, at any time of the trial."""

    node: str
    condition: str


class ClusterEvent(msgspec.Struct, frozen=True, kw_only=True):
    """An event of the cluster about the server's pod, its claims or its node.

    `about` is what it is about, as in Pod/db-0; `kind` is Normal or Warning; `count` is how often
    it came during the trial, `at_s` when the last time, in seconds since the measured load began.
    """

    about: str
    kind: str
    reason: str
    message: str
    count: int
    at_s: float


class ClusterWork(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster did around one trial; None where it could not be seen.

    `server` is the server's container, `client` that of the runner, `generators` those that make
    load beside it. `memory_used_bytes` is the working set at the end: without the file cache that
    the kernel gives back first. `degraded` are claims whose volume lacked a replica before or after
    it; `volume_used_bytes` and `volume_free_bytes` are of the data's volume, as its kubelet says.
    """

    server: ContainerWork | None = None
    client: ContainerWork | None = None
    generators: tuple[ContainerWork, ...] = ()
    restart_count: int | None = None
    oom_count: int | None = None
    memory_used_bytes: int | None = None
    memory_limit_bytes: int | None = None
    pressures: tuple[NodePressure, ...] = ()
    events: tuple[ClusterEvent, ...] = ()
    degraded: tuple[str, ...] = ()
    volume_used_bytes: int | None = None
    volume_free_bytes: int | None = None
