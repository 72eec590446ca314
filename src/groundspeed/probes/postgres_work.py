"""What the server did in one trial: two snapshots and a few last questions become PostgresWork."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from groundspeed.probes import statistics
from groundspeed.record.evidence import PostgresWork, ServerSizes, StatementWork, TableWork

if TYPE_CHECKING:
    from groundspeed.probes.asking import Asking
    from groundspeed.probes.statistics import Snapshot

_W = TypeVar("_W")
# More than are kept: those of the probe itself are among them, and only their texts tell.
_STATEMENT_CANDIDATES = statistics.TOP_STATEMENT_COUNT + 15


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """What stays the same while the server runs; fields as in sql/opening.sql."""

    database_id: int
    own_pid: int
    wal_segment_bytes: int | None
    shared_buffers_bytes: int
    max_connections_count: int
    huge_pages_status: str | None
    times_wal: bool
    data_checksums: str | None
    times_io: bool
    counts_tables: bool
    sees_all: bool
    is_encrypted: bool | None


def note_limits(asking: Asking, opening: Opening | None, extensions: frozenset[str]) -> None:
    """Note what this server and this role will not tell, before anything is asked."""
    if "pg_stat_statements" not in extensions:
        asking.note("statements", "the extension pg_stat_statements is not in this database")
    if opening is None:
        return
    if not opening.sees_all:
        asking.note(
            "background-waits",
            "only members of pg_monitor see the server's own processes",
        )
    if not opening.times_io:
        asking.note("io-timing", "track_io_timing is off")
    if not opening.times_wal:
        asking.note("wal-io-timing", "track_wal_io_timing is off, or not known to this version")
    if not opening.counts_tables:
        asking.note("table-statistics", "track_counts is off")


def database_bytes(asking: Asking) -> int | None:
    """Ask for the size of the database."""
    row = asking.ask_one("database-size", "database-size")
    return None if row is None else int(row["database_bytes"])


def sum_up(
    asking: Asking,
    opening: Opening,
    before: Snapshot,
    *,
    bytes_before: int | None,
    round_trip_s: float | None,
) -> PostgresWork:
    """Take the last snapshot and tell the growth since the one before, with sizes at the end."""
    after = statistics.take(
        asking,
        database_id=opening.database_id,
        with_statements=before.statements is not None,
    )
    tables, touched_bytes = _tables(asking, opening, before, after)
    # A server that died has told its size before.
    total_bytes = database_bytes(asking) or bytes_before
    return PostgresWork(
        sizes=_sizes(asking, opening, total_bytes, touched_bytes, round_trip_s),
        database=_grown(
            asking,
            "database-statistics",
            after.database,
            statistics.database_growth(before, after),
        ),
        wal=_grown(
            asking, "wal-statistics", after.wal, statistics.part_growth(before.wal, after.wal)
        ),
        checkpoints=_grown(
            asking,
            "checkpoint-statistics",
            after.checkpoints,
            statistics.part_growth(before.checkpoints, after.checkpoints),
        ),
        io=statistics.io_growth(before, after),
        tables=tables,
        statements=_statements(asking, opening, before, after),
    )


def _grown(asking: Asking, what: str, after: _W | None, work: _W | None) -> _W | None:
    if after is not None and work is None:
        asking.note(what, "counters were reset while the load ran")
    return work


def _tables(
    asking: Asking, opening: Opening, before: Snapshot, after: Snapshot
) -> tuple[tuple[TableWork, ...], int | None]:
    """Give the touched tables, the largest first, and their size; None where it is unknown."""
    touched = statistics.tables_touched(before, after)
    if after.tables is None or not opening.counts_tables:
        return (), None
    rows = asking.ask("touched-tables", "sizes", {"tables": list(touched)}) if touched else []
    if rows is None:
        return tuple(touched.values()), None
    sizes = {row["id"]: row["size_bytes"] or 0 for row in rows}
    sized = [
        msgspec.structs.replace(table, size_bytes=sizes[key]) for key, table in touched.items()
    ]
    sized.sort(key=lambda table: table.size_bytes, reverse=True)
    return tuple(sized), sum(sizes.values())


def _sizes(
    asking: Asking,
    opening: Opening,
    total_bytes: int | None,
    touched_bytes: int | None,
    round_trip_s: float | None,
) -> ServerSizes | None:
    if total_bytes is None:
        return None
    if touched_bytes is None:
        # Too much rather than too little: little would pass for data that fits into memory.
        asking.note("touched-tables", "which tables were touched is unknown: all are counted")
        touched_bytes = total_bytes
    replication = asking.ask_one("replication", "replication") or {}
    return ServerSizes(
        database_bytes=total_bytes,
        touched_bytes=touched_bytes,
        shared_buffers_bytes=opening.shared_buffers_bytes,
        max_connections_count=opening.max_connections_count,
        huge_pages_status=opening.huge_pages_status,
        data_checksums=opening.data_checksums,
        is_encrypted=opening.is_encrypted,
        round_trip_s=round_trip_s,
        replication_lag_bytes=replication.get("replication_lag_bytes"),
    )


def _statements(
    asking: Asking, opening: Opening, before: Snapshot, after: Snapshot
) -> tuple[StatementWork, ...]:
    grown = statistics.statements_growth(before, after)
    if not grown:
        return ()
    candidates = list(grown)[:_STATEMENT_CANDIDATES]
    rows = asking.ask(
        "statements", "statement-texts", {"database": opening.database_id, "ids": candidates}
    )
    return statistics.top_statements(grown, {row["id"]: row["query"] for row in rows or []})
