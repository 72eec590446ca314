from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed import units

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("125MiB/s", 125 * 1024**2),
        ("125MB/s", 125 * 1024**2),
        ("125 MB / s", 125 * 1024**2),
        ("1Gbit/s", 125_000_000),
        ("100Mbit/s", 12_500_000),
        ("0.5kB/s", 512),
        ("300B/s", 300),
    ],
)
def test_a_bandwidth_is_bytes_in_powers_of_1024_or_decimal_bits(text: str, value: float) -> None:
    assert units.parse_bytes_per_s(text) == value


@pytest.mark.parametrize("text", ["125MB", "125/s", "MB/s", "1Gbit/min", "-1MB/s", "1GBit/s", ""])
def test_what_is_no_bandwidth_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a bandwidth: write .*125MiB/s"):
        units.parse_bytes_per_s(text)


@pytest.mark.parametrize(
    ("text", "value_s"), [("0.81ms", 0.00081), ("76.5us", 76.5e-6), ("1.5h", 5400.0), ("0s", 0.0)]
)
def test_a_duration_is_the_nearest_number(text: str, value_s: float) -> None:
    assert units.parse_duration_s(text) == value_s


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (units.write_duration, 0.00081, "810us"),
        (units.write_duration, 0.0012, "1.2ms"),
        (units.write_duration, 30.0, "30s"),
        (units.write_duration, 0.0, "0s"),
        (units.write_rate, 3000.0, "3000/s"),
        (units.write_rate, 0.25, "0.25/s"),
        (units.write_bytes_per_s, 125.0 * 1024**2, "125MiB/s"),
        (units.write_bytes_per_s, 125e6, "1Gbit/s"),
        (units.write_bytes_per_s, 7.0, "7B/s"),
        (units.write_bytes, 262144, "256KiB"),
        (units.write_bytes, 1000, "1000B"),
        (units.write_bytes, 0, "0B"),
    ],
)
def test_numbers_are_written_in_the_unit_with_the_fewest_digits(
    write: Callable[[float], str], value: float, text: str
) -> None:
    assert write(value) == text


POSITIVE = st.floats(min_value=1e-12, max_value=1e15)


@given(POSITIVE)
def test_what_is_written_reads_back_exactly(value: float) -> None:
    assert units.parse_duration_s(units.write_duration(value)) == value
    assert units.parse_rate_per_s(units.write_rate(value)) == value
    assert units.parse_bytes_per_s(units.write_bytes_per_s(value)) == value
    assert units.parse_bytes(units.write_bytes(math.floor(value))) == math.floor(value)
