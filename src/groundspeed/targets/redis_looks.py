"""Whether servers of Redis and Valkey can be had; `targets.engine_looks.Looks` in their terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import redis_programs, redis_state
from groundspeed.targets.found_server import FoundServer
from groundspeed.targets.redis_given import address_of

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan

_MAX_CLIENTS = 10_000
# Ours, a probe's, and a replica's.
_OTHER_CLIENTS = 8


class RedisLooks:
    """Implements `Looks`."""

    def here(self) -> tuple[tuple[str, str], ...]:
        """List the servers and the load tool; only suites of this engine need them."""
        servers = [
            f"{server.title} in {server.path.parent} ({server.source})"
            for server in redis_programs.find_servers()
        ]
        try:
            tool = redis_programs.find_load_tool()
            found = f"{tool.version} in {tool.path.parent}"
        except TargetError as error:
            found = f"{error.message}; suites with engine: redis need it"
        none = ["none found; suites with engine: redis need one"]
        return (
            *(("Redis", server) for server in servers or none),
            ("redis-benchmark", found),
        )

    def embedded(self, environment: EnvironmentPlan, clients_count: int) -> FoundServer:
        """Find a server of the version asked for, and a redis-benchmark."""
        found = redis_programs.find_server(environment.version, environment.bin_dir)
        load_tool = redis_programs.find_load_tool(environment.bin_dir)
        text = dict(environment.settings).get("maxclients", str(_MAX_CLIENTS))
        needed = clients_count + _OTHER_CLIENTS
        if text.isdigit() and int(text) < needed:
            raise TargetError(
                f"maxclients is {text}, {clients_count} clients need {needed}",
                f"--set settings.maxclients={needed}",
            )
        title = f"{found.title} ({found.path}), {load_tool.path.name} {load_tool.version}"
        return FoundServer(title=title, program=found.path)

    def given(self, environment: EnvironmentPlan, password: str | None) -> str:
        """Connect and read its version; a redis-benchmark has to be here."""
        redis_programs.find_load_tool(environment.bin_dir, for_url=environment.dsn or "")
        return redis_state.title(address_of(environment, password))
