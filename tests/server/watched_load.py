"""pgbench against a server of the tests, driven as the watcher drives a probe."""

from __future__ import annotations

import os
import re
import subprocess
import time
from typing import TYPE_CHECKING

from groundspeed.ports import WatchPoints
from groundspeed.targets import installation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.probes.database import DatabaseSampler
    from tests.server.given import Given

CLIENTS = 8
LOAD_S = 4
TICKS_PER_SECOND = 10


class Load:
    """pgbench at scale 1 against one server."""

    def __init__(self, given: Given, version: int, user: str = "owner", password: str = "") -> None:
        self.given = given
        self.version = version
        self.user = user
        self.password = password or given.password
        self._pgbench = str(installation.find(version).program("pgbench"))

    def command(self, *arguments: str) -> list[str]:
        return [self._pgbench, *arguments, self.given.dsn(dbname="postgres", user=self.user)]

    def variables(self) -> dict[str, str]:
        return {**os.environ, "PGPASSWORD": self.password, "PGAPPNAME": "pgbench"}

    def fill(self) -> None:
        subprocess.run(
            self.command("-i", "-q"), env=self.variables(), check=True, capture_output=True
        )

    def start(self) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command("-n", "-c", str(CLIENTS), "-T", str(LOAD_S)),
            env=self.variables(),
            stdout=subprocess.PIPE,
            text=True,
        )

    def points(self) -> WatchPoints:
        return WatchPoints(
            conninfo=self.given.dsn(dbname="postgres", user=self.user),
            password=self.password,
            groundspeed_pid=os.getpid(),
        )


def drive(
    sampler: DatabaseSampler, load: subprocess.Popen[str], at_tick: Mapping[int, Callable[[], None]]
) -> tuple[list[Mapping[str, float | None]], str]:
    """Tick until the load ends, as the watcher does; gives the seconds and what pgbench printed."""
    seconds = []
    begun_s = time.monotonic()
    number = 0
    while True:
        number += 1
        try:
            load.wait(max(0.0, begun_s + number / TICKS_PER_SECOND - time.monotonic()))
        except subprocess.TimeoutExpired:
            sampler.tick()
            if number % TICKS_PER_SECOND == 0:
                seconds.append(sampler.second())
            at_tick.get(number, lambda: None)()
        else:
            return seconds, load.communicate()[0]


def transactions_of(printed: str) -> int:
    match = re.search(r"transactions actually processed: (\d+)", printed)
    assert match, printed
    return int(match[1])
