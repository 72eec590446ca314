"""One connection to the server under test: asks, counts what asking costs, notes what is refused.

It raises when it is opened and never again: what cannot be asked is None and an `Absent`. What the
answers mean is not its business.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import dict_row

from groundspeed.errors import TargetError
from groundspeed.probes import sql
from groundspeed.record.evidence import Absent, ProbeCost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.ports import WatchPoints

APPLICATION_NAME = "groundspeed probe"
_CONNECT_TIMEOUT_S = 10
_ROUND_TRIPS = 20
# A machine that vanished sends no word of it: without these an answer is awaited for hours.
_PATIENCE = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
# The path keeps functions that somebody put into a schema of the database from being called in
# place of the server's own. Planning costs more than running these statements does, so the plan
# is made once and kept.
_SESSION = b"""
SET statement_timeout = '2s';
SET search_path = pg_catalog;
SET plan_cache_mode = force_generic_plan;
SET jit = off;
"""

Row = dict[str, Any]


class Asking:
    """Asks the server at `points`. Raises TargetError where it cannot be reached.

    Every statement commits by itself. That is what makes each look at pg_stat_activity a fresh one:
    the server keeps the first snapshot of its statistics until the transaction ends.
    """

    def __init__(self, points: WatchPoints) -> None:
        self._password = points.password
        try:
            self._connection = psycopg.connect(
                make_conninfo(points.conninfo, **_PATIENCE),
                password=points.password,
                autocommit=True,
                connect_timeout=_CONNECT_TIMEOUT_S,
                application_name=APPLICATION_NAME,
                client_encoding="UTF8",
                row_factory=dict_row,
            )
            self._connection.execute(_SESSION)
        except psycopg.Error as error:
            raise TargetError(
                f"the probe cannot connect: {self._reason(error)}",
                "check that the server has a connection to spare for the probe",
            ) from None
        self._cursor = self._connection.cursor()
        self._refused: set[str] = set()
        self._lost = False
        self.version_num = self._connection.info.server_version
        self.absent: dict[str, Absent] = {}
        # All statements that were asked: each is a commit of its own.
        self.statement_count = 0
        self.restart_cost()

    @property
    def is_lost(self) -> bool:
        """Whether the server is gone."""
        return self._lost

    def restart_cost(self) -> None:
        """Count the cost of asking from here."""
        self._count = 0
        self._cpu_s = self._elapsed_s = self._slowest_s = 0.0

    def cost(self) -> ProbeCost:
        """Tell what asking cost since then."""
        return ProbeCost(
            probe="database",
            call_count=self._count,
            cpu_s=self._cpu_s,
            elapsed_s=self._elapsed_s,
            slowest_s=self._slowest_s,
        )

    def note(self, what: str, reason: str) -> None:
        """Keep the first reason why something could not be seen."""
        self.absent.setdefault(what, Absent(what=what, reason=reason))

    def ask(
        self,
        what: str,
        question: str,
        parameters: Mapping[str, object] | None = None,
        *,
        prepare: bool = False,
    ) -> list[Row] | None:
        """Ask a question of `probes.sql`; None where there is no answer, with `what` as its slug.

        What was refused once is not asked again; what took too long is. A statement that is
        prepared costs a round trip and a transaction more the first time, and less from then on.
        """
        if self._lost or what in self._refused:
            return None
        text = sql.statement(question, self.version_num)
        if text is None:
            self._refused.add(what)
            self.note(what, f"PostgreSQL {self.version_num // 10_000} does not tell")
            return None
        started_s, cpu_s = time.perf_counter(), time.thread_time()
        try:
            cursor = self._cursor.execute(text.encode(), parameters, prepare=prepare)
            return cursor.fetchall()
        except psycopg.Error as error:
            self._judge(what, error)
            return None
        finally:
            elapsed_s = time.perf_counter() - started_s
            self.statement_count += 1
            self._count += 1
            self._cpu_s += time.thread_time() - cpu_s
            self._elapsed_s += elapsed_s
            self._slowest_s = max(self._slowest_s, elapsed_s)

    def ask_one(
        self, what: str, question: str, parameters: Mapping[str, object] | None = None
    ) -> Row | None:
        """Ask for one row; None where there is no answer."""
        rows = self.ask(what, question, parameters)
        return rows[0] if rows else None

    def look_into(self, schemas: list[str]) -> None:
        """Find what extensions bring, in schemas that are quoted already; after the server's."""
        try:
            self._connection.execute(
                b"SELECT set_config('search_path', %s, false)",
                (", ".join(["pg_catalog", *schemas]),),
            )
        except psycopg.Error as error:
            self._judge("extensions", error)

    def round_trip_s(self) -> float | None:
        """Measure the median of some round trips of a statement that does nothing."""
        taken: list[float] = []
        try:
            for _ in range(_ROUND_TRIPS):
                started_s = time.perf_counter()
                self._connection.execute(b"SELECT 1", prepare=False)
                taken.append(time.perf_counter() - started_s)
        except psycopg.Error as error:
            self._judge("round-trip", error)
            return None
        return sorted(taken)[_ROUND_TRIPS // 2]

    def close(self) -> None:
        """Hang up; may be called twice."""
        self._lost = True
        self._connection.close()

    def _judge(self, what: str, error: psycopg.Error) -> None:
        if self._connection.broken or self._connection.closed:
            self._lost = True
            self.note("server", f"the server was gone: {self._reason(error)}")
            return
        if not isinstance(error, psycopg.errors.QueryCanceled):
            self._refused.add(what)
        self.note(what, self._reason(error))

    def _reason(self, error: psycopg.Error) -> str:
        lines = str(error).strip().splitlines() or ["no reason given"]
        text = re.sub(r"\s+", " ", error.diag.message_primary or lines[0]).strip()
        return text.replace(self._password, "***") if self._password else text
