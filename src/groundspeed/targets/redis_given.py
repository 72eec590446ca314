"""A given server: any Redis 6 to 8 or Valkey by its URL. Nothing there is changed but our keys.

No setting is changed and nothing is flushed. What the load writes is written only where none of it
is there, under a mark that says whose it is; with both, and only with both, it is deleted.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from groundspeed.errors import TargetError
from groundspeed.ports import WatchPoints
from groundspeed.targets import (
    leases,
    load,
    places,
    redis_claim,
    redis_client,
    redis_keys,
    redis_login,
    redis_state,
)
from groundspeed.targets.redis_claim import Claim
from groundspeed.targets.redis_client import Address
from groundspeed.targets.redis_programs import OLDEST_MAJOR
from groundspeed.tools.redis_load import RedisLoad

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import Command, EnvironmentPlan, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.record import Caution, ServerFacts, StorageFacts, StorageWork
    from groundspeed.targets.local import Surroundings
    from groundspeed.targets.redis_tools import RedisTools

_ENGINE = "redis"
_USER = "default"
_LEAVE_S = 2.0


def address_of(environment: EnvironmentPlan, password: str | None) -> Address:
    """Read how a given server is reached; a user in the URL says that there is a password.

    Raises TargetError where it names a user and there is no password, or a database.
    """
    url = environment.dsn or ""
    parts = urlsplit(url)
    if parts.scheme != "unix" and parts.path.strip("/") not in {"", "0"}:
        raise TargetError(
            f"{environment.name}: only database 0 of a Redis is measured",
            "take the number out of the URL",
        )
    if parts.username and password is None:
        raise TargetError(
            f"{environment.name}: the URL names a user and there is no password",
            "name the variable that holds it in password_env",
        )
    if password is not None and not parts.username:
        url = urlunsplit(parts._replace(netloc=f"{_USER}@{parts.netloc}"))
    return Address(url=url, password=password)


class GivenRedis:
    """Implements `ports.Target` for a server that somebody else owns."""

    def __init__(
        self,
        environment: EnvironmentPlan,
        password: str | None,
        tools: RedisTools,
        surroundings: Surroundings,
    ) -> None:
        """Prepare names; nothing is connected yet. Raises TargetError for a URL that is none."""
        self._environment = environment
        self._tools = tools
        self._with = surroundings
        self._address = address_of(environment, password)
        self._claim = Claim(
            self._address,
            environment.password_env,
            mark=f"groundspeed:{secrets.token_hex(6)}",
            comment=f"groundspeed run {surroundings.run_id}",
            lease=surroundings.lease,
        )
        self._load_directory = Path()
        self._leaving: frozenset[str] = frozenset()

    @property
    def conninfo(self) -> str:
        """URL of the server, without a password; a user in it says there is one."""
        return self._address.url

    @property
    def reset_method(self) -> str:
        """How trials come to start from the same state."""
        return (
            "delete: the keys of a load that wrote are deleted after its trial; what the server's"
            " files keep of them is not known"
        )

    def provide(self) -> None:
        """Make sure that it can be measured at all; nothing is written yet."""
        with redis_client.connect(self._address) as client:
            told = redis_state.hello(client)
        version = redis_state.version_number(told.get("version", "")) // 10_000
        name = self._environment.name
        if version < OLDEST_MAJOR:
            raise TargetError(
                f"{name}: Redis {told.get('version', '?')} is not supported",
                f"groundspeed measures Redis {OLDEST_MAJOR} and later, and Valkey",
            )
        if told.get("mode") != "standalone":
            raise TargetError(
                f"{name}: the server is of a {told.get('mode', 'unknown kind')}, not one alone",
                "name a server without cluster mode, and no sentinel",
            )
        if told.get("role") != "master":
            raise TargetError(f"{name}: the server is a replica", "name its primary")
        directory = f"{leases.OWNED_NAME}{self._with.run_id}-{self._environment.slug}-load"
        self._load_directory = places.make(
            places.memory_directory() / directory, None, self._with.lease
        )

    def prepare(self, scale: int) -> None:
        """Set the keys that the suite asks for; `scale` means nothing to Redis."""
        del scale
        options = dict(self._environment.options)
        count = int(options.get("preload_keys", "0"))
        if not count:
            return
        self._claim.take(redis_keys.values(count))
        redis_keys.preload(
            self._address,
            key_count=count,
            payload_bytes=int(options.get("preload_bytes", "0")),
            tell=lambda line: self._with.tell(f"{self._environment.name}: {line}"),
        )

    def start(self) -> None:
        """Do nothing: it is not ours to start."""

    def stop(self) -> None:
        """Do nothing: it is not ours to stop."""

    def reset(self) -> None:
        """Delete what the load wrote, and set again what was there before it."""
        self._claim.delete_keys()
        self.prepare(0)

    def check(self) -> tuple[Caution, ...]:
        """Make sure that it answers and takes the load, as far as its user may see that."""
        with redis_client.connect(self._address) as client:
            client.ask("PING")
            try:
                told = redis_state.info_of(client)
            except redis_client.RefusedError:
                return ()
        redis_state.refuse_unfit(told)
        return ()

    def checkpoint(self) -> tuple[Caution, ...]:
        """Wait for what it writes in the background, where the user may see that."""
        try:
            redis_state.wait_until_quiet(self._address)
        except TargetError as error:
            return (redis_claim.unsettled(error),)
        return ()

    def reset_statistics(self) -> tuple[Caution, ...]:
        """Wait for the clients of the warm-up; its statistics are its owner's and stay."""
        # Those of others come and go, and some of them may be taken for the load's.
        with suppress(TargetError):
            redis_state.wait_for_clients_to_leave(self._address, self._leaving, limit_s=_LEAVE_S)
        return ()

    def load(
        self,
        command: Command,
        trial: Trial | None,
        *,
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Run a load command on this machine, as the user who runs groundspeed.

        Raises TargetError where a key that it would write is there already and is not ours.
        """
        touched = redis_keys.load_of(command)
        for space in touched.spaces:
            self._claim.take(space)
        redis_keys.seed(self._address, touched)
        others = redis_state.clients_of(self._address)
        program = self._tools.load_tool
        result = load.run_load(
            command,
            trial,
            program=program,
            directory=self._load_directory,
            tool=RedisLoad(),
            login=redis_login.login(self._address.password, program, self._tools.library, None),
            # Its certificates are the user's, below the user's home.
            account=None,
            limit_s=limit_s,
            on_progress=on_progress,
        )
        self._leaving = redis_state.left_by_load(self._address, others)
        return result

    def storage_work(self) -> StorageWork | None:
        """Nothing is known of a given server's storage."""
        return None

    def watch_points(self) -> WatchPoints:
        """Tell where probes find it: over its URL alone.

        Also where it runs on this machine: a wrong process is worse than none.
        """
        return WatchPoints(
            conninfo=self._address.url,
            password=self._address.password,
            groundspeed_pid=os.getpid(),
            engine=_ENGINE,
            load_program=self._tools.load_tool.name,
        )

    def is_alive(self) -> bool:
        """Tell whether the server answers."""
        return redis_client.answers(self._address)

    def why_dead(self) -> str:
        """Its log is not ours to read."""
        return "its log is on the server"

    def program_version(self, program: str) -> str:
        """Version of a program as it reports it."""
        return self._tools.version_of(program)

    def server_facts(self) -> ServerFacts:
        """Ask the server for its version, and for its settings where the user may."""
        return redis_state.facts(self._address)

    def storage_facts(self) -> StorageFacts | None:
        """Nothing is known of a given server's storage."""
        return None

    def remove(self) -> None:
        """Delete our keys; where that fails the lease keeps them for the next command's sweep."""
        if self._load_directory != Path():
            places.remove(self._load_directory, self._with.lease)
        self._claim.give_up()
