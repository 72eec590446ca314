"""Snapshots of what the server counts (pg_stat_*), and their differences.

The rows are asked for by the fields of `record.evidence`, so a snapshot is of the same types as the
growth between two. What was reset in between has no growth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from groundspeed.record.evidence import (
    CheckpointWork,
    DatabaseWork,
    IoWork,
    StatementWork,
    TableWork,
    WalWork,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.probes.asking import Asking, Row

_W = TypeVar("_W", bound=msgspec.Struct)
_K = TypeVar("_K", int, tuple[str, str, str])
TOP_STATEMENT_COUNT = 5
OWN_MARK = "groundspeed probe"


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """Counters since they were last reset; None where they could not be asked.

    Tables by their oid, statements by queryid. `own_count` are the statements of the probe's own
    connection until then: commits that the load did not make.
    """

    own_count: int
    database: DatabaseWork | None
    wal: WalWork | None
    checkpoints: CheckpointWork | None
    io: dict[tuple[str, str, str], IoWork] | None
    tables: dict[int, TableWork] | None
    statements: dict[int, StatementWork] | None


def take(asking: Asking, *, database_id: int, with_statements: bool) -> Snapshot:
    """Ask for all counters, those that change soonest first."""
    asking.ask("flush", "flush")
    own_count = asking.statement_count
    ids = {"database": database_id}
    return Snapshot(
        own_count=own_count,
        database=_one(asking.ask_one("database-statistics", "database"), DatabaseWork),
        wal=_one(asking.ask_one("wal-statistics", "wal"), WalWork),
        checkpoints=_one(asking.ask_one("checkpoint-statistics", "checkpoints"), CheckpointWork),
        io=_by(
            asking.ask("io-statistics", "io"),
            IoWork,
            lambda row: (row["backend_type"], row["object"], row["context"]),
        ),
        tables=_by(asking.ask("table-statistics", "tables"), TableWork, lambda row: row["id"]),
        statements=_by(
            asking.ask("statements", "statements", ids), StatementWork, lambda row: row["id"]
        )
        if with_statements
        else None,
    )


def growth(before: _W, after: _W, *, gauges: frozenset[str] = frozenset()) -> _W | None:
    """Subtract two states of the same counters; words are those of `after`.

    Numbers that are None in either are None. None when a counter went back, which is a reset;
    `gauges` may go back.
    """
    changes: dict[str, float | None] = {}
    for field in type(after).__struct_fields__:
        first, last = getattr(before, field), getattr(after, field)
        if isinstance(last, str):
            continue
        if first is None or last is None:
            changes[field] = None
            continue
        changes[field] = last - first
        if last < first and field not in gauges:
            return None
    return msgspec.structs.replace(after, **changes)


def database_growth(before: Snapshot, after: Snapshot) -> DatabaseWork | None:
    """Tell what the load did in its database: all growth less the commits of the probe."""
    if before.database is None or after.database is None:
        return None
    work = growth(before.database, after.database)
    if work is None:
        return None
    own_count = after.own_count - before.own_count
    return msgspec.structs.replace(work, commit_count=max(0, work.commit_count - own_count))


def part_growth(before: _W | None, after: _W | None) -> _W | None:
    """Tell the growth of one row; None where it was not asked, or reset."""
    return None if before is None or after is None else growth(before, after)


def io_growth(before: Snapshot, after: Snapshot) -> tuple[IoWork, ...]:
    """Tell what grew in pg_stat_io, most blocks and syncs first; rows without growth are left out.

    A row that was reset is taken from its reset on.
    """
    if before.io is None or after.io is None:
        return ()
    rows = []
    for key, last in after.io.items():
        first = before.io.get(key)
        row = last if first is None else growth(first, last) or last
        if _io_count(row):
            rows.append(row)
    return tuple(sorted(rows, key=_io_count, reverse=True))


def tables_touched(before: Snapshot, after: Snapshot) -> dict[int, TableWork]:
    """Tell which tables were read or written, by oid; sizes are still 0.

    `dead_row_count` is less than 0 where a vacuum removed more than came.
    """
    if before.tables is None or after.tables is None:
        return {}
    touched = {}
    for key, last in after.tables.items():
        first = before.tables.get(key)
        gauges = frozenset({"dead_row_count"})
        row = last if first is None else growth(first, last, gauges=gauges) or last
        if (
            row.sequential_scan_count
            + row.index_scan_count
            + row.insert_count
            + row.update_count
            + row.delete_count
        ):
            touched[key] = row
    return touched


def statements_growth(before: Snapshot, after: Snapshot) -> dict[int, StatementWork]:
    """Tell which statements took time, by queryid and the longest first; without their texts."""
    if before.statements is None or after.statements is None:
        return {}
    rows = {}
    for key, last in after.statements.items():
        first = before.statements.get(key)
        row = last if first is None else growth(first, last) or last
        if row.call_count:
            rows[key] = row
    return dict(sorted(rows.items(), key=lambda item: item[1].elapsed_s, reverse=True))


def top_statements(
    grown: Mapping[int, StatementWork], texts: Mapping[int, str]
) -> tuple[StatementWork, ...]:
    """Give the statements that took most time, with their texts, without those of the probe."""
    named = [
        msgspec.structs.replace(row, query=" ".join(texts[key].split()))
        for key, row in grown.items()
        if key in texts and OWN_MARK not in texts[key]
    ]
    return tuple(named[:TOP_STATEMENT_COUNT])


def _io_count(row: IoWork) -> int:
    return (
        row.read_count
        + row.write_count
        + row.extend_count
        + row.hit_count
        + row.eviction_count
        + row.sync_count
    )


def _one(row: Row | None, kind: type[_W]) -> _W | None:
    return None if row is None else msgspec.convert(row, kind)


def _by(rows: list[Row] | None, kind: type[_W], key: Callable[[Row], _K]) -> dict[_K, _W] | None:
    return None if rows is None else {key(row): msgspec.convert(row, kind) for row in rows}
