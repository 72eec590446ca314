from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import published
from groundspeed.analyse import Answer
from groundspeed.analyse.outside import matches, refuse_published
from groundspeed.analyse.sides import Place, Side, share_records, shared
from groundspeed.analyse.two_sides import compare_sides
from groundspeed.errors import UsageError
from groundspeed.importing import run_records
from tests.examples import make_measured, make_record, make_run, make_trial
from tests.sided import around, run_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse import RunRecords
    from groundspeed.analyse.two_sides import Compared


def publication_of(
    *points: dict[str, object], scale: int | None = 100, tool: str = "pgbench"
) -> RunRecords:
    environments = [
        {"environment": name, "scale": scale, "duration_s": 60, "points": points}
        for name in ("theirs", "others")
    ]
    content = json.dumps(
        {"source": "A table (Who, 2026)", "tool": tool, "environments": environments}
    )
    return run_records(published.parse(content, name="table"), content.encode())


def point(clients: int, tps: float, **more: object) -> dict[str, object]:
    return {"workload": "tpcb-like", "clients": clients, "tps": tps, **more}


def theirs(run: RunRecords, environment: str = "theirs") -> Side:
    name = f"{environment} (published)"
    return Side(name=f"table:{name}", run=run, environment=name)


def mine(tps: dict[int, Sequence[float]]) -> Side:
    """A run at scale 10 with one thread."""
    return Side(name="my:a", run=run_of(tps, run_id="my"), environment="a")


def compare(baseline: Side, candidate: Side) -> Compared:
    (found,) = compare_sides([(baseline, candidate)])
    return found


def test_the_ratio_is_shown_and_nothing_is_decided() -> None:
    # With so many repeats two runs would be decided against a single value.
    values = around(1000.0, 60, spread=0.001)
    found = compare(theirs(publication_of(point(1, 500.0))), mine({1: values}))
    (cell,) = found.cells
    assert cell.tps.ratio == pytest.approx(2, rel=0.01)
    assert (cell.tps.low, cell.tps.high, cell.p_value) == (None, None, None)
    assert cell.answer is Answer.UNDECIDED
    assert cell.why == "a published figure is one value a side: no interval, not decided"
    assert (cell.baseline_count, cell.candidate_count) == (1, 60)
    assert cell.p99.n == 0


def test_who_published_it_is_said_first() -> None:
    found = compare(theirs(publication_of(point(1, 500.0))), mine({1: [1000.0]}))
    assert found.baseline_label == "table:theirs (published)"
    codes = [caution.code for caution in found.cautions]
    assert codes[:2] == ["published", "other-place"]
    assert "A table (Who, 2026)" in found.cautions[0].message
    assert {"drift", "other-time"}.isdisjoint(codes)


def test_threads_that_are_not_told_are_like_any() -> None:
    run = publication_of(point(1, 500.0), scale=10)
    found = compare(mine({1: [1000.0]}), theirs(run))
    (cell,) = found.cells
    assert (cell.clients, cell.threads, cell.scale) == (1, 1, 10)
    differences = {d.fact: dict(d.values) for d in found.differences}
    assert differences["threads"] == {"my:a": "1", "table:theirs (published)": "unknown"}
    assert "scale" not in differences


def test_other_threads_are_another_cell() -> None:
    run = publication_of(point(1, 500.0, threads=4), point(8, 900.0, threads=1))
    both = shared(mine({1: [1000.0], 8: [3000.0]}), theirs(run))
    assert [cell.place.clients for cell in both.cells] == [8]
    assert [place.clients for place in both.only_baseline] == [1]
    assert [(place.clients, place.threads) for place in both.only_candidate] == [(1, 4)]


def test_another_scale_is_compared_and_told_of() -> None:
    found = compare(mine({1: [1000.0]}), theirs(publication_of(point(1, 500.0))))
    assert found.cells[0].scale == 10
    assert dict(next(d.values for d in found.differences if d.fact == "scale")) == {
        "my:a": "10",
        "table:theirs (published)": "100",
    }


def test_what_is_not_told_is_called_unknown() -> None:
    found = compare(mine({1: [1000.0]}), theirs(publication_of(point(1, 500.0))))
    differences = {d.fact: dict(d.values) for d in found.differences}
    for fact in ("PostgreSQL", "protocol", "warm-up", "storage", "CPU", "memory"):
        assert differences[fact]["table:theirs (published)"] == "unknown"
    assert differences["duration"]["table:theirs (published)"] == "60 s"
    # All settings of theirs are unknown, none is taken for default.
    assert not [fact for fact in differences if fact.startswith("setting ")]


def test_where_a_scale_is_found_the_others_are_left_alone() -> None:
    small, large = Place("w", 1, 1, 10), Place("w", 1, 1, 100)
    told, other = Place("w", 1, 0, 100), Place("w", 1, 0, 7)
    assert matches([small, large], [told]) == ((large, told),)
    assert matches([small], [told, other]) == ((small, told), (small, other))
    assert matches([Place("w", 2, 1, 100), Place("v", 1, 1, 100)], [told]) == ()


def test_two_environments_of_a_publication_are_not_paired() -> None:
    run = publication_of(point(1, 500.0), point(8, 900.0))
    baseline, candidate = theirs(run), theirs(run, "others")
    assert not share_records(baseline, candidate)
    found = compare(baseline, candidate)
    assert not found.is_paired
    assert [cell.tps.ratio for cell in found.cells] == [1.0, 1.0]
    assert {cell.answer for cell in found.cells} == {Answer.UNDECIDED}


def imported(tps: Sequence[float], name: str) -> Side:
    """Reports of pgbench without logs, with one date."""
    source = msgspec.structs.replace
    figure = publication_of(point(1, 1.0)).records[0].provenance.imported
    assert figure is not None
    kind = type(figure.kind).PGBENCH_OUTPUT
    records = [
        source(
            made,
            provenance=source(made.provenance, imported=source(figure, kind=kind)),
        )
        for index, value in enumerate(tps)
        for made in (
            make_record(
                make_trial(environment="a", repeat_index=index, block_index=index),
                make_measured(value),
            ),
        )
    ]
    records = [
        source(each, trial=source(each.trial, trial_id=f"{each.trial.trial_id}.{name}"))
        for each in records
    ]
    return Side(name=name, run=make_run(records, run_id=name), environment="a")


def test_imported_reports_are_compared_like_two_runs() -> None:
    found = compare(imported(around(1000.0, 8), "old"), imported(around(2000.0, 8), "new"))
    (cell,) = found.cells
    assert (cell.is_paired, cell.answer) == (False, Answer.FASTER)
    assert cell.tps.low is not None
    assert "other-time" in {caution.code for caution in found.cautions}


def test_one_report_a_side_is_no_comparison() -> None:
    found = compare(imported([1000.0], "old"), imported([2000.0], "new"))
    (cell,) = found.cells
    assert (cell.answer, cell.tps.low) == (Answer.UNDECIDED, None)
    assert cell.why.startswith("need >= 4 samples")


def test_no_gate_stands_on_published_figures() -> None:
    side = theirs(publication_of(point(1, 500.0)))
    with pytest.raises(UsageError, match="published figures, by which nothing can be decided"):
        refuse_published([(mine({1: [1.0]}), side)])
    refuse_published([(mine({1: [1.0]}), imported([1.0], "old"))])
