"""Whether servers of PostgreSQL can be had; `targets.engine_looks.Looks` in its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import installation, sql
from groundspeed.targets.found_server import FoundServer

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan

# PostgreSQL's defaults, and what it keeps for superusers of max_connections.
_MAX_CONNECTIONS, _RESERVED_CONNECTIONS = 100, 3


class PostgresLooks:
    """Implements `Looks`."""

    def here(self) -> tuple[tuple[str, str], ...]:
        """Nothing: it is told with what could be done about it, as most suites need it."""
        return ()

    def embedded(self, environment: EnvironmentPlan, clients_count: int) -> FoundServer:
        """Find the installation of the version asked for, with its pgbench."""
        assert environment.version is not None  # noqa: S101 - embedded ones have it
        found = installation.find(environment.version, environment.bin_dir)
        _enough_connections(environment, clients_count)
        return FoundServer(title=f"PostgreSQL {found.version}", program=found.program("postgres"))

    def given(self, environment: EnvironmentPlan, password: str | None) -> str:
        """Connect and read its version; a pgbench has to be here."""
        installation.newest()
        address = sql.Address(conninfo=environment.dsn or "", password=password)
        with sql.connect(address) as connection:
            version = connection.info.parameter_status("server_version")
        return f"PostgreSQL {version}"


def _enough_connections(environment: EnvironmentPlan, clients_count: int) -> None:
    text = dict(environment.settings).get("max_connections", str(_MAX_CONNECTIONS))
    # One more for ourselves.
    needed = clients_count + _RESERVED_CONNECTIONS + 1
    if text.isdigit() and int(text) < needed:
        raise TargetError(
            f"max_connections is {text}, {clients_count} clients need {needed}",
            f"--set postgres.settings.max_connections={needed}",
        )
