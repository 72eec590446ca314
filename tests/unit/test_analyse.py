from __future__ import annotations

import math

import msgspec
import pytest

from groundspeed.analyse import analyse
from groundspeed.record import Caution, Failed, Skipped
from tests.examples import (
    caution_codes,
    caution_messages,
    example_run,
    footnotes_of,
    make_measured,
    make_paired_records,
    make_record,
    make_run,
    make_trial,
)

# Which record counts


def test_a_later_attempt_replaces_a_failed_one() -> None:
    trial = make_trial()
    failed = make_record(trial, Failed(reason="lost", retryable=True), attempt=1)
    findings = analyse([make_run([failed, make_record(trial, attempt=2)], planned_trial_count=1)])

    assert (findings.measured_count, findings.failed_count) == (1, 0)
    assert "failed-trials" not in caution_codes(findings)
    assert "missing-trials" not in caution_codes(findings)


def test_the_first_of_two_measurements_counts_and_is_cautioned() -> None:
    trial = make_trial()
    records = [
        make_record(trial, make_measured(tps), attempt=i) for i, tps in enumerate((100.0, 900.0))
    ]
    findings = analyse([make_run(records, planned_trial_count=1)])

    assert findings.cells[0].tps_per_s.median == 100.0
    assert findings.measured_count == 1
    assert caution_messages(findings, "measured-twice") == [
        (
            "trial a.tpcb-like-c1-j1.r1 of run 20260102-example was measured 2 times; "
            "the first measurement counts"
        )
    ]


def test_a_failure_after_a_measurement_does_not_undo_it() -> None:
    trial = make_trial()
    later = make_record(trial, Failed(reason="lost", retryable=True), attempt=2)
    findings = analyse([make_run([make_record(trial), later])])

    assert (findings.measured_count, findings.failed_count) == (1, 0)


def test_a_run_given_twice_is_taken_once() -> None:
    run = make_run([make_record()])
    findings = analyse([run, run])

    assert findings.cells[0].tps_per_s.n == 1
    assert findings.run_ids == (run.run_id,)
    assert "same-run-twice" in caution_codes(findings)


def test_a_copy_of_a_run_counts_once_and_the_one_that_knows_more_stays() -> None:
    records = make_paired_records([1.0] * 3)
    findings = analyse([make_run(records[:4], run_id="x"), make_run(records, run_id="copy")])

    assert findings.cells[0].tps_per_s.n == 3
    assert caution_messages(findings, "same-run-twice") == [
        "run copy has records of run x; they are taken once"
    ]


def test_two_runs_of_one_name_are_two_runs() -> None:
    runs = [make_run([make_record(number=i)], run_id="x") for i in range(3)]
    findings = analyse(runs)

    assert findings.cells[0].tps_per_s.n == 3
    assert findings.run_ids == ("x", "x#2", "x#3")


def test_failed_skipped_and_untried_trials_are_named_with_reasons() -> None:
    records = [
        make_record(make_trial(repeat_index=0), Failed(reason="no space", retryable=False)),
        make_record(make_trial(repeat_index=1), Failed(reason="no space", retryable=False)),
        make_record(make_trial(repeat_index=2), Skipped(reason="too large")),
        make_record(make_trial(repeat_index=3)),
    ]
    findings = analyse([make_run(records, planned_trial_count=9)])

    assert caution_messages(findings, "failed-trials") == [
        "2 trials failed: no space (a.tpcb-like-c1-j1.r1, a.tpcb-like-c1-j1.r2)"
    ]
    assert caution_messages(findings, "skipped-trials") == [
        "1 trial was skipped: too large (a.tpcb-like-c1-j1.r3)"
    ]
    assert caution_messages(findings, "missing-trials") == [
        "run 20260102-example: 5 of 9 trials not tried; resume the run"
    ]
    assert findings.environments[0].reasons == ("no space", "too large")


# Cells


def test_cells_stand_in_plan_order_with_environments_side_by_side() -> None:
    records = make_paired_records([1.0], clients=8) + make_paired_records([1.0], clients=1)
    run = msgspec.structs.replace(make_run(records), environments=("b", "a"))
    findings = analyse([run])

    assert [(c.clients, c.environment) for c in findings.cells] == [
        (1, "b"),
        (1, "a"),
        (8, "b"),
        (8, "a"),
    ]
    assert findings.baseline == "b"


def test_a_cell_of_six_has_an_interval_and_one_of_five_has_none() -> None:
    six = analyse([make_run(make_paired_records([1.0] * 6))]).cells[0].tps_per_s
    five = analyse([make_run(make_paired_records([1.0] * 5))]).cells[0].tps_per_s

    assert (six.median, six.low, six.high) == (1025, 1000, 1050)
    assert six.confidence_ratio == pytest.approx(1 - 2 / 64)
    assert (five.low, five.high, five.confidence_ratio) == (None, None, None)
    assert (five.minimum, five.maximum) == (1000, 1040)


def test_values_that_are_no_numbers_are_left_out_and_footnoted() -> None:
    records = [
        make_record(make_trial(repeat_index=i), make_measured(tps))
        for i, tps in enumerate((100.0, math.nan, 200.0))
    ]
    findings = analyse([make_run(records)])

    assert (findings.cells[0].tps_per_s.n, findings.cells[0].tps_per_s.median) == (2, 150)
    assert footnotes_of(findings) == [
        "values that are not numbers (no transaction succeeded) are left out"
    ]


def test_cautions_on_records_are_told_once_and_counted() -> None:
    caution = Caution(code="busy", message="the machine was busy")
    records = [
        make_record(make_trial(repeat_index=i), cautions=(caution, caution)) for i in range(3)
    ]
    findings = analyse([make_run(records)])

    [footnote] = findings.footnotes
    assert (footnote.code, footnote.message, footnote.count) == ("busy", "the machine was busy", 3)
    assert findings.cells[0].footnotes == (0,)


def test_a_doubt_on_every_trial_of_several_cells_is_told_once_for_all() -> None:
    caution = Caution(code="busy", message="the machine was busy")
    other = Caution(code="cold", message="the cache was cold")
    records = [
        make_record(make_trial(clients=clients), cautions=(caution, other)[: 3 - clients])
        for clients in (1, 2)
    ]
    findings = analyse([make_run(records)])

    assert caution in findings.cautions
    assert footnotes_of(findings) == ["the cache was cold"]
    assert [cell.footnotes for cell in findings.cells] == [(0,), ()]


# The whole


def test_the_example_is_whole() -> None:
    findings = analyse([example_run()])

    assert (findings.measured_count, findings.failed_count, findings.skipped_count) == (88, 2, 18)
    assert findings.first_started_at == "2026-01-02T03:00:00+00:00"
    assert {line.workload for line in findings.seconds} == {"tpcb-like"}
    assert all(0 <= i < len(findings.footnotes) for c in findings.cells for i in c.footnotes)


def test_an_empty_run_is_findings_as_well() -> None:
    run = msgspec.structs.replace(
        make_run([], planned_trial_count=4), environments=("a",), workloads=("tpcb-like",)
    )
    findings = analyse([run])

    assert (findings.cells, findings.comparisons, findings.baseline) == ((), (), "a")
    assert findings.first_started_at is None
    assert findings.verdicts[0].sentence == "tpcb-like: nothing was measured."
