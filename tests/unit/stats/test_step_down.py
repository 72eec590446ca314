from __future__ import annotations

import pytest

from groundspeed.stats.step_down import step_down


def test_holm_by_hand() -> None:
    assert step_down([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_a_larger_one_is_never_surer_than_a_smaller_one() -> None:
    # 3 x 0.02 is more than 2 x 0.025, which then takes its place.
    assert step_down([0.025, 0.02, 0.9]) == pytest.approx((0.06, 0.06, 0.9))


def test_none_goes_beyond_certainty() -> None:
    assert step_down([0.8, 0.9]) == (1.0, 1.0)
    assert step_down([]) == ()
