"""A given server: any PostgreSQL 13 to 18 by DSN. The run has one database of its own in it.

Nothing else there is touched: the database has a random name and a comment that says whose it is,
and only with both is it dropped.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from groundspeed.targets import sql
from groundspeed.targets.leases import OwnedDatabase
from groundspeed.targets.sql_target import SqlTarget

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan
    from groundspeed.record import StorageFacts
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.loading import Loader


def drop_owned_database(database: OwnedDatabase) -> None:
    """Drop what a dead run left on a given server. Raises TargetError."""
    password = os.environ.get(database.password_env or "PGPASSWORD")
    address = sql.Address(conninfo=database.conninfo, password=password)
    sql.drop_database(address, database.name, database.comment)


def _libpq_variables() -> dict[str, str]:
    """The caller's libpq variables (TLS, services), without what the run decides itself."""
    decided = ("PGPASSWORD", "PGDATABASE", "PGAPPNAME", "PGCONNECT_TIMEOUT")
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PG") and name not in decided
    }


class ServerTarget(SqlTarget):
    """Implements `ports.Target` for a server that somebody else owns."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        password: str | None,
        loader: Loader,
        *,
        run_id: str,
        lease: LeaseFile,
    ) -> None:
        """Prepare names; nothing is connected yet."""
        maintenance = sql.Address(
            conninfo=environment.dsn or "",
            password=password if password is not None else os.environ.get("PGPASSWORD"),
        )
        self._lease = lease
        self._database = OwnedDatabase(
            conninfo=maintenance.conninfo,
            name=f"groundspeed_{secrets.token_hex(6)}",
            password_env=environment.password_env,
            comment=f"groundspeed run {run_id}",
        )
        super().__init__(environment, loader, maintenance=maintenance, database=self._database.name)
        self._owns_database = False

    def provide(self) -> None:
        """Check the version and create the database."""
        self.refuse_other_versions()
        self._loader.open(environment_slug=self._environment.slug, lease=self._lease)
        self._lease.own_database(self._database)
        self._owns_database = True
        sql.create_database(self._maintenance, self._database.name, self._database.comment)

    def why_dead(self) -> str:
        """Its log is not ours to read."""
        return "its log is on the server"

    def storage_facts(self) -> StorageFacts | None:
        """Nothing is known of a given server's storage over SQL."""
        return None

    def remove(self) -> None:
        """Drop the database; where that fails the lease keeps it for the next command's sweep."""
        self._loader.close(self._lease)
        if not self._owns_database:
            return
        sql.drop_database(self._maintenance, self._database.name, self._database.comment)
        self._lease.disown_database(self._database)
        self._owns_database = False

    def _libpq_variables(self) -> dict[str, str]:
        return _libpq_variables()
