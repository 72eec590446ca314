"""Emulated environments in every report: labelled wherever they are named, and their devices."""

from __future__ import annotations

import csv
import io
import json
from functools import cache

import pytest
from rich.console import Console

from groundspeed.analyse import Findings, analyse
from groundspeed.report import data, device_lines, html, markdown, terminal
from groundspeed.report.view import view
from tests.examples import (
    EMULATED,
    example_findings,
    make_record,
    make_run,
    make_storage_work,
)

LABEL = f"{EMULATED} (emulated)"


@cache
def text_of(kind: str) -> str:
    if kind == "markdown":
        return markdown.render(example_findings())
    out = io.StringIO()
    terminal.render(example_findings(), Console(width=300, file=out, _environ={}))
    return out.getvalue()


@pytest.mark.parametrize("kind", ["terminal", "markdown"])
def test_no_line_names_an_emulated_environment_without_saying_so(kind: str) -> None:
    naming = [line for line in text_of(kind).splitlines() if EMULATED in line]
    assert len(naming) > 6
    # The caution says it in a sentence of its own.
    assert [x for x in naming if LABEL not in x and "runs on emulated storage" not in x] == []


@pytest.mark.parametrize("kind", ["terminal", "markdown"])
def test_the_devices_have_a_table(kind: str) -> None:
    assert "What the emulated device did" in text_of(kind)
    assert "60.0 + 800" in text_of(kind)
    assert "1.25 (3.50)" in text_of(kind)
    assert "43.7%" in text_of(kind)


def test_a_narrow_terminal_has_two_tables_of_devices() -> None:
    out = io.StringIO()
    terminal.render(example_findings(), Console(width=80, file=out, _environ={}))
    assert out.getvalue().count("What the emulated device did") == 2


def test_the_page_has_the_devices_with_their_badge() -> None:
    section = html.render(example_findings()).partition('<section id="devices">')[2]
    section = section.partition("</section>")[0]
    assert section.count("60.0 + 800") == 2
    assert section.count('class="badge emulated"') == 2


def no_device() -> Findings:
    return analyse([make_run([make_record()])])


def test_reports_of_real_storage_have_no_such_table() -> None:
    assert view(no_device()).devices.rows == ()
    assert "emulated" not in markdown.render(no_device())
    assert 'id="devices"' not in html.render(no_device())


def test_json_and_csv_say_what_is_emulated() -> None:
    document = json.loads(data.to_json(example_findings()))
    assert document["emulated"] == [EMULATED]
    assert {c["environment"] for c in document["cells"] if c["emulated"]} == {EMULATED}
    assert {c["environment"] for c in document["comparisons"] if c["emulated"]} == {EMULATED}
    assert not any(c["baseline_emulated"] for c in document["comparisons"])
    assert len(document["device_work"]) == 2
    assert document["device_work"][0]["hit_ratio"] == 0.9
    rows = list(csv.DictReader(io.StringIO(data.to_csv(example_findings()))))
    assert {row["environment"] for row in rows if row["emulated"] == "yes"} == {EMULATED}


def test_the_end_of_a_command_is_told_in_lines() -> None:
    head, *rest = device_lines.lines("aws-gp3", make_storage_work(credit_count=250.0))
    assert head == "aws-gp3 (emulated), 5.00 s:"
    text = "\n".join(rest)
    assert "reads        3,000    23.4 MiB  waited 200 ms, 90.0% of the pages in its cache" in text
    assert "syncs        1,550              waited 4.50 s" in text
    assert "300 read requests of 8.00 KiB, 60.0 a second" in text
    assert "mean 1.25, most in a second 3.50; requests were held 300 ms at limits" in text
    assert "credits 25.0% left of 1,000 requests" in text
