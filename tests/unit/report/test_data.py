from __future__ import annotations

import csv
import io
import json
import math

import pytest

from groundspeed.analyse import analyse
from groundspeed.report.data import to_csv, to_json
from tests.examples import (
    AWKWARD,
    example_findings,
    make_measured,
    make_paired_records,
    make_record,
    make_run,
    make_trial,
)


def test_json_names_itself_and_its_format() -> None:
    document = json.loads(to_json(example_findings()))

    assert (document["kind"], document["format"]) == ("groundspeed-findings", 1)
    assert document["baseline"] == "disk|a"
    assert document["environments"][1]["environment"] == AWKWARD
    assert "seconds" not in document


def test_json_is_in_base_units_and_unrounded() -> None:
    findings = example_findings()
    document = json.loads(to_json(findings))

    assert document["cells"][0]["p99_s"]["median"] == findings.cells[0].p99_s.median
    comparison = document["comparisons"][0]
    assert comparison["tps_ratio"]["estimate"] == findings.comparisons[0].tps_ratio
    assert comparison["tps_ratio"]["low"] == findings.comparisons[0].tps_low
    assert comparison["answer"] == "faster"


def test_what_is_no_number_is_null_and_empty() -> None:
    findings = analyse([make_run([make_record(make_trial(), make_measured(math.nan))])])

    cell = json.loads(to_json(findings))["cells"][0]
    assert cell["tps_per_s"]["median"] is None
    assert cell["tps_per_s"]["low"] is None
    [row] = csv.DictReader(io.StringIO(to_csv(findings)))
    assert row["tps_per_s_median"] == ""
    assert row["p99_s_median"] == "0.004"


def test_csv_has_one_row_a_cell_and_survives_quotes() -> None:
    findings = example_findings()
    rows = list(csv.DictReader(io.StringIO(to_csv(findings))))

    assert len(rows) == len(findings.cells)
    assert rows[1]["environment"] == AWKWARD
    assert float(rows[1]["tps_per_s_median"]) == findings.cells[1].tps_per_s.median
    assert rows[1]["footnotes"] == "page-cache: buffers were <half> filled"


def test_csv_without_intervals_leaves_them_empty() -> None:
    findings = analyse([make_run(make_paired_records([1.1] * 3))])
    row = next(csv.DictReader(io.StringIO(to_csv(findings))))

    assert row["n"] == "3"
    assert row["tps_per_s_low"] == row["confidence_ratio"] == ""
    assert float(row["tps_per_s_minimum"]) == pytest.approx(1000)
