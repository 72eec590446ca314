from __future__ import annotations

import pytest

from groundspeed.stats.paired_difference import always_valid_difference, paired_difference
from groundspeed.stats.sequential import rule_for


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


def test_an_interval_for_every_look_is_wider_than_that_of_one() -> None:
    rule = rule_for(1, margin_ratio=0.03, most_pairs=20)
    pairs = [(0.002 + 0.0001 * (i * 7 % 10), 0.001) for i in range(12)]
    once, always = paired_difference(pairs), always_valid_difference(pairs, rule, 0.05)
    assert always.difference == pytest.approx(once.difference)
    assert once.low is not None
    assert once.high is not None
    assert always.low is not None
    assert always.high is not None
    assert always.low < once.low < once.high < always.high
    before = always_valid_difference(pairs[: rule.looks[0] - 1], rule, 0.05)
    assert (before.low, before.high) == (None, None)
