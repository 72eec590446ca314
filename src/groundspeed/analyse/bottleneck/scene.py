"""A trial as the rules look at it: where its clients' time went, and who was at work meanwhile.

A client is somewhere at every moment: in one of the waits of the server, on a processor, or
outside. So shares of the clients' time add up to 1, and the largest is what throughput would gain
most from. Pure arithmetic on a record; it judges nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.bottleneck import caps, held, one_thread
from groundspeed.analyse.bottleneck.places import Place, place_of
from groundspeed.analyse.diagnosis import Clue, Course
from groundspeed.analyse.settings import setting_text
from groundspeed.plan import TRANSACTIONS, Words
from groundspeed.record import Measured, Record, Series
from groundspeed.record.evidence import (
    Evidence,
    PersistenceWork,
    PostgresWork,
    ServingWork,
    WaitGroup,
)

if TYPE_CHECKING:
    from groundspeed.record import StorageWork
    from groundspeed.record.machine import HostWork

BLOCK_BYTES = 8192
# Little's law holds within 2% where nothing is hidden; more is time in no transaction.
_HIDDEN_RATIO = 0.05
# Statements of pgbench's built-in scripts, which is their number of round trips.
_STATEMENT_COUNTS = {"select-only": 1, "simple-update": 5, "tpcb-like": 7}


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One measured trial, digested.

    `shares` are of the clients' time and sum to 1 (OUTSIDE included); without waits they are what
    an emulated device tells, and the rest is OTHER. Where one thread serves all clients they are of
    its time: while it waits, all do (see `serving`). `log_busy_ratio` is the share of time in which
    somebody was writing or syncing the log; `connecting_ratio` the clients' time that is in no
    transaction.
    """

    record: Record
    outcome: Measured
    evidence: Evidence
    series: Series
    course: Course
    elapsed_s: float
    shares: dict[Place, float]
    log_busy_ratio: float
    connecting_ratio: float
    has_waits: bool
    words: Words = TRANSACTIONS

    @property
    def clients(self) -> int:
        """How many there were."""
        return self.record.trial.cell.clients

    @property
    def device(self) -> StorageWork | None:
        """What an emulated device did."""
        return self.record.storage_work

    @property
    def host(self) -> HostWork | None:
        """What the machine did."""
        return self.evidence.host

    @property
    def postgres(self) -> PostgresWork:
        """What the server told over SQL; empty where it was not asked."""
        return self.evidence.postgres or PostgresWork()

    @property
    def serving(self) -> ServingWork | None:
        """What a server did that serves all clients from one thread; None for another."""
        return self.evidence.serving

    @property
    def persistence(self) -> PersistenceWork:
        """How such a server kept its data; empty where it was not asked."""
        return self.evidence.persistence or PersistenceWork()

    @property
    def tool(self) -> str:
        """What made the load."""
        return self.record.provenance.tool

    @property
    def latency_source(self) -> str:
        """Where latencies are from."""
        return f"{self.tool}'s {'report' if self.serving is not None else 'log'}"

    @property
    def round_trip_s(self) -> float | None:
        """How long an empty question took, to the server and back."""
        if self.serving is not None:
            return self.serving.round_trip_s
        sizes = self.postgres.sizes
        return None if sizes is None else sizes.round_trip_s

    @property
    def statement_count(self) -> float | None:
        """Round trips of a transaction; None for scripts of the user's own.

        Requests that are sent several at once share one: by Little's law so many are under way.
        """
        if self.serving is not None:
            under_way = self.outcome.tps_per_s * self.outcome.latency.mean_s / self.clients
            return 1.0 / max(1.0, round(under_way)) if math.isfinite(under_way) else 1.0
        return _STATEMENT_COUNTS.get(self.record.trial.cell.workload)

    def setting(self, name: str) -> str | None:
        """Give a setting as SHOW does; None where it has its default."""
        server = self.record.provenance.server
        found = server.settings if server is not None else ()
        return next((setting_text(s) for s in found if s.name == name), None)

    @property
    def outside_s(self) -> float:
        """Time a transaction spends outside of the server."""
        rate = self.outcome.tps_per_s
        return self.share(Place.OUTSIDE) * self.clients / rate if rate else 0.0

    def share(self, *places: Place) -> float:
        """Share of the clients' time in these places together."""
        return sum(self.shares.get(place, 0.0) for place in places)

    def mean_sessions(self, *places: Place) -> float:
        """Mean number of clients in these places; of one thread for all, whether it is there."""
        return self.share(*places) * (1 if self.serving is not None else self.clients)

    def of_database(self, *places: Place) -> float:
        """Share of database time: of the time clients spent in the server."""
        inside = 1.0 - self.share(Place.OUTSIDE)
        return self.share(*places) / inside if inside > 0 else 0.0

    def waits_clue(self, name: str, *places: Place) -> Clue:
        """Say how much of database time is in these places."""
        if self.serving is not None:
            source = self.waits_source if self.has_waits else "counters of the server"
            return Clue(name=name, value=self.share(*places), unit="ratio", source=source)
        if not self.has_waits:
            return Clue(
                name=name.replace("database time", "the clients' time"),
                value=self.share(*places),
                unit="ratio",
                source="counters of the emulated device",
            )
        return Clue(
            name=name, value=self.of_database(*places), unit="ratio", source=self.waits_source
        )

    @property
    def waits_source(self) -> str:
        """Where waits were seen, and how often was looked."""
        source = self.evidence.wait_source or "pg_stat_activity"
        return f"{source}, {self.evidence.activity_sample_count} samples"


