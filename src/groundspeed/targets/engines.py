"""How servers of each engine are run: the only list of engines among the targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from groundspeed.errors import TargetError
from groundspeed.plan import POSTGRES
from groundspeed.storage.placement import Placement
from groundspeed.targets import redis_claim
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.postgres_maker import PostgresMaker
from groundspeed.targets.redis_maker import RedisMaker
from groundspeed.targets.server import drop_owned_database

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.ports import Target
    from groundspeed.targets.kube_access import ClusterAccess
    from groundspeed.targets.leases import OwnedDatabase
    from groundspeed.targets.local import Surroundings


class Second(msgspec.Struct, frozen=True, kw_only=True):
    """Where the files of a replica live; its environment is `EnvironmentPlan.replica`."""

    placement: Placement
    device: EmulatedDevice | None


class Maker(Protocol):
    """Makes the targets of a run, all of one engine. Each call may raise TargetError."""

    def server_program(self, environment: EnvironmentPlan) -> Path:
        """Find the server's program, where the server's user can reach it."""
        ...

    def embedded(
        self,
        environment: EnvironmentPlan,
        place: Placement,
        device: EmulatedDevice | None,
        second: Second | None,
    ) -> Target:
        """Make the target of a server of our own; nothing is started yet."""
        ...

    def given(self, environment: EnvironmentPlan, password: str | None) -> Target:
        """Make the target of a server that somebody else owns; nothing is connected yet."""
        ...

    def in_cluster(self, environment: EnvironmentPlan, access: ClusterAccess) -> Target:
        """Make the target of a server in a cluster; nothing is made there yet."""
        ...


_MAKERS: Mapping[str, Callable[[Surroundings], Maker]] = {
    POSTGRES: PostgresMaker,
    "redis": RedisMaker,
}


def maker(engine: str, surroundings: Surroundings) -> Maker:
    """Find who makes the targets of an engine. Raises TargetError."""
    try:
        return _MAKERS[engine](surroundings)
    except KeyError:
        raise TargetError(
            f"no server of engine {engine!r} can be run here", "use a later groundspeed"
        ) from None


def drop_owned(owned: OwnedDatabase) -> None:
    """Drop what a dead run left on a given server, whatever its engine. Raises TargetError."""
    if redis_claim.is_of_redis(owned):
        redis_claim.drop_owned_keys(owned)
    else:
        drop_owned_database(owned)
