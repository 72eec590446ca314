from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.stats.unpaired_ratio import unpaired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

# The standard error of a coverage of 0.95 over these is 0.2 points: a point is five of them.
SIMULATIONS = 12_000
SHAPES: dict[str, Callable[[Random], float]] = {
    "normal": lambda rng: 1000 + 50 * rng.gauss(0, 1),
    "lognormal, heavy tail": lambda rng: 1000 * math.exp(1.5 * rng.gauss(0, 1)),
}


@pytest.mark.parametrize(("n", "m"), [(4, 4), (6, 10), (15, 15)])
@pytest.mark.parametrize("shape", SHAPES)
def test_interval_covers_as_often_as_it_says(shape: str, n: int, m: int) -> None:
    rng, ratio, draw = Random(f"{shape} {n} {m}"), 1.3, SHAPES[shape]
    covered, said = 0, 0.0
    for _ in range(SIMULATIONS):
        over = [ratio * draw(rng) for _ in range(n)]
        found = unpaired_ratio(over, [draw(rng) for _ in range(m)])
        assert found.low is not None
        assert found.high is not None
        assert found.confidence_ratio is not None
        said = found.confidence_ratio
        covered += found.low <= ratio <= found.high
    assert said >= 0.95
    assert covered / SIMULATIONS == pytest.approx(said, abs=0.01)
