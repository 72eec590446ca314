"""What a plan needs of this machine against what is free: disk by file system, and memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed import plan as plans
from groundspeed.cli import storage_places
from groundspeed.errors import TargetError
from groundspeed.report.scaling import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.probes.host import Host, Mount
    from groundspeed.storage.placement import Placement

# Two segments: less than that and no server starts.
_LEAST_WAL_BYTES = 32 * 1024**2


SMALLER = "choose a smaller data set, as in --set scale=1 or with fewer keys, or make room"


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """An amount of one thing. Below `least_bytes` the run is sure to fail, above `most_bytes` not.

    `place` is the mount point of a file system, or "memory".
    """

    place: str
    least_bytes: int
    most_bytes: int
    free_bytes: int


def needs_of(plan: Plan, host: Host) -> tuple[Need, ...]:
    """Add up what the embedded environments of a plan need, disks first, then memory.

    All of them count together: a dataset stays until the end of the run. Raises TargetError when a
    storage directory cannot be looked at, or an emulated environment has too little memory.
    """
    machine = storage_places.machine_for(plan, host)
    disks: dict[int, Need] = {}
    in_memory_least = in_memory_most = 0
    for environment in _with_replicas(plan.environments):
        place = storage_places.place_of(environment, machine)
        if place is None:
            continue
        for path, least, most in _parts(place, plan):
            mount = _mount(host, path, environment.name)
            old = disks.get(mount.device_number)
            disks[mount.device_number] = Need(
                place=mount.mount_point,
                least_bytes=least + (old.least_bytes if old else 0),
                most_bytes=most + (old.most_bytes if old else 0),
                free_bytes=mount.free_bytes,
            )
            if mount.in_memory:
                in_memory_least, in_memory_most = in_memory_least + least, in_memory_most + most
    if not any(e.kind is plans.TargetKind.EMBEDDED for e in plan.environments):
        return ()
    if plan.needs is None:
        clients_bytes = plans.BACKEND_BYTES * max(trial.cell.clients for trial in plan.trials)
        server_bytes = plan.estimate.memory_bytes - clients_bytes
    else:
        server_bytes = plan.needs.least_memory_bytes
    memory = Need(
        place="memory",
        least_bytes=in_memory_least + server_bytes,
        most_bytes=in_memory_most + plan.estimate.memory_bytes,
        free_bytes=host.available_memory_bytes(),
    )
    return (*disks.values(), memory)


def _with_replicas(environments: Sequence[EnvironmentPlan]) -> Iterator[EnvironmentPlan]:
    for environment in environments:
        yield environment
        if environment.replica is not None:
            yield environment.replica


def lines(needs: tuple[Need, ...]) -> tuple[str, ...]:
    """Word needs for people, one a line."""
    return tuple(
        f"{need.place}: needs up to {format_bytes(need.most_bytes)},"
        f" {format_bytes(need.free_bytes)} free"
        + (", which may not be enough" if need.free_bytes < need.most_bytes else "")
        for need in needs
    )


def refuse_if_short(needs: tuple[Need, ...]) -> None:
    """Raise TargetError when one of the needs cannot be met for sure."""
    short = [need for need in needs if need.free_bytes < need.least_bytes]
    if not short:
        return
    complaints = tuple((_shortage(need), SMALLER) for need in short)
    raise TargetError(*complaints[0], further=complaints[1:])


def _shortage(need: Need) -> str:
    free, least = format_bytes(need.free_bytes), format_bytes(need.least_bytes)
    return f"{need.place} has {free} free, this run needs at least {least}"


def _parts(place: Placement, plan: Plan) -> list[tuple[Path, int, int]]:
    """List the directories of an environment, each with its least and most bytes."""
    if plan.needs is not None:
        room = (plan.needs.least_disk_bytes, plan.needs.disk_bytes)
        return [(Path(place.directory), *room), *_state(place)]
    scale = max(trial.cell.scale for trial in plan.trials)
    dataset_bytes = scale * plans.DATASET_BYTES_PER_SCALE + plans.EMPTY_CLUSTER_BYTES
    wal_bytes = plan.estimate.disk_bytes_per_environment - dataset_bytes
    data, log = Path(place.directory), Path(place.wal_directory or place.directory)
    return [
        (data, dataset_bytes, dataset_bytes),
        (log, _LEAST_WAL_BYTES, max(wal_bytes, _LEAST_WAL_BYTES)),
        *_state(place),
    ]


def _state(place: Placement) -> list[tuple[Path, int, int]]:
    """What an emulated device itself needs; containers often have little room in /dev/shm."""
    if place.emulation is None:
        return []
    state_bytes = storage_places.state_bytes(place)
    return [(storage_places.MEMORY_DIRECTORY, state_bytes, state_bytes)]


def _mount(host: Host, path: Path, environment: str) -> Mount:
    try:
        return host.mount_of(path)
    except OSError as error:
        raise TargetError(
            f"environment {environment}: {path}: {error.strerror}",
            "name a directory that you may write in storage.directory",
        ) from None
