"""Makes targets of Redis and Valkey; `targets.engines.Maker` in their terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import redis_programs, redis_tools
from groundspeed.targets.redis_embedded import EmbeddedRedis
from groundspeed.targets.redis_given import GivenRedis

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.ports import Target
    from groundspeed.storage.placement import Placement
    from groundspeed.targets.emulation import EmulatedDevice
    from groundspeed.targets.engines import Second
    from groundspeed.targets.kube_access import ClusterAccess
    from groundspeed.targets.local import Surroundings
    from groundspeed.targets.redis_programs import Program
    from groundspeed.targets.redis_tools import RedisTools


class RedisMaker:
    """Implements `targets.engines.Maker`; copies a program that is out of reach once."""

    def __init__(self, surroundings: Surroundings) -> None:
        """Make nothing yet."""
        self._with = surroundings
        self._reachable: dict[Path, Path] = {}

    def server_program(self, environment: EnvironmentPlan) -> Path:
        """Find a redis-server or valkey-server of the version asked for."""
        found = redis_programs.find_server(environment.version, environment.bin_dir)
        return self._reach(found)

    def embedded(
        self,
        environment: EnvironmentPlan,
        place: Placement,
        device: EmulatedDevice | None,
        second: Second | None,
    ) -> EmbeddedRedis:
        """Make the target of a server of our own, and of its replica."""
        asks = environment.listen == "loopback" or environment.replica is not None
        tools = self._tools(environment, self.server_program(environment), asks_for_password=asks)
        return EmbeddedRedis(environment, place, tools, self._with, device, second=second)

    def given(self, environment: EnvironmentPlan, password: str | None) -> GivenRedis:
        """Make the target of a given server."""
        tools = self._tools(environment, None, asks_for_password=password is not None)
        return GivenRedis(environment, password, tools, self._with)

    def in_cluster(self, environment: EnvironmentPlan, access: ClusterAccess) -> Target:
        """Refuse it, as suites are: none is made in a cluster yet. Raises TargetError."""
        del access
        raise TargetError(
            f"{environment.name}: in Kubernetes only postgres is measured",
            "name the address of the server with target: server",
        )

    def _tools(
        self, environment: EnvironmentPlan, server: Path | None, *, asks_for_password: bool
    ) -> RedisTools:
        load_tool = redis_programs.find_load_tool(
            environment.bin_dir, for_url=environment.dsn or ""
        )
        hiding = None
        if asks_for_password:
            hiding = redis_tools.library(self._with.run_id, self._with.account, self._with.lease)
        return redis_tools.RedisTools(
            server=server, load_tool=self._reach(load_tool), library=hiding
        )

    def _reach(self, program: Program) -> Path:
        if program.path not in self._reachable:
            self._reachable[program.path] = redis_tools.reachable(
                program, self._with.run_id, self._with.account, self._with.lease
            )
        return self._reachable[program.path]
