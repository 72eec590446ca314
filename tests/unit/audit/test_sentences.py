from __future__ import annotations

import pytest

from groundspeed.audit import Check, Severity, audit
from groundspeed.report import html
from tests.evident import evident_findings
from tests.examples import example_findings
from tests.unit.audit.articles import TPS, found, with_sentence

SETTINGS = (
    "| Setting | a | b |\n|---|---|---|\n| PostgreSQL | 16.4 | {} |\n| Memory | 64 GB | 64GB |\n"
    "| Storage | ssd | nvme |\n\n"
)
SCALED = "pgbench, scale factor {}, shared_buffers = 4GB, 32 GB of memory.\n\n" + TPS


@pytest.mark.parametrize(
    "sentence",
    [
        "At 64 clients io2 delivers approximately 4x the TPS of gp3.",
        "At 16 clients io2 is 338% faster than gp3.",
        "Seen from io2, gp3 is 77% slower than io2 at 16 clients.",
        "With four clients io2 is nearly twice as fast as gp3.",
        "gp3 stays between 1,159 TPS and 1,811 TPS.",
        "CPU was 90% busy on gp3 at 16 clients.",
        "The io2 hosts have 6x NVMe drives.",
        "io2 could be 9x faster than gp3 at 16 clients.",
        "io2 needs 25% less memory than gp3.",
        "io2 is 3-5x faster than gp3 at 16 clients.",
        "io2 rises from 2,307 TPS to 7,211 TPS, a 3.1x increase.",
    ],
)
def test_what_is_true_or_not_certain_is_left_alone(sentence: str) -> None:
    assert found(with_sentence(sentence), Check.CHANGE) == []


@pytest.mark.parametrize(
    ("sentence", "severity", "sum_"),
    [
        ("At 16 clients io2 is 5.5x faster than gp3.", Severity.ERROR, "5,328 / 1,216 = 4.382x"),
        (
            "At 16 clients io2 is 77% faster than gp3.",
            Severity.DOUBT,
            "(5,328 - 1,216) / 5,328 = 77.18%",
        ),
        (
            "At 64 clients io2 has 290% more throughput than gp3.",
            Severity.ERROR,
            "(7,211 - 1,811) / 1,811 = 298.2%",
        ),
        (
            "io2 rises from 2,307 TPS to 7,211 TPS, a 40% increase.",
            Severity.ERROR,
            "(7,211 - 2,307) / 2,307 = 212.6%",
        ),
    ],
)
def test_a_wrong_claim_shows_the_right_one(sentence: str, severity: Severity, sum_: str) -> None:
    (remark,) = found(with_sentence(sentence), Check.CHANGE)
    assert remark.severity is severity
    assert any(line.startswith(sum_) for line in remark.arithmetic)
    assert remark.place.line == 7


def test_a_claim_that_names_no_clients_is_doubted_only_beyond_all_of_them() -> None:
    assert found(with_sentence("io2 has 3x the throughput of gp3."), Check.CHANGE) == []
    (remark,) = found(with_sentence("io2 has 9x the throughput of gp3."), Check.CHANGE)
    assert remark.severity is Severity.DOUBT


def test_a_figure_under_another_label_or_another_row_is_an_error() -> None:
    (label,) = found(with_sentence("At 16 clients gp3 reached 5,328 TPS."), Check.LABEL)
    assert label.message == "5,328 TPS is the figure of io2, not of gp3"
    (row,) = found(with_sentence("At 16 clients gp3 reached 1,811 TPS."), Check.LABEL)
    assert row.message == "1,811 TPS stands in another row"


@pytest.mark.parametrize(
    "sentence",
    [
        "At 16 clients gp3 reached 1,216 TPS.",
        "gp3 reached about 1,200 TPS at 16 clients.",
        "Compared with gp3, 5,328 TPS is a lot.",
        "The budget of gp3 is 5,328 TPS.",
        "gp3 peaked at 5,328 TPS once.",
    ],
)
def test_a_figure_that_is_right_or_not_tied_to_a_label_is_left_alone(sentence: str) -> None:
    assert found(with_sentence(sentence), Check.LABEL) == []


