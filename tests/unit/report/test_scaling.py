from __future__ import annotations

import math

import pytest

from groundspeed.analyse import Estimate
from groundspeed.report.scaling import (
    format_bytes,
    format_ratio,
    format_seconds,
    format_span,
    format_tps,
    interval_text,
)


def make_estimate(*, n: int = 7, low: float | None = 1200, high: float | None = 1260) -> Estimate:
    return Estimate(
        n=n,
        median=1234.4,
        low=low,
        high=high,
        confidence_ratio=None if low is None else 0.98,
        minimum=1100,
        maximum=1300,
    )


@pytest.mark.parametrize(
    ("value_per_s", "text"),
    [
        (0, "0"),
        (0.1234, "0.123"),
        (9.996, "10.0"),
        (99.96, "100"),
        (783.4, "783"),
        (1234.4, "1,234"),
        (1_234_567.0, "1,234,567"),
        (math.nan, "-"),
        (math.inf, "-"),
    ],
)
def test_format_tps(value_per_s: float, text: str) -> None:
    assert format_tps(value_per_s) == text


@pytest.mark.parametrize(
    ("value_s", "text"),
    [
        (0, "0 s"),
        (2.5e-8, "0.0250 µs"),
        (8.73e-5, "87.3 µs"),
        (0.0009996, "1.00 ms"),
        (0.00125, "1.25 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (75.3, "75.3 s"),
        (3600, "3,600 s"),
        (math.nan, "-"),
    ],
)
def test_format_seconds(value_s: float, text: str) -> None:
    assert format_seconds(value_s) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.104, "2.10x"),
        (0.8704, "0.870x"),
        (1.004, "1.004x"),
        (1.2, "1.20x"),
        (35.21, "35.2x"),
        (0.0123, "0.0123x"),
        (math.nan, "-"),
    ],
)
def test_format_ratio(value: float, text: str) -> None:
    assert format_ratio(value) == text


@pytest.mark.parametrize(
    ("value_bytes", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1024, "1.00 KiB"),
        (1536 * 1024**2, "1.50 GiB"),
        (1024**2 - 1, "1.00 MiB"),
        (1024**6, "1,024 PiB"),
        (math.inf, "-"),
    ],
)
def test_format_bytes(value_bytes: float, text: str) -> None:
    assert format_bytes(value_bytes) == text


def test_an_interval_stands_beside_its_median() -> None:
    assert interval_text(make_estimate(), format_tps) == "1,234 [1,200, 1,260]"


def test_without_an_interval_it_says_why_and_shows_the_range() -> None:
    text = interval_text(make_estimate(n=3, low=None, high=None), format_tps)

    assert text == "1,234 (n=3, no 95% interval (6 needed); range 1,100 to 1,300)"


def test_no_value_has_no_text() -> None:
    assert interval_text(make_estimate(n=0), format_tps) == "-"
    assert format_span(None, None, format_tps) == "-"
