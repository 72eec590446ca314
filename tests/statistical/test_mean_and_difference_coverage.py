"""Intervals that are made from those of pairs: geometric means, differences, the noise floor."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.overall import unpaired_means
from groundspeed.analyse.sides import shared
from groundspeed.stats.geometric_mean import geometric_mean_ratio
from groundspeed.stats.noise_floor import noise_floor
from groundspeed.stats.paired_difference import paired_difference
from tests.sided import two_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# The standard error of a coverage of 0.95 over these is 0.3 points: a point is three of them.
SIMULATIONS = 5_000
SHAPES: dict[str, Callable[[Random], float]] = {
    "normal": lambda rng: rng.gauss(0, 0.05),
    "heavy tail": lambda rng: math.exp(rng.gauss(0, 1.2)) * rng.choice((-0.05, 0.05)),
}


def pairs_of(rng: Random, n: int, log_ratio: float, shape: str) -> list[tuple[float, float]]:
    """Measure both halves of a pair under one mood of the machine."""
    draw = SHAPES[shape]
    moods = [math.exp(rng.gauss(0, 0.5)) for _ in range(n)]
    return [(m * math.exp(log_ratio + draw(rng)), m * math.exp(draw(rng))) for m in moods]


@pytest.mark.parametrize("n", [6, 12])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_geometric_mean_is_covered_however_unlike_its_cells_scatter(shape: str, n: int) -> None:
    rng, logs = Random(f"{shape} {n}"), (-0.7, 0.0, 0.4)
    wanted = math.exp(sum(logs) / len(logs))
    covered, said = 0, 0.0
    for _ in range(SIMULATIONS):
        # One cell more has been measured for longer than the others.
        cells = [pairs_of(rng, n + 3 * (i == 0), log, shape) for i, log in enumerate(logs)]
        found = geometric_mean_ratio(cells)
        assert found.low is not None
        assert found.high is not None
        assert found.confidence_ratio is not None
        said = found.confidence_ratio
        covered += found.low <= wanted <= found.high
    assert covered / SIMULATIONS == pytest.approx(said, abs=0.01)


@pytest.mark.parametrize("n", [6, 12])
def test_a_difference_in_milliseconds_is_covered(n: int) -> None:
    rng, wanted_s = Random(f"difference {n}"), 0.002
    covered = 0
    for _ in range(SIMULATIONS):
        moods = [0.01 * math.exp(rng.gauss(0, 0.3)) for _ in range(n)]
        noise = [rng.gauss(0, 0.001) * math.exp(rng.gauss(0, 1)) for _ in range(n)]
        found = paired_difference(
            [(mood + wanted_s + off, mood) for mood, off in zip(moods, noise, strict=True)]
        )
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= wanted_s <= found.high
    # Six values reach 96.9%, twelve 95.8%.
    assert covered / SIMULATIONS == pytest.approx({6: 0.969, 12: 0.958}[n], abs=0.01)


@pytest.mark.parametrize("n", [6, 12])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_noise_floor_is_above_the_noise_of_as_many_pairs(shape: str, n: int) -> None:
    rng = Random(f"floor {shape} {n}")
    beneath = 0
    for _ in range(SIMULATIONS):
        floor = noise_floor(pairs_of(rng, n, 0.0, shape))
        assert floor is not None
        assert floor > 0
        # What another server set up alike would show, drawn as the twins are.
        again = geometric_mean_ratio([pairs_of(rng, n, 0.0, shape)]).ratio
        beneath += 1 / (1 + floor) <= again <= 1 + floor
    assert beneath / SIMULATIONS >= 0.95


def day(rng: Random, ratios: Sequence[float]) -> dict[int, list[float]]:
    """Make eight trials of each cell, by clients."""
    return {
        clients: [1000.0 * ratio * math.exp(rng.gauss(0, 0.05)) for _ in range(8)]
        for clients, ratio in enumerate(ratios, start=1)
    }


def test_the_mean_of_two_runs_is_covered_at_least_as_often_as_it_says() -> None:
    rng, ratios = Random("two runs"), (0.5, 1.0, 1.5)
    wanted = math.prod(ratios) ** (1 / len(ratios))
    covered = 0
    for _ in range(200):
        cells = shared(*two_runs(day(rng, (1.0, 1.0, 1.0)), day(rng, ratios))).cells
        [mean] = unpaired_means(cells, "a", "b")
        assert mean.low is not None
        assert mean.high is not None
        covered += mean.low <= wanted <= mean.high
    assert covered / 200 >= 0.95
