from __future__ import annotations

import pytest

from groundspeed.stats.geometric_mean import geometric_mean_ratio
from groundspeed.stats.paired_ratio import paired_ratio


def test_twice_and_half_come_to_nothing() -> None:
    found = geometric_mean_ratio([[(2.0, 1.0)] * 6, [(1.0, 2.0)] * 6])

    assert found.ratio == pytest.approx(1)
    assert (found.low, found.high) == (pytest.approx(1), pytest.approx(1))


def test_one_cell_alone_is_its_own_mean() -> None:
    pairs = [(1.1, 1.0), (1.3, 1.0), (1.2, 1.1), (1.0, 0.9), (1.4, 1.2), (1.15, 1.0), (1.0, 1.1)]
    found, alone = geometric_mean_ratio([pairs]), paired_ratio(pairs)

    assert found.ratio == pytest.approx(alone.ratio)
    assert found.low == pytest.approx(alone.low)
    assert found.high == pytest.approx(alone.high)


def test_only_rounds_of_all_cells_count() -> None:
    found = geometric_mean_ratio([[(2.0, 1.0)] * 9, [(8.0, 1.0)] * 6])

    assert (found.n, found.ratio) == (6, pytest.approx(4))
    assert found.confidence_ratio == pytest.approx(1 - 2**-5)


@pytest.mark.parametrize("cells", [[], [[]], [[(1.0, 1.0)], []]])
def test_cells_without_pairs_have_no_mean(cells: list[list[tuple[float, float]]]) -> None:
    with pytest.raises(ValueError, match="a mean of ratios takes"):
        geometric_mean_ratio(cells)
