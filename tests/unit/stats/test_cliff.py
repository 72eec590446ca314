from __future__ import annotations

import pytest

from groundspeed.stats.cliff import find_cliff


def test_a_fall_is_found_where_it_is() -> None:
    found = find_cliff([3000.0, 3010.0, 2990.0, 3005.0] * 5 + [300.0, 301.0, 299.0] * 5)
    assert found is not None
    assert found.before_count == 20
    assert found.before == pytest.approx(3000, rel=0.01)
    assert found.after == pytest.approx(300, rel=0.01)


@pytest.mark.parametrize(
    "values",
    [
        [100.0] * 40,
        [100.0] * 20 + [90.0] * 20,  # less than a burst's factor
        [50.0] * 20 + [100.0] * 20,  # a rise
        [100.0] * 18 + [1.0] * 3 + [100.0] * 18,  # a stall
        [100.0] * 20 + [1.0] * 4,  # too short a tail to tell
        [],
    ],
)
def test_what_is_no_fall_is_none(values: list[float]) -> None:
    assert find_cliff(values) is None
