from __future__ import annotations

import pytest

from groundspeed.stats.paired_difference import paired_difference


def test_it_is_the_median_of_the_walsh_averages() -> None:
    # Differences 1, 2 and 6; their averages in pairs 1, 1.5, 2, 3.5, 4, 6.
    found = paired_difference([(2.0, 1.0), (3.0, 1.0), (6.0, 0.0)])
    assert found.difference == pytest.approx(2.75)
    assert (found.n, found.low, found.high) == (3, None, None)


def test_six_pairs_have_an_interval_from_the_least_to_the_most() -> None:
    found = paired_difference([(0.001 * i, 0.0) for i in range(1, 7)])
    assert found.difference == pytest.approx(0.0035)
    assert found.low == pytest.approx(0.001)
    assert found.high == pytest.approx(0.006)


def test_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match="one or more pairs"):
        paired_difference([])
