"""Where the files of emulated devices really go on this machine, decided once for all of a plan.

In memory where they fit: nothing is faster, and what is played has to be slower than what is there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.storage.placement import Machine, Placement, placement

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.probes.host import Host

MEMORY_DIRECTORY = Path("/dev/shm")  # noqa: S108 - asked for as storage, names below are private
_DISK_DIRECTORY = Path("data")
# The rest is for the server's memory, the load tool and everybody else.
_MOST_OF_MEMORY = 0.5
# What the state of a device takes in memory: two words for each page of 4 KiB that its cache holds,
# and tables that do not depend on it.
_STATE_BYTES = 8 * 1024**2
_CACHE_BYTES_PER_STATE_BYTE = 256


def machine_for(plan: Plan, host: Host) -> Machine:
    """Say what placements need to know of this machine. Raises nothing.

    All environments of the plan count, also those that a resumed run needs no more: one that is
    left would otherwise lie elsewhere than before.
    """
    count = sum(_is_placed_by_us(environment) for environment in plan.environments)
    needed_bytes = count * plan.estimate.disk_bytes_per_environment
    return Machine(
        memory_bytes=host.memory_bytes(),
        fast_directory=str(
            MEMORY_DIRECTORY
            if needed_bytes <= _room_in_memory_bytes(plan, host)
            else _DISK_DIRECTORY.absolute()
        ),
    )


def place_of(environment: EnvironmentPlan, machine: Machine) -> Placement | None:
    """Place an environment; None where it has no storage of its own or cannot have it.

    Raises TargetError as `placement` does.
    """
    if environment.storage is None:
        return None
    place = placement(environment, machine)
    return place if isinstance(place, Placement) else None


def state_bytes(place: Placement) -> int:
    """Estimate the memory that the state of an emulated device takes; 0 where none is."""
    if place.emulation is None:
        return 0
    return _STATE_BYTES + place.emulation.cache_bytes // _CACHE_BYTES_PER_STATE_BYTE


def _is_placed_by_us(environment: EnvironmentPlan) -> bool:
    storage = environment.storage
    return storage is not None and storage.emulate is not None and storage.directory is None


def _room_in_memory_bytes(plan: Plan, host: Host) -> float:
    try:
        mount = host.mount_of(MEMORY_DIRECTORY)
    except OSError:
        return 0
    if not mount.in_memory:
        return 0
    available_bytes = host.available_memory_bytes() - plan.estimate.memory_bytes
    return min(mount.free_bytes, available_bytes * _MOST_OF_MEMORY)
