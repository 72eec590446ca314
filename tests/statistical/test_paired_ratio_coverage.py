from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.stats.paired_ratio import RatioInterval, paired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable

# The standard error of a coverage of 0.95 over these is 0.2 points: a point is five of them.
SIMULATIONS = 12_000
SHAPES: dict[str, Callable[[Random], float]] = {
    "normal": lambda rng: 1000 + 50 * rng.gauss(0, 1),
    "lognormal, heavy tail": lambda rng: 1000 * math.exp(1.5 * rng.gauss(0, 1)),
}


def simulate(rng: Random, n: int, ratio: float, draw: Callable[[Random], float]) -> RatioInterval:
    """Measure both halves of a pair under one mood of the machine, which drifts a lot."""
    pairs = []
    for _ in range(n):
        mood = math.exp(rng.gauss(0, 0.5))
        pairs.append((ratio * mood * draw(rng), mood * draw(rng)))
    return paired_ratio(pairs)


def lies_within(value: float, found: RatioInterval) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= value <= found.high


@pytest.mark.parametrize("n", [6, 10, 25])
@pytest.mark.parametrize("shape", SHAPES)
def test_interval_covers_as_often_as_it_says(shape: str, n: int) -> None:
    rng, ratio = Random(f"{shape} {n}"), 1.3
    found = [simulate(rng, n, ratio, SHAPES[shape]) for _ in range(SIMULATIONS)]

    said = found[0].confidence_ratio
    assert said is not None
    assert said >= 0.95
    covered = sum(lies_within(ratio, interval) for interval in found)
    assert covered / SIMULATIONS == pytest.approx(said, abs=0.01)


@pytest.mark.parametrize("n", [6, 10])
@pytest.mark.parametrize("shape", SHAPES)
def test_comparing_a_thing_to_itself_is_wrong_no_more_often_than_it_says(
    shape: str, n: int
) -> None:
    rng = Random(f"A/A {shape} {n}")
    found = [simulate(rng, n, 1.0, SHAPES[shape]) for _ in range(SIMULATIONS)]

    faster = sum(i.low is not None and i.low > 1 for i in found)
    slower = sum(i.high is not None and i.high < 1 for i in found)
    assert (faster + slower) / SIMULATIONS <= 0.05 + 0.005
    # Half of the mistakes to either side, so that no environment is favoured by its place.
    assert faster / SIMULATIONS <= 0.025 + 0.0075
    assert slower / SIMULATIONS <= 0.025 + 0.0075


@pytest.mark.parametrize(
    ("n", "spread", "least", "most"),
    [(6, 0.03, 0.85, 1.0), (10, 0.03, 0.99, 1.0), (25, 0.1, 0.8, 0.95), (6, 0.2, 0.02, 0.3)],
)
def test_a_difference_of_a_tenth_is_found_where_the_spread_allows(
    n: int, spread: float, least: float, most: float
) -> None:
    rng = Random(f"power {n} {spread}")
    found = [
        simulate(rng, n, 1.1, lambda r: 1000 * math.exp(spread * r.gauss(0, 1)))
        for _ in range(1000)
    ]

    assert least <= sum(i.low is not None and i.low > 1 for i in found) / len(found) <= most
