from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import msgspec
import pytest

from groundspeed.analyse.gate import Gate, GateAnswer, gate
from groundspeed.report import gate_benchstat, gate_ci, gate_text
from tests.sided import around, one_run, two_runs


def three_ways() -> Gate:
    """Make a gate with a cell that passes, one that fails, one that is open, one not measured."""
    before = {1: around(1000.0, 8), 8: around(4000.0, 8), 32: around(6000.0, 8), 64: [1.0]}
    after = {
        1: around(1000.0, 8, seed=2),
        8: around(3000.0, 8, seed=3),
        32: around(5700.0, 8, seed=4, spread=0.04),
    }
    return gate([two_runs(before, after)], max_loss_ratio=0.05)


def test_text_has_the_answer_first_and_the_worst_cell_next() -> None:
    lines = gate_text.render(three_ways(), is_advisory=False).splitlines()
    assert lines[0] == "fail: 1 of 3 cells certainly lost more than 5%"
    assert [line.split()[0] for line in lines[2:6]] == ["fail", "undecided", "pass", "undecided"]
    assert lines[2].split()[1:4] == ["tpcb-like,", "8", "clients"]
    assert "64 clients: not measured in new:a" in lines[5]
    assert lines[-2].startswith("- measured at different times")
    assert lines[-1].startswith("- throughput shifts within the runs themselves")


def test_advisory_says_so() -> None:
    told = gate_text.render(three_ways(), is_advisory=True).splitlines()[0]
    assert told.endswith("(advisory: the exit code is 0)")


@pytest.mark.parametrize(
    ("ratio", "line"),
    [
        (1.0, "pass: none of 1 cell lost more than 5%"),
        (0.5, "fail: 1 of 1 cell certainly lost more than 5%"),
    ],
)
def test_answers_of_one_cell(ratio: float, line: str) -> None:
    found = gate([one_run({1: [ratio] * 8})], max_loss_ratio=0.05)
    assert gate_text.answer_line(found) == line


def test_benchstat_table_is_laid_out_as_benchstat_does() -> None:
    lines = gate_benchstat.render(three_ways()).splitlines()
    head, units, *rows = lines
    bars = [i for i, c in enumerate(head) if c == "│"]
    assert bars == [i for i, c in enumerate(units) if c == "│"]
    assert len(bars) == 3
    assert head[bars[0] : bars[1]].strip("│ ") == "old:a"
    assert units[bars[0] : bars[1]].strip("│ ") == "tx/s"
    assert "vs base" in units[bars[1] :]
    assert [row.split()[0] for row in rows] == [
        "tpcb-like/clients=1",
        "tpcb-like/clients=8",
        "tpcb-like/clients=32",
        "geomean",
    ]
    assert "~ (p=" in rows[0]
    assert "-2" in rows[1]
    assert "(p=0.000 n=8)" in rows[1]
    assert all(row[bars[0]] == " " and len(row) <= bars[2] for row in rows)


def test_benchstat_says_what_too_few_samples_lack() -> None:
    text = gate_benchstat.render(
        gate([two_runs({1: [1.0] * 3}, {1: [2.0] * 3})], max_loss_ratio=0.05)
    )
    assert "1.000 ± ∞ ¹" in text
    assert "~ (p=0.100 n=3) ²" in text
    assert "¹ need >= 6 samples for confidence interval at level 0.95" in text
    assert "² need >= 4 samples to detect a difference at alpha level 0.05" in text


def test_junit_is_xml_with_a_case_a_cell() -> None:
    suite = ET.fromstring(gate_ci.to_junit(three_ways()))
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "1", "2")
    kinds = [[child.tag for child in case] for case in suite.iter("testcase")]
    assert kinds == [[], ["failure"], ["skipped"], ["skipped"]]


def test_names_that_break_xml_are_escaped() -> None:
    before, after = two_runs({1: [1.0]}, {1: [1.0]})
    evil = msgspec.structs.replace(after, name='<"&\x00>')
    suite = ET.fromstring(gate_ci.to_junit(gate([(before, evil)], max_loss_ratio=0.05)))
    assert suite[0].get("classname") == '<"&\ufffd>'


def test_annotations_are_errors_warnings_and_a_notice() -> None:
    lines = gate_ci.to_github(three_ways(), is_advisory=False).splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        "::error",
        "::warning",
        "::warning",
        "::notice",
    ]
    assert lines[0].startswith("::error title=fail%3A tpcb-like%2C 8 clients::0.7")
    # A percent sign would be read as the begin of an escape.
    assert "95%25 [" in lines[0]
    advisory = gate_ci.to_github(three_ways(), is_advisory=True).splitlines()
    assert {line.split(" ")[0] for line in advisory} == {"::warning", "::notice"}


def test_json_has_everything() -> None:
    document = json.loads(gate_ci.to_json(three_ways(), is_advisory=False))
    assert (document["kind"], document["answer"]) == ("groundspeed-gate", "fail")
    assert [cell["answer"] for cell in document["cells"]] == ["pass", "fail", "undecided"]
    assert {cell["answer"] for cell in document["cells"]} == {a.value for a in GateAnswer}


def two_figures() -> Gate:
    """Make a gate that asks for latency too, which falls and rises with throughput."""
    before = {1: around(1000.0, 8), 8: around(4000.0, 8)}
    after = {1: around(1000.0, 8, seed=2), 8: around(3000.0, 8, seed=3)}
    return gate([two_runs(before, after)], max_loss_ratio=0.05, max_p99_rise_ratio=0.1)


def test_each_format_names_the_figure() -> None:
    found = two_figures()
    lines = gate_text.render(found, is_advisory=False).splitlines()
    assert lines[0] == (
        "fail: 2 of 4 figures certainly got worse (throughput lost more than 5%, or p99 risen by"
        " more than 10%)"
    )
    assert lines[2].startswith("fail       tpcb-like, 8 clients, p99")
    assert ", p99 7.3" in lines[2]
    assert any(line.startswith("pass       tpcb-like, 1 client, TPS") for line in lines)
    names = [case.get("name") for case in ET.fromstring(gate_ci.to_junit(found)).iter("testcase")]
    assert names == [
        f"tpcb-like, {n}, {m}" for m in ("TPS", "p99") for n in ("1 client", "8 clients")
    ]
    assert "::error title=fail%3A tpcb-like%2C 8 clients%2C p99::" in gate_ci.to_github(
        found, is_advisory=False
    )
    told = json.loads(gate_ci.to_json(found, is_advisory=False))
    assert told["max_p99_rise_ratio"] == 0.1
    assert [cell["metric"] for cell in told["cells"]] == ["throughput"] * 2 + ["p99 latency"] * 2
    assert told["cells"][2]["baseline_p99_s"]["median"] > 0


def test_benchstat_has_a_table_for_each_unit() -> None:
    tables = gate_benchstat.render(two_figures()).split("\n\n")
    assert ["tx/s" in table for table in tables] == [True, False]
    assert ["p99-sec" in table for table in tables] == [False, True]
    assert "+3" in tables[1].splitlines()[3]