def look(
    record: Record,
    outcome: Measured,
    *,
    series: Series,
    course: Course,
    words: Words = TRANSACTIONS,
) -> Scene | None:
    """Digest a measured record; None where nothing was watched."""
    evidence = record.evidence
    if evidence is None:
        return None
    if evidence.serving is not None:
        return _serving_scene(record, outcome, series=series, course=course, words=words)
    elapsed_s = evidence.elapsed_s or float(record.trial.duration_s)
    has_waits = evidence.activity_sample_count > 0
    shares = _waits(record, evidence) if has_waits else _device_waits(record)
    return Scene(
        record=record,
        outcome=outcome,
        evidence=evidence,
        series=series,
        course=course,
        elapsed_s=elapsed_s,
        shares=shares,
        log_busy_ratio=_log_busy_ratio(record, evidence),
        connecting_ratio=_connecting_ratio(record, outcome),
        has_waits=has_waits,
        words=words,
    )


def _serving_scene(
    record: Record, outcome: Measured, *, series: Series, course: Course, words: Words
) -> Scene:
    """Digest a trial of a server with one thread for all clients."""
    evidence = record.evidence
    assert evidence is not None  # noqa: S101 - the caller has looked
    assert evidence.serving is not None  # noqa: S101 - the same
    shares = one_thread.shares_of(record, evidence)
    hidden = one_thread.connects_each_time(evidence)
    scene = Scene(
        record=record,
        outcome=outcome,
        evidence=evidence,
        series=series,
        course=course,
        elapsed_s=evidence.elapsed_s or float(record.trial.duration_s),
        shares=shares,
        log_busy_ratio=shares.get(Place.LOG, 0.0),
        connecting_ratio=_connecting_ratio(record, outcome) if hidden else 0.0,
        has_waits=evidence.activity_sample_count > 0,
        words=words,
    )
    shares = held.settle(scene)
    if caps.binding(scene) is not None:
        shares = one_thread.without_line(shares, evidence.serving.main_ready_ratio)
    busy = shares.get(Place.LOG, 0.0)
    return msgspec.structs.replace(scene, shares=shares, log_busy_ratio=busy)


def _waits(record: Record, evidence: Evidence) -> dict[Place, float]:
    counts: Counter[Place] = Counter()
    for wait in evidence.waits:
        if wait.group is WaitGroup.CLIENT:
            counts[place_of(wait.wait_class, wait.event)] += wait.sample_count
    # Sampled sessions can exceed the clients by a little: those that just left.
    whole = max(evidence.activity_sample_count * record.trial.cell.clients, sum(counts.values()), 1)
    shares = {place: count / whole for place, count in counts.items()}
    return {**shares, Place.OUTSIDE: max(0.0, 1.0 - sum(shares.values()))}


def _device_waits(record: Record) -> dict[Place, float]:
    """Without samples: what all processes waited for an emulated device, as if all were clients."""
    work = record.storage_work
    if work is None or not work.elapsed_s:
        return {Place.OTHER: 1.0}
    whole_s = work.elapsed_s * record.trial.cell.clients
    parts = {
        Place.READ: work.read_waited_s / whole_s,
        Place.LOG: work.sync_waited_s / whole_s,
        Place.WRITE: work.write_waited_s / whole_s,
    }
    total = sum(parts.values())
    shares = {place: part / max(1.0, total) for place, part in parts.items()}
    return {**shares, Place.OTHER: max(0.0, 1.0 - total)}


def _log_busy_ratio(record: Record, evidence: Evidence) -> float:
    """Share of time with a process in the log's write or sync; one at a time does that."""
    if not evidence.activity_sample_count:
        work = record.storage_work
        return min(1.0, work.sync_waited_s / work.elapsed_s) if work and work.elapsed_s else 0.0
    seen = sum(
        wait.sample_count
        for wait in evidence.waits
        if place_of(wait.wait_class, wait.event) is Place.LOG
    )
    return min(1.0, seen / evidence.activity_sample_count)


def _connecting_ratio(record: Record, outcome: Measured) -> float:
    """Clients' time in no transaction, by Little's law: clients = rate x latency where none is.

    Only where pgbench connects for each transaction: it then has no initial connection time to
    tell. Else it is a thread that has not come round to its next client, or with a rate
    clients that wait for their turn. Latencies are those of transactions that succeeded; failed
    ones are taken to be as long.
    """
    cell = record.trial.cell
    if record.trial.rate_per_s is not None or not outcome.transaction_count:
        return 0.0
    if outcome.initial_connection_s is not None:
        return 0.0
    tried = 1.0 + (outcome.failed_count or 0) / outcome.transaction_count
    inside = outcome.tps_per_s * tried * outcome.latency.mean_s / cell.clients
    hidden = 1.0 - inside
    return hidden if hidden > _HIDDEN_RATIO else 0.0
