from __future__ import annotations

import pytest
from scipy.stats import t

from groundspeed.stats.student import student_quantile


@pytest.mark.parametrize("freedom", [1, 1.3, 2, 2.5, 3, 7, 33.3, 499, 501, 100_000])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95, 0.975, 0.995])
def test_quantiles_are_those_of_scipy(probability: float, freedom: float) -> None:
    expected = t.ppf(probability, freedom)

    assert student_quantile(probability, freedom) == pytest.approx(expected, rel=2e-4, abs=1e-6)
    assert student_quantile(1 - probability, freedom) == pytest.approx(
        -expected, rel=2e-4, abs=1e-6
    )


@pytest.mark.parametrize(("probability", "freedom"), [(0, 3), (1, 3), (0.9, 0.5)])
def test_what_has_no_quantile_is_refused(probability: float, freedom: float) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        student_quantile(probability, freedom)
