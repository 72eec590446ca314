"""Where the load of a server reached over SQL is made: on this machine, or wherever a loader goes.

A target has a loader of its own. It knows pgbench alone, as only servers over SQL have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from groundspeed.targets import installation, leases, load, pgbench_login, places
from groundspeed.tools.pgbench_load import PgbenchLoad

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from groundspeed.plan import Command, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.sql import Address


class Loader(Protocol):
    """Makes the load of one target. Each call may raise TargetError."""

    def open(self, *, environment_slug: str, lease: LeaseFile) -> None:
        """Make what loads need, noted in the lease first; once, before any load."""
        ...

    def run(  # noqa: PLR0913 - each names one independent circumstance
        self,
        command: Command,
        trial: Trial | None,
        *,
        address: Address,
        variables: Mapping[str, str],
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Execute a load command against a database; with a trial, read its transaction log.

        It is ended after `limit_s` seconds, which is no error: the return code tells. Without a
        trial the command is no load but a preparation (pgbench -i), which is made in one place
        alone. `variables` are libpq's beyond the address.
        """
        ...

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it. Raises TargetError when it is missing."""
        ...

    def close(self, lease: LeaseFile) -> None:
        """Take away what `open` made; nothing where nothing was."""
        ...


class LocalLoader:
    """Implements `Loader` on this machine, as the user who runs groundspeed."""

    def __init__(self, programs: Installation, run_id: str) -> None:
        """Make nothing yet."""
        self._programs = programs
        self._run_id = run_id
        self._directory: Path | None = None

    def open(self, *, environment_slug: str, lease: LeaseFile) -> None:
        """Make a directory in memory, where pgbench leaves its log."""
        name = f"{leases.OWNED_NAME}{self._run_id}-{environment_slug}-load"
        self._directory = places.make(places.memory_directory() / name, None, lease)

    def run(  # noqa: PLR0913 - as above
        self,
        command: Command,
        trial: Trial | None,
        *,
        address: Address,
        variables: Mapping[str, str],
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Run it beside this process."""
        assert self._directory is not None  # noqa: S101 - open comes first
        return load.run_load(
            command,
            trial,
            program=self._programs.program(command.program),
            directory=self._directory,
            tool=PgbenchLoad(),
            login=pgbench_login.login(address, variables),
            # Its certificates are the user's, below the user's home.
            account=None,
            limit_s=limit_s,
            on_progress=on_progress,
        )

    def program_version(self, program: str) -> str:
        """Ask the program."""
        return installation.program_version(self._programs.program(program))

    def close(self, lease: LeaseFile) -> None:
        """Remove the directory; what cannot be removed stays in the lease."""
        if self._directory is not None:
            places.remove(self._directory, lease)
