"""An embedded environment: a PostgreSQL that the run creates, starts, stops and removes.

It listens on a private unix socket (or, where asked, on 127.0.0.1 with a password), runs as an
unprivileged user when groundspeed is root, and dies with groundspeed. What it makes is in the lease
before it is made.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.record import StorageFacts
from groundspeed.targets import (
    cluster,
    installation,
    leases,
    load,
    pgbench_login,
    places,
    rest,
    sql,
)
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.postgres_ledger import PostgresLedger
from groundspeed.targets.postmaster import Postmaster
from groundspeed.targets.process import Account
from groundspeed.tools import pgbench
from groundspeed.tools.pgbench_load import PgbenchLoad

if TYPE_CHECKING:
    from groundspeed.plan import Command, EnvironmentPlan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Caution, ServerFacts, StorageWork
    from groundspeed.storage.placement import Placement
    from groundspeed.targets.emulation import EmulatedDevice
    from groundspeed.targets.installation import Installation


def _untold(message: str) -> None:
    """Pass over what nobody wants to be told."""
    del message


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedded server needs to know of the run it is part of."""

    run_id: str
    lease: LeaseFile
    account: Account | None
    describe_storage: Callable[[Path], StorageFacts]
    clone: bool
    # Whether a server runs on between trials, at rest; see `EmbeddedTarget.stop`.
    is_warm: bool = False
    # Told a line now and then of what takes long.
    tell: Callable[[str], None] = _untold


