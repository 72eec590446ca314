from __future__ import annotations

import math

import pytest
from scipy import stats

from groundspeed.stats.student_tail import student_tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 8, 30, 200, 5000])
@pytest.mark.parametrize("value", [-3.0, 0.0, 0.01, 0.5, 1.0, 2.5, 8.0, 40.0])
def test_it_is_that_of_scipy(freedom: int, value: float) -> None:
    assert student_tail(value, freedom) == pytest.approx(stats.t.sf(value, freedom), rel=1e-9)


def test_far_out_and_at_the_end() -> None:
    assert student_tail(1e6, 12) == pytest.approx(stats.t.sf(1e6, 12), rel=1e-8)
    assert student_tail(math.inf, 3) == 0.0


def test_without_freedom_there_is_no_distribution() -> None:
    with pytest.raises(ValueError, match="degrees of freedom"):
        student_tail(1.0, 0)
