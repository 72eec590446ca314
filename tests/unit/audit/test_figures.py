from __future__ import annotations

from decimal import Decimal

import pytest

from groundspeed.audit.figures import Mark, Span, guess_mark, number, rounded_in_prose, show
from groundspeed.audit.quantities import Kind, measure, read_cell


@pytest.mark.parametrize(
    ("text", "mark", "low", "high"),
    [
        ("1,159", Mark.POINT, "1158.5", "1159.5"),
        ("3.44", Mark.POINT, "3.435", "3.445"),
        ("1.2k", Mark.POINT, "1150", "1250"),
        ("1.159,5", Mark.COMMA, "1159.45", "1159.55"),
        ("1 204", Mark.POINT, "1203.5", "1204.5"),
        ("~1,200", Mark.POINT, "1080", "1320"),
        ("-49%", Mark.POINT, "-49.5", "-48.5"),
        ("350 us", Mark.POINT, "349.5", "350.5"),
        ("1,159 ± 12", Mark.POINT, "1158.5", "1159.5"),
    ],
)
def test_a_printed_number_is_all_that_rounds_to_it(
    text: str, mark: Mark, low: str, high: str
) -> None:
    reading = read_cell(text, mark)
    assert reading is not None
    assert reading.figure.span == Span(Decimal(low), Decimal(high))


@pytest.mark.parametrize("text", ["", "n/a", "1,200-1,800", "< 5", "gp3", "c6i.4xlarge", "16 / 32"])
def test_what_is_no_single_number_is_not_read(text: str) -> None:
    assert read_cell(text, Mark.POINT) is None


def test_the_decimal_mark_is_told_by_numbers_that_admit_one_reading() -> None:
    assert guess_mark(["1.159", "3,44"]) is Mark.COMMA
    assert guess_mark(["1,159", "3.44"]) is Mark.POINT
    assert guess_mark(["1,159", "2,307"]) is None
    assert guess_mark(["3,44", "3.44"]) is None


def test_a_round_number_in_a_sentence_may_be_rounded_to_its_zeros() -> None:
    assert rounded_in_prose(number("1,200", Mark.POINT)).half == 50
    assert rounded_in_prose(number("1,216", Mark.POINT)).half == Decimal("0.5")


def test_dropping_digits_is_told_from_rounding() -> None:
    figure = number("308", Mark.POINT)
    assert figure.cut_from(Decimal("308.75"))
    assert not figure.cut_from(Decimal("307.9"))


@pytest.mark.parametrize(
    ("header", "kind", "qualifier"),
    [
        ("gp3 EBS (TPS)", Kind.THROUGHPUT, ""),
        ("latency_ms", Kind.LATENCY, ""),
        ("avg_latency_us", Kind.LATENCY, "mean"),
        ("p99 (ms)", Kind.LATENCY, "p99"),
        ("95th percentile latency", Kind.LATENCY, "p95"),
        ("io2 improvement", Kind.CHANGE, ""),
        ("Concurrent clients", Kind.CLIENTS, ""),
    ],
)
def test_a_header_says_what_is_measured(header: str, kind: Kind, qualifier: str) -> None:
    found = measure(header)
    assert found is not None
    assert (found.kind, found.qualifier) == (kind, qualifier)


@pytest.mark.parametrize("header", ["max_connections", "CPU change %", "TPS per $", "Storage"])
def test_what_only_looks_like_a_measure_is_none(header: str) -> None:
    assert measure(header) is None


def test_numbers_are_shown_with_what_they_need() -> None:
    assert [show(Decimal(x)) for x in ("0", "1216", "308.7531", "0.0034412")] == [
        *("0", "1,216", "308.8", "0.003441"),
    ]
