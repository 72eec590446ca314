"""Searches for the highest rate in every format, and while they run."""

from __future__ import annotations

import csv
import io
import json

import msgspec
import pytest
from rich.console import Console

from groundspeed.cli import plan_command
from groundspeed.cli.display import LiveDisplay, PlainDisplay
from groundspeed.report import data, html, markdown
from groundspeed.report.capacity_view import capacity_view
from groundspeed.report.view import view
from tests.examples import example_findings, make_record
from tests.golden.reports import print_to_text
from tests.searched import found, plan_of, search, until

LIMITS = {"one": 1200.0, "two": 400.0}
FINDINGS = found(plan_of(), until(LIMITS))


@pytest.mark.parametrize("columns", [80, 120])
def test_the_terminal_has_a_sentence_for_each_cell(columns: int) -> None:
    text = print_to_text(columns, FINDINGS)
    assert all(len(line) <= columns for line in text.splitlines())
    joined = " ".join(text.split())
    assert "Highest rate with p99 <= 10 ms" in joined
    assert joined.count("Holds p99 <= 10 ms up to") == 2
    assert "closed loop 2,000/s" in joined
    assert "latency-bound one then two" in joined


def test_nothing_is_said_where_nothing_was_searched() -> None:
    findings = example_findings()
    assert capacity_view(findings).rows == ()
    for text in (print_to_text(80, findings), markdown.render(findings), html.render(findings)):
        assert "Highest rate" not in text


def test_markdown_has_a_row_for_each_cell() -> None:
    text = markdown.render(FINDINGS)
    rows = [line for line in text.splitlines() if line.startswith(("| one |", "| two |"))]
    assert len([row for row in rows if "**1,1" in row or "**4" in row]) == 2


def test_the_page_draws_every_slice_the_bound_and_the_interval() -> None:
    text = html.render(FINDINGS)
    slices = [s for c in FINDINGS.capacities for s in c.slices]
    for mark, count in (("holds", sum(s.holds for s in slices)), ("breaks", None)):
        expected = len(slices) - sum(s.holds for s in slices) if count is None else count
        assert text.count(f", {mark}</title>") == expected
    assert text.count('<rect class="span ') == 2
    assert text.count("p99 &lt;= 10 ms</text>") == 2


def test_the_figure_has_the_median_of_each_rate() -> None:
    for figure, capacity in zip(view(FINDINGS).capacity.figures, FINDINGS.capacities, strict=True):
        rates = [rate for rate, _ in figure.line]
        assert rates == sorted({s.rate_per_s for s in capacity.slices})
        # Without noise p99 rises with the rate.
        assert [p99 for _, p99 in figure.line] == sorted(p99 for _, p99 in figure.line)


def test_the_data_has_every_slice() -> None:
    told = json.loads(data.to_json(FINDINGS))["capacities"]
    assert [c["environment"] for c in told] == ["one", "two"]
    assert told[0]["state"] == "found"
    assert told[0]["low_per_s"] <= 1200 <= told[0]["high_per_s"]
    assert len(told[0]["slices"]) == len(FINDINGS.capacities[0].slices)
    rows = list(csv.DictReader(io.StringIO(data.to_csv(FINDINGS))))
    assert [row["capacity_state"] for row in rows] == ["found", "found"]
    assert float(rows[1]["capacity_rate_per_s"]) == FINDINGS.capacities[1].rate_per_s
    without = list(csv.DictReader(io.StringIO(data.to_csv(example_findings()))))
    assert {row["capacity_rate_per_s"] for row in without} == {""}


def test_what_was_not_decided_is_no_figure_of_a_table() -> None:
    open_ = msgspec.structs.replace(
        FINDINGS.capacities[0], low_per_s=None, high_per_s=None, slices=()
    )
    page = capacity_view(msgspec.structs.replace(FINDINGS, capacities=(open_,)))
    assert (page.rows[0].holds, page.rows[0].interval, page.figures) == ("-", "-", ())


def test_the_display_says_the_rate_and_whether_it_holds() -> None:
    made = plan_of("one")
    records = search(made, until(LIMITS), most=6)
    where = Console(file=io.StringIO(), width=160, color_system=None)
    with PlainDisplay(made, where) as display:
        for number, record in enumerate(records, start=1):
            display.trial_started(record.trial, number=number, left_s=60.0)
            display.trial_ended(record)
    assert isinstance(where.file, io.StringIO)
    lines = where.file.getvalue().splitlines()
    assert " at " not in lines[0].partition("TPS")[0]
    assert all(("  holds" in line) != ("  breaks" in line) for line in lines[1:])
    assert all("/s  " in line for line in lines[1:])


def test_the_live_display_keeps_saying_where_the_search_stands() -> None:
    made = plan_of("one")
    record = search(made, until(LIMITS), most=1)[0]
    where = Console(file=io.StringIO(), force_terminal=True, width=160, color_system=None)
    with LiveDisplay(made, where) as display:
        display.trial_started(record.trial, number=1, left_s=60.0)
        display.trial_ended(make_record(record.trial))
        display.note("0 of 1 searches have ended")
        display.trial_started(record.trial, number=2, left_s=50.0)
    assert isinstance(where.file, io.StringIO)
    assert where.file.getvalue().rpartition("trial 2")[2].count("0 of 1 searches have ended") == 1


def test_a_plan_foretells_the_time() -> None:
    lines = plan_command.summary(plan_of("one", at_most="5m"))
    assert lines[1] == "1 environment: one"
    assert lines[2].startswith("1 search for the highest rate with p99 <= 10.0 ms, to within 10%")
    assert "where slices agree (37 rounds)" in lines[3]
    assert lines[3].endswith("at most 5 min")
    assert len(plan_command.shown_trials(plan_of("one"))) == 1
