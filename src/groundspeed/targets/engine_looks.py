"""Whether servers of an engine can be had, looked at before anything is made. For `doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from groundspeed.errors import TargetError
from groundspeed.plan import POSTGRES
from groundspeed.targets.postgres_looks import PostgresLooks
from groundspeed.targets.redis_looks import RedisLooks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.targets.found_server import FoundServer


class Looks(Protocol):
    """Looks at what an engine needs; changes nothing."""

    def here(self) -> tuple[tuple[str, str], ...]:
        """List what of an engine is on this machine, or that nothing is: (name, value) pairs."""
        ...

    def embedded(self, environment: EnvironmentPlan, clients_count: int) -> FoundServer:
        """Find the programs for a server of our own that takes so many clients.

        Raises TargetError for what is missing or would not do.
        """
        ...

    def given(self, environment: EnvironmentPlan, password: str | None) -> str:
        """Ask a given server what it is, such as PostgreSQL 16.4. Raises TargetError."""
        ...


_LOOKS: Mapping[str, Looks] = {POSTGRES: PostgresLooks(), "redis": RedisLooks()}


def looks(engine: str) -> Looks:
    """Find who looks at an engine. Raises TargetError."""
    try:
        return _LOOKS[engine]
    except KeyError:
        raise TargetError(
            f"no server of engine {engine!r} can be run here", "use a later groundspeed"
        ) from None


def here() -> tuple[tuple[str, str], ...]:
    """List what of all engines is on this machine, as (name, value) pairs."""
    return tuple(pair for one in _LOOKS.values() for pair in one.here())
