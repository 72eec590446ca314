from __future__ import annotations

import pytest

from groundspeed.stats.median_quotient import median_quotient


def test_the_interval_spans_the_quotients_of_both_intervals() -> None:
    found = median_quotient([20.0, 21, 22, 23, 24, 25, 26], [10.0, 11, 12, 13, 14, 15, 16])
    assert found.ratio == 23 / 13
    assert (found.low, found.high) == (20 / 16, 26 / 10)
    assert found.confidence_ratio is not None
    assert found.confidence_ratio >= 0.95


def test_six_values_are_too_few() -> None:
    found = median_quotient([2.0] * 6, [1.0] * 9)
    assert (found.ratio, found.low, found.high) == (2.0, None, None)


def test_values_that_have_no_quotient_are_refused() -> None:
    with pytest.raises(ValueError, match="above 0"):
        median_quotient([1.0], [0.0])