class EmbeddedTarget:
    """Implements `ports.Target` for a server of our own."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        placement: Placement,
        programs: Installation,
        surroundings: Surroundings,
        device: EmulatedDevice | None = None,
    ) -> None:
        """Prepare paths; nothing is made yet. Raises TargetError for a setting that is ours.

        With a device the server's files are on that one, wherever they really lie.
        """
        cluster.refuse_reserved_settings(environment)
        self._environment = environment
        self._placement = placement
        self._programs = programs
        self._with = surroundings
        self._device = device
        self._owned_name = f"{leases.OWNED_NAME}{surroundings.run_id}-{environment.slug}"
        self._password = secrets.token_urlsafe(24)
        self._postmaster: Postmaster | None = None
        self._buffers_filled = False
        self._vacuum_due = False
        self._rested_at_ns = 0
        self._scale = 0
        self._home = Path()
        self._wal_home: Path | None = None
        self._socket_directory = Path()
        self._load_directory = Path()
        self._address = sql.Address(conninfo="", password=None)

    # -- where it is reached

    @property
    def conninfo(self) -> str:
        """Connection string of the database under test, without a password."""
        return self._address.conninfo

    @property
    def reset_method(self) -> str:
        """How write trials come to start from the same state."""
        if self._with.clone:
            return "clone: the data directory as it was after initialisation (reflink copy)"
        return "vacuum: VACUUM, empty history and CHECKPOINT after each trial that writes"

    @property
    def data_directory(self) -> Path:
        """The server's data directory."""
        return self._home / "data"

    # -- life

    def provide(self) -> None:
        """Make directories and cluster, start the server, make the database."""
        self._make_places()
        account = self._with.account
        wal_directory = None if self._wal_home is None else self._wal_home / "wal"
        try:
            cluster.initdb(
                self._programs,
                self.data_directory,
                wal_directory,
                password=self._password,
                account=account,
            )
        except TargetError as error:
            raise self._named(error) from None
        self._address = cluster.configure(
            self._environment, self.data_directory, self._socket_directory, self._password
        )
        if self._device is not None:
            # Not before initdb, which runs at native speed: nobody waits for it in a trial, and
            # what it wrote is found in the page cache or not, as after any restore.
            self._device.make([self.data_directory, *([wal_directory] if wal_directory else [])])
        self._postmaster = Postmaster(
            self._programs.program("postgres"),
            self.data_directory,
            self._home / "server.log",
            account=account,
            lease=self._with.lease,
            variables={} if self._device is None else self._device.variables(),
        )
        self.start()
        comment = f"groundspeed run {self._with.run_id}"
        sql.create_database(self._address.at(cluster.SUPERUSER), cluster.DATABASE, comment)

    def _named(self, error: TargetError) -> TargetError:
        """Say of which environment an error is."""
        return TargetError(f"{self._environment.name}: {error.message}", error.hint)

    def _make_places(self) -> None:
        account, lease = self._with.account, self._with.lease
        base = places.reachable_on_same_storage(Path(self._placement.directory), account)
        self._home = places.make(base / self._owned_name, account, lease)
        if self._placement.wal_directory is not None:
            wal_base = places.reachable_on_same_storage(
                Path(self._placement.wal_directory), account
            )
            self._wal_home = places.make(wal_base / f"{self._owned_name}-wal", account, lease)
        # A path of its own, because a unix socket's path may have 107 bytes only.
        self._socket_directory = places.make(
            places.temporary_directory(account) / f"{leases.OWNED_NAME}{secrets.token_hex(6)}",
            account,
            lease,
        )
        self._load_directory = places.make(
            places.memory_directory() / f"{self._owned_name}-load", account, lease
        )

    def prepare(self, scale: int) -> None:
        """Fill the database with the pgbench dataset and leave the server stopped."""
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
                "check room on the storage; groundspeed plan tells how much is needed",
            )
        sql.checkpoint(self._address)
        self._server.stop()
        if self._with.clone:
            for source, pristine in self._clones():
                places.clone(source, pristine)

    def _clones(self) -> tuple[tuple[Path, Path], ...]:
        pairs = [(self.data_directory, self._home / "pristine")]
        if self._wal_home is not None:
            pairs.append((self._wal_home / "wal", self._wal_home / "pristine"))
        return tuple(pairs)

    def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        if self._server.is_running:
            return
        try:
            self._server.start()
            if self._device is not None and self._server.pid is not None:
                self._device.prove_used_by(self._server.pid)
        except TargetError as error:
            raise self._named(error) from None
        self._buffers_filled = False
        if self._vacuum_due:
            sql.vacuum(self._address)
            self._vacuum_due = False

    @property
    def _server(self) -> Postmaster:
        if self._postmaster is None:
            raise RuntimeError("a server is provided before it is used")
        return self._postmaster

    def stop(self) -> None:
        """Stop the server in order, so that it starts without recovery; a warm one is put to rest.

        At rest it runs on and leaves the machine to the others: see `rest.settle`.
        """
        if self._postmaster is None:
            return
        if self._with.is_warm and self._postmaster.is_running:
            written = () if self._device is not None else (self.data_directory,)
            self._rested_at_ns = rest.settle(
                self._address, written, rested_at_ns=self._rested_at_ns
            )
        else:
            self._postmaster.stop()

    def reset(self) -> None:
        """Bring the dataset back: by clone, or by VACUUM now, or when a stopped server starts."""
        if not self._with.clone:
            if self._server.is_started:
                sql.vacuum(self._address)
            else:
                self._vacuum_due = True
            return
        self._server.stop()
        for source, pristine in self._clones():
            shutil.rmtree(source)
            places.clone(pristine, source)

    def check(self) -> tuple[Caution, ...]:
        """Make sure the dataset is whole and in shared buffers as far as it fits."""
        scale = sql.scale_of(self._address)
        if scale != self._scale:
            raise TargetError(
                f"{self._environment.name}: the dataset has scale {scale}, not {self._scale}",
                "groundspeed resume makes it again",
            )
        doubts = () if self._device is None else self._device.doubts
        if self._buffers_filled:
            return doubts
        self._buffers_filled = True
        return (*doubts, *sql.fill_buffers(self._address, scale))

    def checkpoint(self) -> tuple[Caution, ...]:
        """Write all dirty pages."""
        return sql.checkpoint(self._address)

    def reset_statistics(self) -> tuple[Caution, ...]:
        """Set statistics to zero once the clients of the warm-up are gone."""
        sql.wait_for_clients_to_leave(self._address)
        cautions = sql.reset_statistics(self._address)
        if self._device is not None:
            self._device.begin()
        return cautions

    def storage_work(self) -> StorageWork | None:
        """Tell what the emulated device did since `reset_statistics`."""
        return None if self._device is None else self._device.work()

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Run a load command as the server's user."""
        return load.run_load(
            command,
            trial,
            program=self._programs.program(command.program),
            directory=self._load_directory,
            tool=PgbenchLoad(),
            login=pgbench_login.login(self._address),
            account=self._with.account,
            limit_s=limit_s,
            on_progress=on_progress,
        )

    def watch_points(self) -> WatchPoints:
        """Tell where probes find the running server; all of it is on this machine."""
        return WatchPoints(
            conninfo=self._address.conninfo,
            password=self._address.password,
            groundspeed_pid=os.getpid(),
            server_pid=self._server.pid,
            # Where they really are: the log may be a link to storage of its own.
            data_directory=str(self.data_directory.resolve()),
            wal_directory=str((self.data_directory / "pg_wal").resolve()),
        )

    def is_alive(self) -> bool:
        """Tell whether the server process lives and answers."""
        return self._server.is_running and sql.answers(self._address)

    def why_dead(self) -> str:
        """The last telling line of the server's log."""
        return self._server.last_words()

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it."""
        return installation.program_version(self._programs.program(program))

    def server_facts(self) -> ServerFacts:
        """Ask the running server for its version and settings."""
        return sql.facts(self._address)

    def storage_facts(self) -> StorageFacts | None:
        """Tell where the data directory is."""
        facts = self._with.describe_storage(self.data_directory)
        facts = msgspec.structs.replace(
            facts, label=self._placement.label, emulated=self._placement.emulated
        )
        if self._device is not None:
            facts = self._device.describe(facts)
        if self._wal_home is None:
            return facts
        wal = self._with.describe_storage(self._wal_home)
        return msgspec.structs.replace(
            facts, wal_path=wal.path, wal_filesystem=wal.filesystem, wal_device=wal.device
        )

    # -- ended badly

    def ledger(self) -> PostgresLedger:
        """Numbered entries in the database under test."""
        return PostgresLedger(self._address)

    def kill(self) -> None:
        """Kill all processes of the server at once."""
        self._server.kill()

    def cut_power(self) -> int:
        """Take from the files what had not reached the emulated device; bytes."""
        if self._device is None:
            raise TargetError(
                f"{self._environment.name}: only an emulated device can lose its power",
                "give it storage.emulate, or ask for the ending killed alone",
            )
        taken = self._device.cut_power(at_ns=time.monotonic_ns()).bytes
        # One that was never synced is there without a word in it, and no server starts beside it:
        # whoever starts that of a machine which lost its power takes it away first. A whole one
        # names the shared memory that the next server removes.
        lock = self.data_directory / "postmaster.pid"
        if lock.exists() and not lock.read_bytes():
            lock.unlink()
        return taken

    def remove(self) -> None:
        """Stop the server at once and remove every directory it had."""
        if self._postmaster is not None:
            self._postmaster.quit()
        if self._device is not None:
            self._device.remove()
        for path in (self._home, self._wal_home, self._socket_directory, self._load_directory):
            if path is not None and path != Path():
                places.remove(path, self._with.lease)
