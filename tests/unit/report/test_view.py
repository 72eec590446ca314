from __future__ import annotations

import io
import json
import math
from random import Random

import msgspec
from rich.console import Console

from groundspeed.analyse import Answer, analyse
from groundspeed.plan import Saved
from groundspeed.report import data, html, markdown, terminal
from groundspeed.report.view import view
from tests.examples import (
    AWKWARD,
    EMULATED,
    ENVIRONMENTS,
    PIPED,
    example_findings,
    make_measured,
    make_paired_records,
    make_record,
    make_run,
    make_seconds,
    make_trial,
)


def test_every_cell_and_comparison_has_a_row() -> None:
    findings = example_findings()
    page = view(findings)

    assert len(page.results.rows) == len(findings.cells) == 10
    assert len(page.comparisons.rows) == len(findings.comparisons) == 6
    assert page.environments == ENVIRONMENTS
    assert not page.results.threads_vary
    assert page.results.has_intervals


def test_undecided_says_why() -> None:
    row = view(example_findings(3)).comparisons.rows[0]

    assert row.answer is Answer.UNDECIDED
    assert row.answer_text == "not decided: 3 pairs, 6 are needed for a 95% interval"
    assert row.tps_interval == "-"


def test_notes_count_from_one_and_are_told_with_their_trials() -> None:
    page = view(example_findings())

    assert page.results.rows[0].notes == (1,)
    assert page.notes[0].number == 1
    assert page.notes[0].text == "buffers were <half> filled (12 trials)"


def test_figures_have_a_panel_a_workload_and_a_line_an_environment() -> None:
    throughput, p99 = view(example_findings()).figures

    assert (throughput.metric.key, p99.metric.key) == ("tps", "p99")
    assert [panel.title for panel in throughput.panels] == ["tpcb-like", "select-only"]
    assert [line.environment for line in throughput.panels[0].lines] == list(ENVIRONMENTS)
    # The emulated one was skipped there.
    assert [line.environment for line in throughput.panels[1].lines] == [PIPED, AWKWARD]
    point = throughput.panels[0].lines[0].points[0]
    assert point.low is not None
    assert point.minimum <= point.low <= point.median <= point.maximum
    assert [point.clients for point in throughput.panels[0].lines[0].points] == [1, 8]


def test_threads_that_vary_are_named() -> None:
    records = [
        make_record(make_trial(clients=4, threads=threads, block_index=threads))
        for threads in (1, 2)
    ]
    page = view(analyse([make_run(records)]))

    assert page.results.threads_vary
    assert [p.title for p in page.figures[0].panels] == [
        "tpcb-like, 1 thread",
        "tpcb-like, 2 threads",
    ]


def test_what_is_no_number_is_a_dash_and_not_drawn() -> None:
    page = view(analyse([make_run([make_record(make_trial(), make_measured(math.nan))])]))

    assert page.results.rows[0].tps == "-"
    assert page.figures[0].panels[0].lines == ()
    assert len(page.figures[1].panels[0].lines) == 1


def test_seconds_are_grouped_and_a_second_without_answers_has_no_latency() -> None:
    page = view(example_findings())

    assert [p.title for p in page.seconds] == [
        "tpcb-like, 1 client on 1 thread",
        "tpcb-like, 8 clients on 1 thread",
    ]
    series = page.seconds[0].series[0]
    assert series.environment == PIPED
    assert series.tps_per_s[2] == 0
    assert series.p99_s[2] is None
    assert len(series.second) == len(series.tps_per_s) == len(series.p99_s)


def test_seconds_of_a_sampled_log_are_scaled_to_all_transactions() -> None:
    trial = make_trial()
    record = make_record(trial, make_measured(log_sampling_ratio=0.1))
    rows = make_seconds(Random(1), 100.0)
    page = view(analyse([make_run([record], seconds={trial.trial_id: rows})]))

    assert page.seconds[0].series[0].tps_per_s[0] == rows[0].count * 10


def test_facts_mark_circumstances_that_differ_but_not_results() -> None:
    rows = {row.fact: row for row in view(example_findings()).facts.rows}

    assert rows["filesystem"].values == ("ext4", "tmpfs", "ext4")
    assert rows["filesystem"].differs
    assert rows["shared_buffers"].values == ("128MB", "1GB", "128MB")
    assert not rows["kernel"].differs
    assert rows["trials skipped"].values == ("0", "-", "18")
    assert not rows["trials skipped"].differs
    assert rows["storage"].values[ENVIRONMENTS.index(EMULATED)] == "cloud-volume (emulated)"


def test_nothing_measured_is_a_view_as_well() -> None:
    page = view(analyse([make_run([])]))

    assert page.results.rows == ()
    assert page.figures == ()
    assert page.summary.counts == "0 of 0 trials measured"
    assert page.summary.period == "-"


def test_one_environment_has_no_comparison() -> None:
    records = [r for r in make_paired_records([1.0] * 6) if r.trial.cell.environment == "a"]

    assert view(analyse([make_run(records)])).comparisons.rows == ()


def test_what_was_saved_is_in_every_format() -> None:
    saved = Saved(
        tried_count=48,
        planned_count=192,
        round_count=10,
        load_s=48.0,
        warm_up_s=1.0,
        fixed_load_s=720.0,
        family_count=6,
        fewest_repeats=8,
        fewest_load_s=32.0,
        at_most_s=300.0,
    )
    findings = msgspec.structs.replace(example_findings(), saved=saved)
    told = view(findings).saving
    assert "after 48 s of load in 10 rounds of short trials" in told
    assert "A fixed design of 60 s x 3 repeats would have taken 12 min of load, 15 times" in told
    assert told in html.render(findings)
    assert told in markdown.render(findings)
    text = io.StringIO()
    terminal.render(findings, Console(file=text, width=80))
    assert told in " ".join(text.getvalue().split())
    document = json.loads(data.to_json(findings))["saved"]
    assert (document["load_s"], document["ratio"]) == (48.0, 48.0 / 720.0)
    assert document["sentence"] == told
    assert json.loads(data.to_json(example_findings()))["saved"] is None
    assert view(example_findings()).saving == ""