@pytest.mark.parametrize(
    ("sentence", "count"),
    [
        ("We tested five client counts.", 1),
        ("We tested three client counts.", 0),
        ("We compared two volume types.", 0),
        ("The table above compares five volume types.", 1),
        ("We compared three volumes: gp3, io2, st1, gp2.", 1),
        ("We used three replicas.", 0),
    ],
)
def test_counts_are_held_against_what_is_there(sentence: str, count: int) -> None:
    assert len(found(with_sentence(sentence), Check.COUNT)) == count


@pytest.mark.parametrize(("version", "count"), [("15.2", 1), ("16.4", 0)])
def test_one_cause_is_held_against_the_settings(version: str, count: int) -> None:
    text = SETTINGS.format(version) + TPS + "\nThe only difference is the storage.\n"
    remarks = found(text, Check.CAUSE)
    assert len(remarks) == count
    assert all("PostgreSQL: 16.4 / 15.2" in remark.arithmetic[0] for remark in remarks)


@pytest.mark.parametrize(
    ("scale", "sentence", "severity"),
    [
        ("2000 (31 GB)", "", None),
        ("1000", "The data set is larger than memory.", Severity.DOUBT),
        ("100", "", Severity.DOUBT),
        ("100", "The data set is larger than the page cache.", Severity.ERROR),
        ("100", "It fits in shared_buffers on purpose.", None),
        ("100 (31 GB)", "It fits in memory.", Severity.ERROR),
    ],
)
def test_the_data_set_is_held_against_the_caches(
    scale: str, sentence: str, severity: Severity | None
) -> None:
    remarks = found(f"{SCALED.format(scale)}\n{sentence}\n", Check.DATA_SET)
    assert [remark.severity for remark in remarks] == ([] if severity is None else [severity])


@pytest.mark.parametrize(
    ("sentence", "severity"),
    [
        ("Every test was run once; io2 is faster.", Severity.DOUBT),
        ("Every test was run three times; io2 is faster.", Severity.NOTE),
        ("n = 3; io2 is significantly faster (p < 0.05).", Severity.DOUBT),
        ("Every test was run ten times; io2 is faster.", None),
        ("io2 is faster.", None),
    ],
)
def test_repeats_must_carry_the_difference(sentence: str, severity: Severity | None) -> None:
    remarks = found(with_sentence(sentence), Check.REPEATS)
    assert [remark.severity for remark in remarks] == ([] if severity is None else [severity])


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("gp3 is faster than io2 at 16 clients.", "the table says the opposite at 16 clients"),
        ("gp3 beats io2 at every client count.", "the table says the opposite at 4 clients"),
        (
            "gp3 stays flat, from 1,159 TPS to 1,811 TPS.",
            "called flat, the figure changes",
        ),
        (
            "io2 scales linearly, from 2,307 TPS at 4 clients to 7,211 TPS at 64 clients.",
            "called linear, it grows less than half as much",
        ),
    ],
)
def test_conclusions_are_held_against_the_figures(sentence: str, message: str) -> None:
    (remark,) = found(with_sentence(sentence), Check.CONTRADICTION)
    assert remark.message == message


def test_conclusions_are_held_against_each_other() -> None:
    text = with_sentence("io2 is faster than gp3 for reads.\n\ngp3 is faster than io2 for reads.")
    (remark,) = found(text, Check.CONTRADICTION)
    assert "line 7: io2 before gp3" in remark.arithmetic[0]
    other = with_sentence("io2 is faster than gp3 for reads.\n\ngp3 is faster than io2 for writes.")
    assert found(other, Check.CONTRADICTION) == []


@pytest.mark.parametrize(
    "caption",
    [
        "this-disk, 8 clients, repeat 7: 80,970 TPS",
        "this-disk, 8 clients, repeat 7: 812 TPS, as on the first day, and no more",
        "this-disk, 8 clients: 80,970 TPS, 1.5 ms",
        "Sizes of three loads: 1,000,000, 1,004,212 and 1,009,950",
    ],
)
def test_what_follows_a_figure_and_a_colon_is_no_list(caption: str) -> None:
    assert found(with_sentence(caption), Check.COUNT) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "We compared four disks: alpha, beta and gamma.",
        "There were two row counts: 1,000, 20,000 and 300,000.",
    ],
)
def test_a_list_of_another_length_is_told(sentence: str) -> None:
    [remark] = found(with_sentence(sentence), Check.COUNT)
    assert "3 are listed" in remark.message


def test_our_own_report_is_not_accused() -> None:
    for findings in (example_findings(), evident_findings()):
        assert audit(html.render(findings), suffix="html").remarks == ()
