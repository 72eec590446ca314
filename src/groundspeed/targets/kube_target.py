"""What both kinds of servers in a cluster need: a run that goes on in another process.

Its database has the same name in every process of the run, so the next one finds it, with what is
in it. A server that was started again in the middle of a trial has spoilt it, even where the load
got over that.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

from psycopg import conninfo

from groundspeed.errors import TargetError
from groundspeed.targets import kube_database, sql
from groundspeed.targets.sql_target import SqlTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.record import Caution
    from groundspeed.targets.kube_access import ClusterAccess, ServerLogin
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.loading import Loader

_ASK_AGAIN_S = 0.5


class ClusterTarget(SqlTarget):
    """The part of `ports.Target` that made and given servers have alike."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        environment: EnvironmentPlan,
        access: ClusterAccess,
        loader: Loader,
        login: ServerLogin,
        *,
        lease: LeaseFile,
        tell: Callable[[str], None],
        database: str = "postgres",
        sslmode: str = "prefer",
    ) -> None:
        """Prepare names; nothing is connected yet. `database` is the one to connect to first."""
        reached = access.reach(environment)
        maintenance = sql.Address(
            conninfo=conninfo.make_conninfo(
                host=reached.host,
                port=reached.port,
                user=login.user,
                dbname=database,
                sslmode=sslmode,
            ),
            password=login.password,
            isolated=True,
        )
        self._database = kube_database.database_name(access.token, environment.slug)
        super().__init__(environment, loader, maintenance=maintenance, database=self._database)
        self._with = access
        self._lease = lease
        self._tell = tell
        # Of the server when its trial began; None while nothing is measured.
        self._started_at: str | None = None
        # Of the server whose buffers were filled last.
        self._filled_at = ""

    def take_database(self) -> None:
        """Make the database of the run, or take it over."""
        comment = f"groundspeed run {self._with.run_id}"
        kube_database.take(self._maintenance, self._database, comment)

    def prepare(self, scale: int) -> None:
        """Fill the database, unless an earlier process of the run did."""
        if not self.was_prepared(scale):
            super().prepare(scale)
            return
        self._scale = scale
        self._tell(f"{self._environment.name}: takes over its dataset of scale {scale}")
        # Whoever was here before may have been killed in the middle of a load.
        sql.wait_for_clients_to_leave(self._address)
        sql.vacuum(self._address)

    def was_prepared(self, scale: int) -> bool:
        """Tell whether the dataset of that scale is there."""
        return kube_database.is_whole(self._address, scale)

    def wait_until_it_answers(self, limit_s: float) -> None:
        """Return when the server answers. Raises TargetError with its last reason not to."""
        deadline_s = time.monotonic() + limit_s
        while True:
            try:
                kube_database.started_at(self._maintenance)
            except TargetError:
                if time.monotonic() >= deadline_s:
                    raise
            else:
                return
            select.select([], [], [], _ASK_AGAIN_S)

    def reset(self) -> None:
        """Make the space of dead rows free again, once there is a server."""
        self.start()
        super().reset()

    def check(self) -> tuple[Caution, ...]:
        """Make sure the dataset is whole; read it into buffers where the server was started."""
        self._started_at = kube_database.started_at(self._address)
        self._buffers_filled = self._started_at == self._filled_at
        cautions = super().check()
        self._filled_at = self._started_at
        return cautions

    def is_alive(self) -> bool:
        """Tell whether the very server answers that did when the trial began."""
        try:
            return self._started_at in (None, kube_database.started_at(self._address))
        except TargetError:
            return False

    def why_dead(self) -> str:
        """Tell what can be told over SQL."""
        if sql.answers(self._address):
            return "it was started again in the middle of the trial"
        return "its log is in its pod"
