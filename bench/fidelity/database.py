"""A PostgreSQL of our own whose server can be started with or without an emulated device.

`targets.local` decides that once for a server; here the same files are served both ways in turn.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench.figures import POSTGRES_VERSION
from groundspeed.plan import EnvironmentPlan, StorageRequest, TargetKind
from groundspeed.targets import cluster, installation, leases, places, process, sql
from groundspeed.targets.postmaster import Postmaster
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from bench.fidelity.workshop import Workshop
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.sql import Address

NATIVE: Mapping[str, str] = {}
# Whatever is compared: no checkpoint but those that are asked for, and none of autovacuum's work.
_SETTINGS = (
    ("checkpoint_timeout", "1h"),
    ("max_wal_size", "4GB"),
    ("autovacuum", "off"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    """A cluster with the pgbench dataset; no server runs outside `running`."""

    shop: Workshop
    home: Path
    programs: Installation
    address: Address
    scale: int

    @property
    def data_directory(self) -> Path:
        """The server's data directory."""
        return self.home / "data"

    @contextmanager
    def running(self, variables: Mapping[str, str] = NATIVE) -> Iterator[Postmaster]:
        """Run the server; end it at once, without a checkpoint: the next start recovers."""
        server = Postmaster(
            self.programs.program("postgres"),
            self.data_directory,
            self.home / "server.log",
            account=self.shop.account,
            lease=self.shop.lease,
            variables=variables,
        )
        try:
            server.start()
            yield server
        finally:
            server.quit()

    def settle(self) -> None:
        """Recover and write everything at native speed, so that both ways start alike."""
        with self.running() as server:
            sql.checkpoint(self.address)
            server.stop()

    def warm(self) -> None:
        """Bring the dataset into shared buffers as far as it fits."""
        sql.fill_buffers(self.address, self.scale)

    @contextmanager
    def load(self, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start pgbench as the server's user, in the server's home; end it."""
        secret = f"*:*:*:*:{self.address.password}\n"
        with process.memory_file(secret, self.shop.account) as (descriptor, passfile):
            started = process.start(
                [self.programs.program("pgbench"), *arguments, self.address.conninfo],
                account=self.shop.account,
                environment={"PGPASSFILE": passfile},
                cwd=self.home,
                pass_fds=(descriptor,),
            )
            try:
                yield started
            finally:
                process.end(started)

    def pgbench(self, *arguments: str) -> str:
        """Run pgbench to its end and give what it printed. Raises SystemExit when it fails."""
        with self.load(*arguments) as started:
            stdout, stderr = started.communicate()
        if started.returncode != 0:
            raise SystemExit(f"pgbench: {pgbench.error_line(stderr.decode())}")
        return stdout.decode()

    def tps_per_s(self, *arguments: str) -> float:
        """Run pgbench and give its transactions a second."""
        return pgbench.parse(self.pgbench("--no-vacuum", *arguments)).tps_per_s

    def ask(self, query: str) -> tuple[object, ...]:
        """Ask for one row."""
        with sql.connect(self.address) as connection:
            row = connection.execute(query.encode()).fetchone()
        if row is None:
            raise SystemExit(f"no row: {query}")
        return row


@contextmanager
def database(
    shop: Workshop,
    directory: Path,
    *,
    scale: int,
    settings: tuple[tuple[str, str], ...] = (),
) -> Iterator[Database]:
    """Make a cluster below `directory`, a unix socket its only door, and remove it."""
    account = shop.account
    found = installation.find(POSTGRES_VERSION)
    with (
        shop.directory(directory, account=account) as home,
        shop.directory(places.temporary_directory(account), account=account) as sockets,
    ):
        programs = places.reachable_programs(found, home.name, account, shop.lease)
        password = secrets.token_urlsafe(24)
        cluster.initdb(programs, home / "data", None, password=password, account=account)
        environment = EnvironmentPlan(
            name="bench",
            slug="bench",
            kind=TargetKind.EMBEDDED,
            storage=StorageRequest(directory=str(directory)),
            version=POSTGRES_VERSION,
            settings=(*_SETTINGS, *settings),
        )
        address = cluster.configure(environment, home / "data", sockets, password)
        made = Database(shop=shop, home=home, programs=programs, address=address, scale=scale)
        with made.running() as server:
            sql.create_database(address.at(cluster.SUPERUSER), cluster.DATABASE, "benchmark")
            made.pgbench(*pgbench.initialise("", scale=scale).arguments[:-1])
            sql.checkpoint(address)
            server.stop()
        try:
            yield made
        finally:
            if programs is not found:
                _remove_copies(programs, shop)


def _remove_copies(programs: Installation, shop: Workshop) -> None:
    for path in (programs.bin_dir, *programs.bin_dir.parents):
        if path.name.startswith(leases.OWNED_NAME):
            places.remove(path, shop.lease)
            return
