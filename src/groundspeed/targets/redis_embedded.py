"""An embedded environment of Redis: a server that the run creates, starts, stops and removes.

It listens on a private unix socket (or, where asked, on 127.0.0.1 with a password), runs as an
unprivileged user when groundspeed is root, and dies with groundspeed. Every trial starts it from
the same files. Where the suite asks for a replica, that is a second server which follows it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.targets import (
    killing,
    leases,
    load,
    places,
    redis_client,
    redis_keys,
    redis_login,
    redis_state,
)
from groundspeed.targets.redis_ledger import RedisLedger
from groundspeed.targets.redis_owned import OwnedRedis, following, listening
from groundspeed.targets.redis_settings import set_by_us
from groundspeed.tools.redis_load import RedisLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import Command, EnvironmentPlan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Caution, ServerFacts, StorageFacts, StorageWork
    from groundspeed.storage.placement import Placement
    from groundspeed.targets.emulation import EmulatedDevice
    from groundspeed.targets.engines import Second
    from groundspeed.targets.local import Surroundings
    from groundspeed.targets.redis_tools import RedisTools
    from groundspeed.tools.redis_info import Info

_ENGINE = "redis"


class EmbeddedRedis:
    """Implements `ports.Target` for a Redis or Valkey of our own."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        environment: EnvironmentPlan,
        placement: Placement,
        tools: RedisTools,
        surroundings: Surroundings,
        device: EmulatedDevice | None = None,
        *,
        second: Second | None = None,
    ) -> None:
        """Prepare paths; nothing is made yet. Raises SpecError for a setting that is ours."""
        self._environment = environment
        self._tools = tools
        self._with = surroundings
        assert tools.server is not None  # noqa: S101 - the maker found one
        program = tools.server
        self.server = OwnedRedis(environment, placement, program, surroundings, device)
        self.replica = _replica(environment, program, surroundings, second)
        self._load_directory = Path()
        self._is_first_check = True
        self._is_promoted = False
        self._is_changed = False
        self._leaving: frozenset[str] = frozenset()

    @property
    def _servers(self) -> tuple[OwnedRedis, ...]:
        return (self.server,) if self.replica is None else (self.server, self.replica)

    # -- where it is reached

    @property
    def conninfo(self) -> str:
        """URL of the server under test, without a password; a user in it says there is one."""
        return self.server.address.url

    @property
    def reset_method(self) -> str:
        """How trials come to start from the same state."""
        return (
            "files: before a trial the server starts again from its files as they were after"
            " preparing, and those of a load that wrote are gone with all that it wrote"
        )

    @property
    def data_directory(self) -> Path:
        """The server's data directory."""
        return self.server.data_directory

    # -- life

    def provide(self) -> None:
        """Make directories and devices and start the server, empty."""
        account, lease = self._with.account, self._with.lease
        name = f"{leases.OWNED_NAME}{self._with.run_id}-{self._environment.slug}-load"
        self._load_directory = places.make(places.memory_directory() / name, account, lease)
        listens = listening(self._environment)
        self.server.make(listens)
        if self.replica is not None:
            self.replica.make(following(listens))
        self.start()

    def prepare(self, scale: int) -> None:
        """Make the data set and the files that every trial starts from; leave the server stopped.

        At native speed and without persistence, as nobody waits for it in a trial; then the files
        are written in the form that the environment asks for. `scale` means nothing to Redis.
        """
        del scale
        self._kill()
        self.server.empty()
        try:
            self.server.start_unprepared()
            self._preload()
            self.server.write_files()
        except TargetError as error:
            raise TargetError(f"{self._environment.name}: {error.message}", error.hint) from None
        self.server.keep()

    def _preload(self) -> None:
        count, payload_bytes = self._preloaded
        if not count:
            return
        redis_keys.preload(
            self.server.address,
            key_count=count,
            payload_bytes=payload_bytes,
            tell=lambda line: self._with.tell(f"{self._environment.name}: {line}"),
        )

    @property
    def _preloaded(self) -> tuple[int, int]:
        options = dict(self._environment.options)
        return int(options.get("preload_keys", "0")), int(options.get("preload_bytes", "0"))

    def start(self) -> None:
        """Start the server and its replica, and wait until they answer and are in sync.

        After `kill` a replica takes the server's place.
        """
        if self._is_promoted:
            self._promote()
            return
        if not self.server.is_running:
            if self._is_changed:
                # Of one that died, for one.
                self.reset()
            self.server.start()
            self.server.prove()
            self._is_first_check = True
        if self.replica is None or self.replica.is_running:
            return
        # It copies all there is at each start, so nothing of its own has to be there.
        self.replica.empty()
        self.replica.start()
        redis_state.wait_for_replica(self.server.address, self.replica.address)
        self.replica.prove()
        self.replica.settle()

    def stop(self) -> None:
        """Stop the servers without a snapshot; warm ones are put to rest.

        At rest they run on and leave the machine to the others.
        """
        if not self.server.is_running:
            self._kill()
        elif self._with.is_warm:
            for server in self._servers:
                server.settle()
        elif self._is_changed:
            self.reset()
        else:
            if self.replica is not None:
                self.replica.process.kill()
            self.server.process.stop(self.server.address)

    def _kill(self) -> None:
        for server in reversed(self._servers):
            server.process.kill()

    def reset(self) -> None:
        """Bring back the files as they were after preparing; the next start begins with them.

        The server is killed: ending it in order would first write what is thrown away here.
        """
        self._kill()
        self.server.restore()
        self._is_changed = False

    def check(self) -> tuple[Caution, ...]:
        """Make sure that it takes the load, and that its keys are those that were preloaded."""
        try:
            told = redis_state.look(self.server.address)
            redis_state.refuse_unfit(told)
            self._refuse_lost_keys(told)
            if self.replica is not None:
                redis_state.refuse_unfit(redis_state.look(self.replica.address))
                redis_state.wait_for_replica(self.server.address, self.replica.address)
        except TargetError as error:
            raise TargetError(f"{self._environment.name}: {error.message}", error.hint) from None
        self._is_first_check = False
        devices = [server.device for server in self._servers if server.device is not None]
        return tuple(doubt for device in devices for doubt in device.doubts)

    def _refuse_lost_keys(self, told: Info) -> None:
        count, _ = self._preloaded
        # After a load there are those that it made.
        as_expected = told.key_count == count if self._is_first_check else told.key_count >= count
        if not as_expected and not told.evicted_count:
            raise TargetError(
                f"there are {told.key_count:,} keys, not {count:,}",
                "groundspeed resume makes them again",
            )

    def checkpoint(self) -> tuple[Caution, ...]:
        """Wait for what is written in the background, by the server and by the kernel."""
        for server in self._servers:
            server.settle()
        return ()

    def reset_statistics(self) -> tuple[Caution, ...]:
        """Set statistics to zero once the clients of the warm-up are gone."""
        redis_state.wait_for_clients_to_leave(self.server.address, self._leaving)
        for server in self._servers:
            redis_state.reset_statistics(server.address)
            if server.device is not None:
                server.device.begin()
        return ()

    def storage_work(self) -> StorageWork | None:
        """Tell what the emulated device of the server under load did."""
        device = self.server.device
        return None if device is None else device.work()

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Run a load command as the server's user; keys that it only reads are made before."""
        address, account = self.server.address, self._with.account
        others = redis_state.clients_of(address)
        touched = redis_keys.load_of(command)
        # From the warm-up on, so it is over when it counts.
        self._is_changed = redis_keys.seed(address, touched) > 0 or self._is_changed
        program = self._tools.load_tool
        result = load.run_load(
            command,
            trial,
            program=program,
            directory=self._load_directory,
            tool=RedisLoad(),
            login=redis_login.login(address.password, program, self._tools.library, account),
            account=account,
            limit_s=limit_s,
            on_progress=on_progress,
        )
        self._leaving = redis_state.left_by_load(address, others)
        return result

    # -- what is known of it

    def watch_points(self) -> WatchPoints:
        """Tell where probes find the running server; all of it is on this machine."""
        return WatchPoints(
            conninfo=self.server.address.url,
            password=self.server.address.password,
            groundspeed_pid=os.getpid(),
            engine=_ENGINE,
            load_program=self._tools.load_tool.name,
            server_pid=self.server.process.pid,
            data_directory=str(self.data_directory.resolve()),
        )

    def is_alive(self) -> bool:
        """Tell whether the server process lives and answers."""
        return self.server.answers()

    def why_dead(self) -> str:
        """How the server ended, and the last telling line of its log."""
        return self.server.process.last_words()

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it."""
        return self._tools.version_of(program)

    def server_facts(self) -> ServerFacts:
        """Ask the running server for its version and settings."""
        return redis_state.facts(self.server.address, set_by_us(self._environment))

    def storage_facts(self) -> StorageFacts | None:
        """Tell where the data directory is."""
        return self.server.describe()

    # -- ended badly

    def ledger(self) -> RedisLedger:
        """Numbered entries in the server, or in the replica that took its place."""
        alive = self.replica if self._is_promoted else self.server
        assert alive is not None  # noqa: S101 - only one that is there takes a place
        return RedisLedger(alive.address)

    def kill(self) -> None:
        """Kill all processes of the server at once; its replica, if it has one, lives on."""
        if self.server.process.pid is not None:
            killing.kill_family(self.server.process.pid)
        self.server.process.kill()
        self._is_promoted = self.replica is not None

    def _promote(self) -> None:
        """Let the replica take the place of the server that is gone, with what it has."""
        assert self.replica is not None  # noqa: S101 - asked for by the caller
        with redis_client.connect(self.replica.address) as client:
            client.ask("REPLICAOF", "NO", "ONE")

    def cut_power(self) -> int:
        """Take from the server's files what had not reached its emulated device; bytes."""
        if self.server.device is None:
            raise TargetError(
                f"{self._environment.name}: only an emulated device can lose its power",
                "give it storage.emulate, or ask for the ending killed alone",
            )
        return self.server.device.cut_power(at_ns=time.monotonic_ns()).bytes

    def remove(self) -> None:
        """Stop the servers at once and remove every directory they had."""
        for server in reversed(self._servers):
            server.remove()
        if self._load_directory != Path():
            places.remove(self._load_directory, self._with.lease)


def _replica(
    environment: EnvironmentPlan,
    program: Path,
    surroundings: Surroundings,
    second: Second | None,
) -> OwnedRedis | None:
    if environment.replica is None or second is None:
        return None
    return OwnedRedis(environment.replica, second.placement, program, surroundings, second.device)
