"""What every server needs that is reached over SQL alone, whoever owns it.

How it comes to be there, and whether it may be started or stopped, its children say.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from groundspeed import spec
from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.targets import sql
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.plan import Command, EnvironmentPlan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Caution, ServerFacts, StorageWork
    from groundspeed.targets.loading import Loader
    from groundspeed.targets.sql import Address


class SqlTarget:
    """The part of `ports.Target` that is alike for all of them."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        loader: Loader,
        *,
        maintenance: Address,
        database: str,
    ) -> None:
        """Prepare addresses; nothing is connected yet.

        `maintenance` is where the server is asked and databases are made; `database` is the one of
        the run.
        """
        self._environment = environment
        self._loader = loader
        self._maintenance = maintenance
        self._address = maintenance.at(database)
        self._buffers_filled = False
        self._scale = 0

    @property
    def conninfo(self) -> str:
        """Connection string of the database under test, without a password."""
        return self._address.conninfo

    @property
    def reset_method(self) -> str:
        """How write trials come to start from the same state."""
        return "vacuum: VACUUM, empty history and CHECKPOINT before each trial after a write trial"

    def refuse_other_versions(self) -> None:
        """Ask the server which it is. Raises TargetError where it is none that we measure."""
        version = sql.facts(self._maintenance).version_num // 10000
        if not spec.OLDEST_POSTGRES <= version <= spec.NEWEST_POSTGRES:
            raise TargetError(
                f"{self._environment.name}: PostgreSQL {version} is not supported",
                f"groundspeed measures {spec.OLDEST_POSTGRES} to {spec.NEWEST_POSTGRES}",
            )

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
        """Run a load command wherever the loader makes it."""
        return self._loader.run(
            command,
            trial,
            address=self._address,
            variables=self._libpq_variables(),
            limit_s=limit_s,
            on_progress=on_progress,
        )

    def storage_work(self) -> StorageWork | None:
        """Tell nothing: no device is emulated there."""
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
            variables=tuple(self._libpq_variables().items()),
        )

    def is_alive(self) -> bool:
        """Tell whether the server answers."""
        return sql.answers(self._address)

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it."""
        return self._loader.program_version(program)

    def server_facts(self) -> ServerFacts:
        """Ask the server for its version and settings."""
        return sql.facts(self._address)

    def _libpq_variables(self) -> Mapping[str, str]:
        """Libpq's variables beyond the address; none, unless a target says so."""
        return {}
