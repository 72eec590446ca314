from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.stats.counted import merge, quantiles

RATIOS = (0.01, 0.05, 0.5, 0.95, 0.99, 0.999)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=300))
def test_quantiles_are_those_of_the_values(values: list[int]) -> None:
    ordered = sorted(values)
    expected = tuple(
        float(ordered[max(math.ceil(ratio * len(values) - 1e-9), 1) - 1]) for ratio in RATIOS
    )
    assert quantiles(merge([tuple((v, 1) for v in values)]), RATIOS) == expected


def test_merging_adds_counts() -> None:
    assert merge([((1, 2), (5, 1)), ((1, 3), (2, 1))]) == ((1, 5), (2, 1), (5, 1))


def test_nothing_has_no_quantiles() -> None:
    with pytest.raises(ValueError, match="no values"):
        quantiles((), RATIOS)
