"""The server as a probe sees it over SQL: waits, counters, events and sizes of one trial.

It asks and gathers; what rows mean is in `waits`, `statistics` and `events`. It does not look at
the machine and does not judge.
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.probes import postgres_work, statistics, wait_profile
from groundspeed.probes.asking import Asking
from groundspeed.probes.events import Timeline
from groundspeed.probes.postgres_work import Opening
from groundspeed.probes.rates import Rates, per_second
from groundspeed.probes.sampling import Part
from groundspeed.probes.wait_profile import WaitProfile
from groundspeed.probes.waits import (
    AUTOVACUUM_WORKER,
    CHECKPOINTER,
    HIDDEN,
    ActivityRow,
    WaitTally,
)
from groundspeed.record.evidence import WaitCount, WaitGroup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.ports import WatchPoints
    from groundspeed.probes.statistics import Snapshot

_SETTLE_LIMIT_S = 1.0
_SETTLE_POLL_S = 0.02


class DatabaseSampler:
    """The database at `points`, as `probes.sampling.Sampler`.

    `waits`: sample sessions at every tick; without, sessions are looked at once a second, for
    events alone. Raises TargetError where the server cannot be reached, and nothing later.
    """

    def __init__(self, points: WatchPoints, *, waits: bool) -> None:
        self._waits = waits
        self._asking = Asking(points)
        row = self._asking.ask_one("server-settings", "opening")
        self._opening = None if row is None else msgspec.convert(row, Opening)
        self._ids = {"database": self._opening.database_id if self._opening else None}
        self._round_trip_s = self._asking.round_trip_s()
        rows = self._asking.ask("extensions", "extensions") or []
        if rows:
            self._asking.look_into([row["schema"] for row in rows])
        self._extensions = frozenset(row["name"] for row in rows)
        self._profile: WaitProfile | None = None
        if waits and self._opening and wait_profile.SOURCE in self._extensions:
            self._profile = WaitProfile(self._asking, own_pid=self._opening.own_pid)
        postgres_work.note_limits(self._asking, self._opening, self._extensions)
        # Prepared now: the first time costs more, and is two transactions.
        self._ask_activity()
        self._asking.ask("rates", "rates", self._ids, prepare=True)
        self._absent_always = dict(self._asking.absent)
        self._start()

    def _start(self) -> None:
        self._tally = WaitTally()
        self._timeline = Timeline(self._opening.wal_segment_bytes if self._opening else None)
        self._last: tuple[float, Rates] | None = None
        self._seconds = 0
        self._before: Snapshot | None = None
        self._bytes_before: int | None = None
        self._begun_s = time.monotonic()

    def begin(self) -> None:
        """Take the first snapshot: from here on it counts."""
        if not self._asking.is_lost:
            self._asking.absent = dict(self._absent_always)
        self._settle()
        self._start()
        if self._opening is not None:
            self._before = statistics.take(
                self._asking,
                database_id=self._opening.database_id,
                with_statements="pg_stat_statements" in self._extensions,
            )
        self._bytes_before = postgres_work.database_bytes(self._asking)
        if self._profile is not None:
            self._profile.begin()
        self._begun_s = time.monotonic()
        self._count()
        self._look()
        self._asking.restart_cost()

    def tick(self) -> None:
        """Sample who is at work, and what each waits for."""
        rows = self._look()
        if rows is not None:
            self._tally.add(rows)

    def second(self) -> Mapping[str, float | None]:
        """Give mean sessions in waits and rates of the second that just ended.

        Rates are None where the second could not be asked, or the one before.
        """
        if not self._waits:
            self._look()
        before = self._last
        values = per_second(before, self._count())
        # Blocks that were read in the first second are counted in the next; see there.
        if not self._seconds:
            values["blocks_read_per_s"] = None
        self._seconds += 1
        return {**self._tally.take_second(self._groups()), **values}

    def end(self) -> Part:
        """Take the last snapshot and sum up; waits up to a second for clients to leave."""
        # Costs are those of the measured time: what follows is no load's loss.
        cost = self._asking.cost()
        source, sample_count, waits = self._sum_waits()
        self._look()
        self._settle()
        # Once the load is over: the last checkpoint may tell of itself late.
        self._count()
        postgres = None
        if self._opening is not None and self._before is not None:
            postgres = postgres_work.sum_up(
                self._asking,
                self._opening,
                self._before,
                bytes_before=self._bytes_before,
                round_trip_s=self._round_trip_s,
            )
        return Part(
            postgres=postgres,
            waits=waits,
            wait_source=source,
            activity_sample_count=sample_count,
            events=self._timeline.events(),
            costs=(cost,),
            absent=tuple(self._asking.absent.values()),
        )

    def close(self) -> None:
        """Hang up."""
        self._asking.close()

    def _groups(self) -> tuple[WaitGroup, ...]:
        if not self._waits:
            return ()
        if self._opening is None or not self._opening.sees_all:
            return (WaitGroup.CLIENT,)
        return (WaitGroup.CLIENT, WaitGroup.BACKGROUND)

    def _sum_waits(self) -> tuple[str | None, int, tuple[WaitCount, ...]]:
        profile = self._profile.end() if self._profile is not None else None
        if profile is not None:
            return wait_profile.SOURCE, profile[1], profile[0]
        if self._tally.sample_count:
            return "pg_stat_activity", self._tally.sample_count, self._tally.counts()
        return None, 0, ()

    def _ask_activity(self) -> list[ActivityRow] | None:
        rows = self._asking.ask("activity", "activity", self._ids, prepare=True)
        return None if rows is None else [ActivityRow(**row) for row in rows]

    def _look(self) -> list[ActivityRow] | None:
        rows = self._ask_activity()
        if rows is None:
            return None
        vacuums = [row for row in rows if row.backend_type == AUTOVACUUM_WORKER]
        self._timeline.look(
            time.monotonic() - self._begun_s,
            is_checkpointing=any(row.backend_type == CHECKPOINTER for row in rows),
            tasks=frozenset((row.pid, row.task) for row in vacuums),
        )
        if self._profile is not None and vacuums:
            self._profile.know({row.pid: row.backend_type for row in vacuums})
        if any(row.backend_type == HIDDEN for row in rows):
            self._asking.note("client-waits", "sessions of other roles are not shown to this one")
        return rows

    def _count(self) -> tuple[float, Rates] | None:
        """Read the counters of a second; None where they cannot be read."""
        rows = self._asking.ask("rates", "rates", self._ids, prepare=True)
        self._last = None
        if rows:
            self._last = (time.monotonic() - self._begun_s, msgspec.convert(rows[0], Rates))
            self._timeline.count(*self._last)
        return self._last

    def _settle(self) -> None:
        """Wait until clients have left, for they leave their last counters when they do."""
        now = self._asking.ask_one("last-counters", "now")
        deadline_s = time.monotonic() + _SETTLE_LIMIT_S
        while now is not None and time.monotonic() < deadline_s:
            asked = {**self._ids, "since": now["now"]}
            answer = self._asking.ask_one("last-counters", "settled", asked)
            if answer is None or answer["is_settled"]:
                return
            select.select([], [], [], _SETTLE_POLL_S)
