"""A given server: any PostgreSQL 13 to 18 by DSN. The run has one database of its own in it.

Nothing else there is touched: the database has a random name and a comment that says whose it is,
and only with both is it dropped.
"""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

from groundspeed import spec
from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.targets import installation, leases, load, pgbench_login, places, sql
from groundspeed.targets.leases import OwnedDatabase
from groundspeed.tools import pgbench
from groundspeed.tools.pgbench_load import PgbenchLoad

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from groundspeed.plan import Command, EnvironmentPlan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Caution, ServerFacts, StorageFacts, StorageWork
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.leases import LeaseFile


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


class ServerTarget:
    """Implements `ports.Target` for a server that somebody else owns."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        password: str | None,
        programs: Installation,
        *,
        run_id: str,
        lease: LeaseFile,
    ) -> None:
        """Prepare names; nothing is connected yet."""
        self._environment = environment
        self._programs = programs
        self._lease = lease
        self._run_id = run_id
        self._maintenance = sql.Address(
            conninfo=environment.dsn or "",
            password=password if password is not None else os.environ.get("PGPASSWORD"),
        )
        self._database = OwnedDatabase(
            conninfo=self._maintenance.conninfo,
            name=f"groundspeed_{secrets.token_hex(6)}",
            password_env=environment.password_env,
            comment=f"groundspeed run {run_id}",
        )
        self._address = self._maintenance.at(self._database.name)
        self._owns_database = False
        self._buffers_filled = False
        self._scale = 0
        self._load_directory: Path | None = None

    @property
    def conninfo(self) -> str:
        """Connection string of the database under test, without a password."""
        return self._address.conninfo

    @property
    def reset_method(self) -> str:
        """How write trials come to start from the same state."""
        return "vacuum: VACUUM, empty history and CHECKPOINT before each trial after a write trial"

    def provide(self) -> None:
        """Check the version and create the database."""
        version = sql.facts(self._maintenance).version_num // 10000
        if not spec.OLDEST_POSTGRES <= version <= spec.NEWEST_POSTGRES:
            raise TargetError(
                f"{self._environment.name}: PostgreSQL {version} is not supported",
                f"groundspeed measures {spec.OLDEST_POSTGRES} to {spec.NEWEST_POSTGRES}",
            )
        self._load_directory = places.make(
            places.memory_directory()
            / f"{leases.OWNED_NAME}{self._run_id}-{self._environment.slug}-load",
            None,
            self._lease,
        )
        self._lease.own_database(self._database)
        self._owns_database = True
        sql.create_database(self._maintenance, self._database.name, self._database.comment)

    def prepare(self, scale: int) -> None:
        """Fill the database with the pgbench dataset."""
        self._scale = scale
        done = self.load(
            pgbench.initialise(self.conninfo, scale=scale),
            None,
            limit_s=float("inf"),
            on_progress=lambda _: None,
        )
        if done.returncode != 0:
            raise TargetError(
                f"{self._environment.name}: pgbench -i failed: {pgbench.error_line(done.stderr)}",
                "check room and rights on that server",
            )

    def start(self) -> None:
        """Do nothing: it is not ours to start."""

    def stop(self) -> None:
        """Do nothing: it is not ours to stop."""

    def reset(self) -> None:
        """Make the space of dead rows free again and empty the history."""
        sql.vacuum(self._address)

    def check(self) -> tuple[Caution, ...]:
        """Make sure the dataset is whole; read it once into the server's buffers."""
        scale = sql.scale_of(self._address)
        if scale != self._scale:
            raise TargetError(
                f"{self._environment.name}: the dataset has scale {scale}, not {self._scale}",
                "groundspeed resume makes it again",
            )
        if self._buffers_filled:
            return ()
        self._buffers_filled = True
        return sql.fill_buffers(self._address, scale)

    def checkpoint(self) -> tuple[Caution, ...]:
        """Write all dirty pages, where the user may."""
        return sql.checkpoint(self._address)

    def reset_statistics(self) -> tuple[Caution, ...]:
        """Set statistics to zero, where the user may."""
        sql.wait_for_clients_to_leave(self._address)
        return sql.reset_statistics(self._address)

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Run a load command on this machine, as the user who runs groundspeed."""
        assert self._load_directory is not None  # noqa: S101 - provide comes first
        return load.run_load(
            command,
            trial,
            program=self._programs.program(command.program),
            directory=self._load_directory,
            tool=PgbenchLoad(),
            login=pgbench_login.login(self._address, _libpq_variables()),
            # Its certificates are the user's, below the user's home.
            account=None,
            limit_s=limit_s,
            on_progress=on_progress,
        )

    def storage_work(self) -> StorageWork | None:
        """Nothing is known of a given server's storage."""
        return None

    def watch_points(self) -> WatchPoints:
        """Tell where probes find it: over SQL alone.

        Also where it runs on this machine. Whoever listens on its socket need not be the server
        (a pooler, a tunnel, the end of a container's port), and a wrong process is worse than none.
        """
        return WatchPoints(
            conninfo=self._address.conninfo,
            password=self._address.password,
            groundspeed_pid=os.getpid(),
            variables=tuple(_libpq_variables().items()),
        )

    def is_alive(self) -> bool:
        """Tell whether the server answers."""
        return sql.answers(self._address)

    def why_dead(self) -> str:
        """Its log is not ours to read."""
        return "its log is on the server"

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it."""
        return installation.program_version(self._programs.program(program))

    def server_facts(self) -> ServerFacts:
        """Ask the server for its version and settings."""
        return sql.facts(self._address)

    def storage_facts(self) -> StorageFacts | None:
        """Nothing is known of a given server's storage over SQL."""
        return None

    def remove(self) -> None:
        """Drop the database; where that fails the lease keeps it for the next command's sweep."""
        if self._load_directory is not None:
            places.remove(self._load_directory, self._lease)
        if not self._owns_database:
            return
        sql.drop_database(self._maintenance, self._database.name, self._database.comment)
        self._lease.disown_database(self._database)
        self._owns_database = False
