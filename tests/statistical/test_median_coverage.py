from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.stats.median import median_interval

if TYPE_CHECKING:
    from collections.abc import Callable

# The standard error of a coverage of 0.96 over these is 0.14 points: a point is seven of them.
SIMULATIONS = 20_000
TRUE_MEDIAN = 1000.0
SHAPES: dict[str, Callable[[Random], float]] = {
    "normal": lambda rng: TRUE_MEDIAN + 50 * rng.gauss(0, 1),
    "lognormal, heavy tail": lambda rng: TRUE_MEDIAN * math.exp(1.5 * rng.gauss(0, 1)),
}


@pytest.mark.parametrize("n", [6, 10, 25])
@pytest.mark.parametrize("shape", SHAPES)
def test_interval_covers_as_often_as_it_says(shape: str, n: int) -> None:
    rng, draw = Random(f"{shape} {n}"), SHAPES[shape]
    covered, said = 0, 0.0
    for _ in range(SIMULATIONS):
        found = median_interval([draw(rng) for _ in range(n)])
        assert found.low is not None
        assert found.high is not None
        assert found.confidence_ratio is not None
        covered += found.low <= TRUE_MEDIAN <= found.high
        said = found.confidence_ratio

    assert said >= 0.95
    assert covered / SIMULATIONS == pytest.approx(said, abs=0.01)
