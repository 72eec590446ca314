from __future__ import annotations

import msgspec
import pytest

from groundspeed.analyse.history import history
from groundspeed.errors import UsageError
from tests.sided import dated_runs, run_of

STEP = [1000.0] * 10 + [850.0] * 8


def test_a_step_is_found_at_its_run_and_in_its_cell_alone() -> None:
    found = history(dated_runs(STEP))
    one, eight = found.cells
    assert (one.clients, eight.clients, eight.changes) == (1, 8, ())
    (change,) = one.changes
    assert (change.index, change.run_id, change.started_at[:10]) == (10, "night-11", "2026-01-11")
    assert change.low < change.ratio < change.high
    assert change.ratio == pytest.approx(0.85, rel=0.02)
    assert change.became == ()


def test_runs_are_taken_in_order_of_time() -> None:
    runs = dated_runs(STEP)
    assert history(runs[::-1]).cells == history(runs).cells


def test_what_was_another_since_then_is_listed() -> None:
    runs = dated_runs(STEP)
    changed = [*runs[:10]]
    for run in runs[10:]:
        records = tuple(
            msgspec.structs.replace(
                r,
                provenance=msgspec.structs.replace(
                    r.provenance, tool_version="pgbench (PostgreSQL) 18.0"
                ),
            )
            for r in run.records
        )
        changed.append(msgspec.structs.replace(run, records=records))
    (change,) = history(changed).cells[0].changes
    assert change.became == ("pgbench: pgbench (PostgreSQL) 16.4 to pgbench (PostgreSQL) 18.0",)


def test_the_error_is_shared_between_the_cells() -> None:
    # A step that one series alone would show, but not as one of forty.
    levels = [1000.0] * 5 + [960.0] * 4
    tps = [
        {
            clients: [1000.0 + clients * 7 + 9 * ((3 * day + clients) % 5)] * 2
            for clients in range(2, 41)
        }
        for day in range(9)
    ]
    one = [{1: [level + 14 * ((3 * day) % 5)] * 2} for day, level in enumerate(levels)]
    alone = [run_of(cells, run_id=f"n{day}", day=day + 1) for day, cells in enumerate(one)]
    among = [
        run_of({**cells, **others}, run_id=f"n{day}", day=day + 1)
        for day, (cells, others) in enumerate(zip(one, tps, strict=True))
    ]
    first = history(alone).cells[0]
    same = history(among).cells[0]
    assert (first.clients, same.clients) == (1, 1)
    assert len(same.changes) <= len(first.changes)
    assert all(change.p_value <= 0.05 / 40 for change in same.changes)


def test_few_runs_are_told() -> None:
    found = history(dated_runs([1000.0, 500.0, 500.0]))
    assert [c.code for c in found.cautions] == ["few-runs"]
    assert all(cell.changes == () for cell in found.cells)


def test_a_run_without_a_throughput_is_left_out() -> None:
    runs = [*dated_runs([1000.0] * 5), run_of({1: [0.0]}, run_id="dead", day=9)]
    assert [len(cell.points) for cell in history(runs).cells] == [5, 5]


def test_one_suite_at_a_time() -> None:
    first, second = dated_runs([1000.0, 1000.0])
    with pytest.raises(UsageError, match="runs of several suites: example, other"):
        history([first, msgspec.structs.replace(second, suite_name="other")])
    with pytest.raises(UsageError, match="there is no run"):
        history([])
