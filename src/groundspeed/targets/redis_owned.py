"""One Redis server of ours with its directories, its configuration and its device.

A primary and its replica are one each. What it makes is in the lease before it is made.
"""

from __future__ import annotations

import os
import secrets
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.targets import (
    leases,
    loopback,
    places,
    redis_client,
    redis_settings,
    redis_state,
    rest,
)
from groundspeed.targets.redis_client import Address
from groundspeed.targets.redis_process import RedisProcess
from groundspeed.tools import redis_server

if TYPE_CHECKING:
    from groundspeed.plan import EnvironmentPlan
    from groundspeed.record import StorageFacts
    from groundspeed.storage.placement import Placement
    from groundspeed.targets.emulation import EmulatedDevice
    from groundspeed.targets.local import Surroundings

_USER = "default"


class Listening(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens: on a private socket, on loopback, or on both.

    On loopback only with a password, which then is asked for on the socket too. `primary_port` is
    that of the server it follows.
    """

    on_socket: bool
    port: int = 0
    password: str | None = None
    primary_port: int | None = None

    def __repr__(self) -> str:
        """Show everything but the password."""
        return f"Listening(port={self.port})"


def listening(environment: EnvironmentPlan) -> Listening:
    """Decide where a server listens; a replica reaches it over loopback alone."""
    on_loopback = environment.listen == "loopback"
    if not on_loopback and environment.replica is None:
        return Listening(on_socket=True)
    return Listening(
        on_socket=not on_loopback,
        port=loopback.free_port(),
        password=secrets.token_urlsafe(24),
    )


def following(primary: Listening) -> Listening:
    """Decide where the replica of a server listens: on a socket of its own."""
    return Listening(on_socket=True, password=primary.password, primary_port=primary.port)


class OwnedRedis:
    """The server of one data directory; it is started from its files as often as one likes."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        placement: Placement,
        program: Path,
        surroundings: Surroundings,
        device: EmulatedDevice | None,
    ) -> None:
        """Prepare names; nothing is made yet. Raises SpecError for a setting that is ours."""
        redis_server.refuse_reserved(environment.name, environment.settings)
        self._environment = environment
        self._program = program
        self._with = surroundings
        self._listens = Listening(on_socket=True)
        self._home = Path()
        self._socket_directory = Path()
        self._process: RedisProcess | None = None
        self._rested_at_ns = 0
        self.placement = placement
        self.device = device
        self.persistence = redis_settings.persistence(environment)
        self.address = Address(url="")

    @property
    def data_directory(self) -> Path:
        """The directory of its files."""
        return self._home / "data"

    @property
    def process(self) -> RedisProcess:
        """Its process, which may not run; after `make`."""
        if self._process is None:
            raise RuntimeError("a server is provided before it is used")
        return self._process

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.is_running

    # -- life

    def make(self, listens: Listening) -> None:
        """Make its directories, empty, and its device. Raises TargetError."""
        self._listens = listens
        account, lease = self._with.account, self._with.lease
        name = f"{leases.OWNED_NAME}{self._with.run_id}-{self._environment.slug}"
        base = places.reachable_on_same_storage(Path(self.placement.directory), account)
        self._home = places.make(base / name, account, lease)
        self._make_data_directory()
        # A path of its own, because a unix socket's path may have 107 bytes only.
        self._socket_directory = places.make(
            places.temporary_directory(account) / f"{leases.OWNED_NAME}{secrets.token_hex(6)}",
            account,
            lease,
        )
        self.address = self._address()
        self._process = RedisProcess(
            self._program,
            self.data_directory,
            self._home / "server.log",
            account=account,
            lease=lease,
        )
        self._make_device()

    def _make_data_directory(self) -> None:
        account = self._with.account
        self.data_directory.mkdir(mode=0o700)
        if account is not None:
            os.chown(self.data_directory, account.uid, account.gid)

    def _make_device(self) -> None:
        """Make the device anew: it holds nothing back of what an earlier server wrote."""
        if self.device is not None:
            self.device.remove()
            self.device.make([self.data_directory])

    def _address(self) -> Address:
        user = "" if self._listens.password is None else f"{_USER}@"
        url = f"redis://{user}{loopback.HOST}:{self._listens.port}"
        if self._listens.on_socket:
            url = f"unix://{user}{self._socket}"
        return Address(url=url, password=self._listens.password)

    @property
    def _socket(self) -> Path:
        return self._socket_directory / redis_server.SOCKET_NAME

    def _configuration(self, *, is_prepared: bool) -> str:
        asked = self._listens
        place = redis_server.Place(
            directory=str(self.data_directory),
            port=asked.port,
            socket=str(self._socket) if asked.on_socket else None,
            log="",
            password=asked.password,
            replica_of=None if asked.primary_port is None else (loopback.HOST, asked.primary_port),
        )
        return redis_settings.configuration(self._environment, place, is_prepared=is_prepared)

    def start(self) -> None:
        """Start it from its files, on its device. Raises TargetError; see `prove`."""
        device = self.device
        try:
            self.process.start(
                self._configuration(is_prepared=True),
                self.address,
                {} if device is None else device.variables(),
            )
        except TargetError as error:
            raise self._named(error) from None

    def prove(self) -> None:
        """Make sure that one that was started is on its device. Raises TargetError."""
        if self.device is None or self.process.pid is None:
            return
        snapshot = self.data_directory / redis_settings.SNAPSHOT
        try:
            if not self.persistence.mode.has_log and not snapshot.exists():
                # It may never write a file, and then it cannot be seen where it writes.
                redis_state.write_files(self.address, has_log=False)
            self.device.prove_used_by(self.process.pid)
        except TargetError as error:
            raise self._named(error) from None

    def _named(self, error: TargetError) -> TargetError:
        """Say of which environment an error is."""
        return TargetError(f"{self._environment.name}: {error.message}", error.hint)

    def start_unprepared(self) -> None:
        """Start it without persistence and without its device, to make its data set."""
        self.process.start(self._configuration(is_prepared=False), self.address, {})

    def write_files(self) -> None:
        """Let one that was started so write the files it will start from, and end it."""
        redis_state.write_files(self.address, has_log=self.persistence.mode.has_log)
        self.process.stop(self.address)

    # -- files

    @property
    def _pristine(self) -> Path:
        return self._home / "pristine"

    def keep(self) -> None:
        """Keep a copy of the files of a server that was ended; it shares blocks where it can."""
        places.clone(self.data_directory, self._pristine, or_copy=True)
        self._make_clean()

    def restore(self) -> None:
        """Put back the files that were kept, of a server that was ended. Raises TargetError."""
        shutil.rmtree(self.data_directory)
        places.clone(self._pristine, self.data_directory, or_copy=True)
        self._make_clean()

    def empty(self) -> None:
        """Take away all files of a server that was ended."""
        shutil.rmtree(self.data_directory)
        self._make_data_directory()
        self._make_device()

    def _make_clean(self) -> None:
        self._make_device()
        if self.device is None:
            # Or the kernel would write the copy while a trial is measured.
            rest.write_out(self.data_directory)

    def settle(self) -> None:
        """Wait until it writes nothing by itself, and the kernel nothing for it.

        Raises TargetError.
        """
        redis_state.wait_until_quiet(self.address)
        if self.device is None:
            self._rested_at_ns = rest.write_out_since(self.data_directory, self._rested_at_ns)

    def describe(self) -> StorageFacts:
        """Tell where its files are."""
        facts = self._with.describe_storage(self.data_directory)
        facts = msgspec.structs.replace(
            facts, label=self.placement.label, emulated=self.placement.emulated
        )
        return facts if self.device is None else self.device.describe(facts)

    def answers(self) -> bool:
        """Whether its process lives and answers."""
        return self.is_running and redis_client.answers(self.address)

    def remove(self) -> None:
        """End it at once and remove what it had."""
        if self._process is not None:
            self._process.kill()
        if self.device is not None:
            self.device.remove()
        for path in (self._home, self._socket_directory):
            if path != Path():
                places.remove(path, self._with.lease)
