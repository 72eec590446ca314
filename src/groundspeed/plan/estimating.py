"""What running a plan will take: time, disk and memory. Rough; the true figures are on records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.plan.kubernetes import ClusterKind
from groundspeed.plan.parts import DATASET_BYTES_PER_SCALE, Estimate, TargetKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed import spec
    from groundspeed.plan.parts import (
        CapacitySearch,
        EngineNeeds,
        EnvironmentPlan,
        Sequential,
        Trial,
        WorkloadPlan,
    )

EMPTY_CLUSTER_BYTES = 40 * 1024**2
DEFAULT_MAX_WAL_BYTES = 1024**3
DEFAULT_SHARED_BUFFERS_BYTES = 128 * 1024**2
BACKEND_BYTES = 10 * 1024**2
# Rough, for the estimate only; the true ones are on every record.
INITIALISE_S_PER_SCALE = 0.15
ENVIRONMENT_SET_UP_S = 1.5
# A pod is placed, its volume made, its image pulled where it is not there; a Cluster has a pod that
# makes its database first, and makes its replicas one after the other.
POD_SET_UP_S = 30.0
CLUSTER_SET_UP_S = 60.0
REPLICA_SET_UP_S = 45.0
# To take a server's pod down for the time of others' trials, and up again.
POD_RESTART_S = 15.0
TRIAL_OVERHEAD_S = 0.8
RESET_S_PER_SCALE = 0.004
# Of a slice on a server that is warm, on an idle machine of two cores: what it takes beside its
# load, and what of that is after its record was written.
SLICE_OVERHEAD_S = 0.2
SLICE_BETWEEN_S = 0.04
SLICE_OVERHEAD_S_PER_CLIENT = 0.002
# To start the process that watches one.
WATCHING_S = 0.35
# After so much load that writes, the dataset of a warm server is brought back; see run.upkeep.
UPKEEP_LOAD_S = 60.0
_MINUTE_S = 60


def setting_bytes(environment: EnvironmentPlan, name: str, unit_bytes: int, default: int) -> int:
    """Read a setting of an environment that is a size; the default where it is not set."""
    value = dict(environment.settings).get(name)
    if value is None:
        return default
    match = re.fullmatch(r"\s*(\d+)\s*(kB|MB|GB|TB)?\s*", value)
    if match is None:
        return default
    units = {"kB": 1024, "MB": 1024**2, "GB": 1024**3, "TB": 1024**4}
    return int(match[1]) * (units[match[2]] if match[2] else unit_bytes)


def _buffers_bytes(environment: EnvironmentPlan) -> int:
    return setting_bytes(environment, "shared_buffers", 8192, DEFAULT_SHARED_BUFFERS_BYTES)


def warm_memory_bytes(
    environments: Sequence[EnvironmentPlan], clients: int, needs: EngineNeeds | None = None
) -> int:
    """Bound what servers take that all run at once, one of them with its clients."""
    owned = [e for e in environments if e.kind is TargetKind.EMBEDDED]
    if needs is not None:
        return len(owned) * needs.memory_bytes
    # Beside its buffers a server has processes of its own: about as much as a few backends.
    servers_bytes = sum(_buffers_bytes(e) + 4 * BACKEND_BYTES for e in owned)
    return servers_bytes + clients * BACKEND_BYTES


def set_up_s(
    environments: Sequence[EnvironmentPlan], scale: int, needs: EngineNeeds | None = None
) -> float:
    """Estimate what making the servers and their datasets takes."""
    if needs is not None:
        return len(environments) * needs.set_up_s
    return sum(_server_s(e) + INITIALISE_S_PER_SCALE * scale for e in environments)


def _server_s(environment: EnvironmentPlan) -> float:
    cluster = environment.cluster
    if cluster is None or cluster.kind is ClusterKind.SERVICE:
        return ENVIRONMENT_SET_UP_S
    if cluster.kind is ClusterKind.CNPG:
        return CLUSTER_SET_UP_S + REPLICA_SET_UP_S * (cluster.instance_count - 1)
    return POD_SET_UP_S


def slice_wall_s(load_s: float, *, clients: int, scale: int, writes: bool) -> float:
    """Estimate the wall time of a slice that is not watched; `load_s` has its warm-up too."""
    upkeep_s = RESET_S_PER_SCALE * scale * load_s / UPKEEP_LOAD_S if writes else 0.0
    return load_s + SLICE_OVERHEAD_S + SLICE_OVERHEAD_S_PER_CLIENT * clients + upkeep_s


def minutes(span_s: float) -> str:
    """Write a span for a complaint: in minutes, below two of them in seconds."""
    return f"{span_s:.0f} s" if span_s < 2 * _MINUTE_S else f"{span_s / _MINUTE_S:.0f} min"


def estimate(  # noqa: PLR0913 - each names one independent circumstance
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
    trials: Sequence[Trial],
    sequential: Sequential | CapacitySearch | None,
    *,
    needs: EngineNeeds | None = None,
) -> Estimate:
    """Add up what a plan takes; an upper bound where it stops when it is decided.

    `needs` are those of an environment of another engine than postgres.
    """
    if needs is not None:
        load_s, wall_s, first_look_s = _times(
            suite, environments, workloads, trials, sequential, needs=needs
        )
        return Estimate(
            trial_count=len(trials),
            load_s=load_s,
            wall_s=wall_s,
            disk_bytes_per_environment=needs.disk_bytes,
            memory_bytes=needs.memory_bytes,
            first_look_s=first_look_s,
        )
    owned = [e for e in environments if e.kind is TargetKind.EMBEDDED]
    load_s, wall_s, first_look_s = _times(suite, environments, workloads, trials, sequential)
    wal_bytes = max(
        (setting_bytes(e, "max_wal_size", 1024**2, DEFAULT_MAX_WAL_BYTES) for e in owned),
        default=0,
    )
    # WAL of the initialisation itself stays below twice max_wal_size; small datasets need less.
    dataset_bytes = suite.scale * DATASET_BYTES_PER_SCALE
    return Estimate(
        trial_count=len(trials),
        load_s=load_s,
        wall_s=wall_s,
        disk_bytes_per_environment=dataset_bytes
        + EMPTY_CLUSTER_BYTES
        + min(wal_bytes, 2 * dataset_bytes + 64 * 1024**2),
        memory_bytes=max(map(_buffers_bytes, owned), default=0)
        + max(suite.clients) * BACKEND_BYTES,
        first_look_s=first_look_s,
    )


def _times(  # noqa: PLR0913 - as above
    suite: spec.Suite,
    environments: Sequence[EnvironmentPlan],
    workloads: Sequence[WorkloadPlan],
    trials: Sequence[Trial],
    sequential: Sequential | CapacitySearch | None,
    *,
    needs: EngineNeeds | None = None,
) -> tuple[float, float, float | None]:
    """Estimate load, wall time, and the time until the first answers."""
    writes = {w.name: w.writes for w in workloads}
    restarting = {e.name for e in environments if e.cluster is not None and e.cluster.one_at_a_time}
    to_set_up_s = set_up_s(environments, suite.scale, needs)
    load_s = float(sum(t.duration_s for t in trials))
    if sequential is None:
        overhead_s = sum(
            t.warm_up_s
            + TRIAL_OVERHEAD_S
            + (RESET_S_PER_SCALE * suite.scale if writes[t.cell.workload] else 0)
            + (POD_RESTART_S if t.cell.environment in restarting else 0)
            for t in trials
        )
        return load_s, to_set_up_s + load_s + overhead_s, None
    walls_s = [
        slice_wall_s(
            t.duration_s + t.warm_up_s,
            clients=t.cell.clients,
            scale=t.cell.scale,
            writes=writes[t.cell.workload],
        )
        + (WATCHING_S if t.repeat_index < sequential.watched_round_count else 0.0)
        for t in trials
    ]
    first_s = to_set_up_s + sum(
        s
        for t, s in zip(trials, walls_s, strict=True)
        if t.repeat_index < sequential.first_look_count
    )
    wall_s = min(sequential.at_most_s, to_set_up_s + sum(walls_s))
    # Of the time there is, as much is load as of the time all rounds would take.
    return load_s * (wall_s - to_set_up_s) / sum(walls_s), wall_s, first_s
