"""An embedded environment: a PostgreSQL that the run creates, starts, stops and removes.

It listens on a private unix socket (or, where asked, on 127.0.0.1 with a password), runs as an
unprivileged user when groundspeed is root, and dies with groundspeed. What it makes is in the lease
before it is made.
"""

from __future__ import annotations

import secrets
import select
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.record import StorageFacts
from groundspeed.targets import installation, leases, load, places, process, sql
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.process import Account
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    import subprocess

    from groundspeed.plan import Command, EnvironmentPlan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Caution, ServerFacts
    from groundspeed.storage.placement import Placement
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.leases import OwnedProcess

DATABASE = "groundspeed"
SUPERUSER = "postgres"
# Of the run, not of the suite: they decide where the server is reached and what is left of it.
RESERVED_SETTINGS = frozenset(
    {
        "port",
        "listen_addresses",
        "unix_socket_directories",
        "data_directory",
        "hba_file",
        "ident_file",
        "logging_collector",
        "external_pid_file",
        "unix_socket_permissions",
        "config_file",
        "include",
        "include_dir",
        "include_if_exists",
    }
)
_START_LIMIT_S = 600.0
_POLL_S = 0.005
_STOP_PATIENCE_S = 300.0


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What an embedded server needs to know of the run it is part of."""

    run_id: str
    lease: LeaseFile
    account: Account | None
    describe_storage: Callable[[Path], StorageFacts]
    clone: bool


class EmbeddedTarget:
    """Implements `ports.Target` for a server of our own."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        placement: Placement,
        programs: Installation,
        surroundings: Surroundings,
    ) -> None:
        """Prepare paths; nothing is made yet. Raises TargetError for a setting that is ours."""
        reserved = sorted(RESERVED_SETTINGS & {name.lower() for name, _ in environment.settings})
        if reserved:
            raise TargetError(
                f"{environment.name}: the setting {reserved[0]} belongs to groundspeed",
                "leave it out; listen: loopback makes the server listen on 127.0.0.1",
            )
        self._environment = environment
        self._placement = placement
        self._programs = programs
        self._with = surroundings
        self._owned_name = f"{leases.OWNED_NAME}{surroundings.run_id}-{environment.slug}"
        self._password = secrets.token_urlsafe(24)
        self._postmaster: subprocess.Popen[bytes] | None = None
        self._owned_postmaster: OwnedProcess | None = None
        self._buffers_filled = False
        self._vacuum_due = False
        self._scale = 0
        self._log_start_bytes = 0
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
    def log_prefix(self) -> str:
        """Where pgbench writes its transaction logs."""
        return load.LOG_NAME

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
        self._initdb()
        self._configure()
        self.start()
        comment = f"groundspeed run {self._with.run_id}"
        sql.create_database(self._address.at(SUPERUSER), DATABASE, comment)

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

    def _initdb(self) -> None:
        arguments = ["-D", str(self.data_directory), "-U", SUPERUSER, "-N", "-E", "UTF8"]
        arguments += ["--locale=C", "-A", "scram-sha-256"]
        if self._wal_home is not None:
            arguments.append(f"--waldir={self._wal_home / 'wal'}")
        with process.memory_file(self._password + "\n", self._with.account) as (descriptor, path):
            done = process.run(
                [self._programs.program("initdb"), *arguments, f"--pwfile={path}"],
                account=self._with.account,
                pass_fds=(descriptor,),
            )
        if done.returncode != 0:
            reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
            raise TargetError(
                f"{self._environment.name}: initdb failed: {reason}",
                "check room and rights of the storage directory",
            )

    def _configure(self) -> None:
        port = 5432
        listen = ""
        host = str(self._socket_directory)
        if self._environment.listen == "loopback":
            port, listen, host = _free_port(), "127.0.0.1", "127.0.0.1"
        settings = [
            *self._environment.settings,
            ("listen_addresses", listen),
            ("port", str(port)),
            ("unix_socket_directories", str(self._socket_directory)),
            ("unix_socket_permissions", "0700"),
            ("logging_collector", "off"),
        ]
        lines = [f"{name} = '{_quoted(value)}'" for name, value in settings]
        with (self.data_directory / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n# groundspeed\n" + "\n".join(lines) + "\n")
        self._address = sql.Address(
            conninfo=f"host={host} port={port} user={SUPERUSER} dbname={DATABASE}"
            " sslmode=disable gssencmode=disable",
            password=self._password,
            isolated=True,
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
        self.stop()
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
        if self._postmaster is not None and self._postmaster.poll() is None:
            return
        with (self._home / "server.log").open("ab") as log:
            self._log_start_bytes = log.tell()
            self._postmaster = process.start(
                [self._programs.program("postgres"), "-D", self.data_directory],
                account=self._with.account,
                death_signal="QUIT",
                environment=dict(self._placement.server_environment),
                stdout=log,
                stderr=log,
            )
        self._owned_postmaster = self._with.lease.own_process(self._postmaster.pid)
        self._wait_until_ready(self._postmaster)
        self._with.lease.own_shared_memory(_posix_shared_memory(self._postmaster.pid))
        self._buffers_filled = False
        if self._vacuum_due:
            sql.vacuum(self._address)
            self._vacuum_due = False

    def _wait_until_ready(self, postmaster: subprocess.Popen[bytes]) -> None:
        status = self.data_directory / "postmaster.pid"
        for _ in range(int(_START_LIMIT_S / _POLL_S)):
            if postmaster.poll() is not None:
                raise TargetError(
                    f"{self._environment.name}: the server does not start: {self._last_words()}",
                    "check the suite's postgres settings against that line",
                )
            try:
                lines = status.read_text().splitlines()
            except OSError:
                lines = []
            # pg_ctl looks at the same line; its pid tells a stale file from ours.
            if len(lines) > 7 and lines[0] == str(postmaster.pid) and lines[7].strip() == "ready":  # noqa: PLR2004
                return
            select.select([], [], [], _POLL_S)
        raise TargetError(
            f"{self._environment.name}: the server was not ready after {_START_LIMIT_S:g} s",
            "look for crash recovery of a very large max_wal_size",
        )

    def _last_words(self) -> str:
        try:
            data = (self._home / "server.log").read_bytes()[self._log_start_bytes :]
        except OSError:
            return "it left no log"
        text = data.decode(errors="backslashreplace")
        lines = [line for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if any(w in line for w in ("FATAL", "PANIC", "ERROR"))]
        # A wrong setting is told in a LOG line before the FATAL that only says "contains errors".
        if telling and "contains errors" in telling[-1]:
            telling = [line for line in lines if "LOG:" in line and "parameter" in line] or telling
        told = telling or lines
        return told[-1].partition("] ")[2] or told[-1] if told else "it left no log"

    def stop(self) -> None:
        """Stop the server in order: no crash recovery when it starts again."""
        self._end_postmaster(signal.SIGINT, _STOP_PATIENCE_S)

    def _end_postmaster(self, first: signal.Signals, patience_s: float) -> None:
        if self._postmaster is None:
            return
        process.end(self._postmaster, first=first, patience_s=patience_s)
        killed = self._postmaster.returncode < 0
        self._postmaster = None
        if self._owned_postmaster is not None:
            self._with.lease.disown_process(self._owned_postmaster)
            self._owned_postmaster = None
        if not killed:
            self._with.lease.disown_shared_memory()

    def reset(self) -> None:
        """Bring the dataset back: at once by clone, else by VACUUM at the next start."""
        if not self._with.clone:
            self._vacuum_due = True
            return
        self.stop()
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
        if self._buffers_filled:
            return ()
        self._buffers_filled = True
        return sql.fill_buffers(self._address, scale)

    def checkpoint(self) -> tuple[Caution, ...]:
        """Write all dirty pages."""
        return sql.checkpoint(self._address)

    def reset_statistics(self) -> tuple[Caution, ...]:
        """Set statistics to zero once the clients of the warm-up are gone."""
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
        """Run a load command as the server's user."""
        return load.run_load(
            command,
            trial,
            program=self._programs.program(command.program),
            directory=self._load_directory,
            address=self._address,
            account=self._with.account,
            variables={},
            limit_s=limit_s,
            on_progress=on_progress,
        )

    def is_alive(self) -> bool:
        """Tell whether the server process lives and answers."""
        alive = self._postmaster is not None and self._postmaster.poll() is None
        return alive and sql.answers(self._address)

    def why_dead(self) -> str:
        """The last telling line of the server's log."""
        return self._last_words()

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
        if self._wal_home is None:
            return facts
        wal = self._with.describe_storage(self._wal_home)
        return msgspec.structs.replace(
            facts, wal_path=wal.path, wal_filesystem=wal.filesystem, wal_device=wal.device
        )

    def remove(self) -> None:
        """Stop the server at once and remove every directory it had."""
        self._end_postmaster(signal.SIGQUIT, 10.0)
        for path in (self._home, self._wal_home, self._socket_directory, self._load_directory):
            if path is not None and path != Path():
                places.remove(path, self._with.lease)


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "''")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _posix_shared_memory(pid: int) -> tuple[str, ...]:
    try:
        text = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ()
    names = {line.split()[-1] for line in text.splitlines() if "/dev/shm/PostgreSQL." in line}  # noqa: S108
    return tuple(sorted(names))
