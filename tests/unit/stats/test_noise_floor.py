from __future__ import annotations

import pytest

from groundspeed.stats.noise_floor import noise_floor
from groundspeed.stats.paired_ratio import paired_ratio

PAIRS = [(1.0, 1.01), (1.02, 1.0), (1.0, 1.005), (1.0, 0.98), (1.03, 1.0), (1.0, 1.0)]


def test_the_floor_is_the_farther_end_of_the_interval() -> None:
    found = paired_ratio(PAIRS)
    assert found.low is not None
    assert found.high is not None

    assert noise_floor(PAIRS) == pytest.approx(max(found.high, 1 / found.low) - 1)


def test_the_floor_is_the_same_whichever_twin_is_named_first() -> None:
    assert noise_floor([(b, a) for a, b in PAIRS]) == pytest.approx(noise_floor(PAIRS))


@pytest.mark.parametrize("count", range(6))
def test_too_few_twins_have_no_floor(count: int) -> None:
    assert noise_floor(PAIRS[:count]) is None


def test_twins_that_are_all_alike_have_a_floor_of_nothing() -> None:
    assert noise_floor([(2.0, 2.0)] * 6) == 0


def test_a_second_trial_that_is_always_faster_is_no_verdict() -> None:
    assert noise_floor([(1.05, 1.0)] * 8) == pytest.approx(0.05)
