from __future__ import annotations

import msgspec
import pytest

from groundspeed.probes import statistics
from groundspeed.probes.statistics import Snapshot
from groundspeed.record.evidence import (
    DatabaseWork,
    IoWork,
    StatementWork,
    TableWork,
    WalWork,
)

DATABASE = DatabaseWork(
    commit_count=100,
    rollback_count=1,
    block_hit_count=50,
    block_read_count=5,
    block_read_s=1.5,
    temp_file_count=0,
    temp_bytes=0,
    deadlock_count=0,
    conflict_count=0,
)
IO = IoWork(
    backend_type="client backend",
    object="relation",
    context="normal",
    read_count=10,
    read_bytes=81920,
    write_count=0,
    write_bytes=0,
    extend_count=0,
    hit_count=7,
    eviction_count=0,
    sync_count=0,
)
TABLE = TableWork(
    name="public.t",
    size_bytes=0,
    sequential_scan_count=1,
    index_scan_count=0,
    insert_count=10,
    update_count=0,
    hot_update_count=0,
    delete_count=0,
    dead_row_count=30,
    autovacuum_count=0,
)
STATEMENT = StatementWork(query="", call_count=3, elapsed_s=2.0, block_read_count=1, wal_bytes=100)
EMPTY = Snapshot(
    own_count=0, database=None, wal=None, checkpoints=None, io=None, tables=None, statements=None
)


def snapshot(**parts: object) -> Snapshot:
    return msgspec.structs.replace(EMPTY, **parts)


def test_counters_grow_and_an_unknown_one_stays_unknown() -> None:
    later = msgspec.structs.replace(DATABASE, commit_count=150, block_read_s=None)
    assert statistics.growth(DATABASE, later) == msgspec.structs.replace(
        DATABASE,
        commit_count=50,
        rollback_count=0,
        block_hit_count=0,
        block_read_count=0,
        block_read_s=None,
    )


def test_a_counter_that_went_back_was_reset() -> None:
    later = msgspec.structs.replace(DATABASE, commit_count=400, block_hit_count=49)
    assert statistics.growth(DATABASE, later) is None


def test_the_commits_of_the_probe_are_not_those_of_the_load() -> None:
    later = msgspec.structs.replace(DATABASE, commit_count=300)
    work = statistics.database_growth(
        snapshot(database=DATABASE, own_count=20), snapshot(database=later, own_count=70)
    )
    assert work is not None
    assert work.commit_count == 150


def test_what_was_not_asked_has_no_growth() -> None:
    wal = WalWork(record_count=1, full_page_count=1, bytes=1, buffers_full_count=1)
    assert statistics.part_growth(None, wal) is None
    assert statistics.database_growth(EMPTY, snapshot(database=DATABASE)) is None
    io, table, statement = {("a", "b", "c"): IO}, {1: TABLE}, {1: STATEMENT}
    after = snapshot(io=io, tables=table, statements=statement)
    assert statistics.io_growth(EMPTY, after) == ()
    assert statistics.tables_touched(EMPTY, after) == {}
    assert statistics.statements_growth(EMPTY, after) == {}


def test_rows_of_io_without_growth_are_left_out_and_the_busiest_comes_first() -> None:
    still = {("still", "relation", "normal"): IO}
    few = {("few", "relation", "normal"): IO}
    many = {("many", "relation", "normal"): IO}
    more = msgspec.structs.replace
    grown = statistics.io_growth(
        snapshot(io={**still, **few, **many}),
        snapshot(
            io={
                **still,
                ("few", "relation", "normal"): more(IO, backend_type="few", read_count=11),
                ("many", "relation", "normal"): more(IO, backend_type="many", hit_count=99),
            }
        ),
    )
    assert [(row.backend_type, row.read_count, row.hit_count) for row in grown] == [
        ("many", 0, 92),
        ("few", 1, 0),
    ]


def test_a_table_is_touched_when_it_was_scanned_or_changed() -> None:
    later = msgspec.structs.replace
    before = snapshot(tables={1: TABLE, 2: TABLE, 3: TABLE})
    after = snapshot(
        tables={
            1: later(TABLE, autovacuum_count=1),
            2: later(TABLE, index_scan_count=4, dead_row_count=10),
            3: later(TABLE, update_count=2),
            4: later(TABLE, name="public.new"),
        }
    )
    touched = statistics.tables_touched(before, after)
    assert set(touched) == {2, 3, 4}
    assert (touched[2].index_scan_count, touched[2].dead_row_count) == (4, -20)
    assert touched[4].insert_count == 10


def test_the_statements_that_took_longest_have_texts_and_the_probe_has_none_among_them() -> None:
    later = msgspec.structs.replace
    count = statistics.TOP_STATEMENT_COUNT + 2
    before = snapshot(statements={0: STATEMENT, 99: STATEMENT})
    after = snapshot(
        statements={
            key: later(STATEMENT, call_count=9, elapsed_s=3.0 + key) for key in range(count)
        }
        | {98: later(STATEMENT, elapsed_s=1000.0), 99: STATEMENT}
    )
    grown = statistics.statements_growth(before, after)
    assert 99 not in grown
    assert grown[0].elapsed_s == pytest.approx(1.0)
    texts = {key: f"SELECT\n  {key}" for key in range(count)}
    texts[98] = "-- groundspeed probe: something\nSELECT 98"
    top = statistics.top_statements(grown, texts)
    assert [row.query for row in top] == [f"SELECT {key}" for key in range(6, 1, -1)]
