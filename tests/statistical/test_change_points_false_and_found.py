"""How often a change is named where there is none, and how often a planted one is found."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed.stats.change_points import change_points

if TYPE_CHECKING:
    from collections.abc import Callable

SERIES = 1000
SHAPES: dict[str, Callable[[Random], float]] = {
    "normal": lambda rng: rng.gauss(0, 0.03),
    "heavy tails": lambda rng: 0.03 * rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 1) / 1.5),
    "skewed": lambda rng: -0.03 * rng.expovariate(1),
}


@pytest.mark.parametrize("count", [4, 8, 20, 50])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_stationary_series_has_no_change(shape: str, count: int) -> None:
    rng = Random(f"{shape} {count}")
    found = sum(
        bool(change_points([SHAPES[shape](rng) for _ in range(count)])) for _ in range(SERIES)
    )
    # Three standard errors of 5% over so many series are 2 points.
    assert found / SERIES <= 0.05 + 0.02


@pytest.mark.parametrize("spread", [0.01, 0.02, 0.03])
@pytest.mark.parametrize("step", [-0.1, 0.1])
def test_a_planted_step_of_a_tenth_is_found_where_it_is(step: float, spread: float) -> None:
    rng = Random(f"{step} {spread}")
    hits = false = 0
    tries = 200
    for _ in range(tries):
        place = rng.randrange(6, 25)
        values = [rng.gauss(math.log1p(step) if i >= place else 0, spread) for i in range(30)]
        found = [point.index for point in change_points(values)]
        hits += any(abs(index - place) <= 1 for index in found)
        false += any(abs(index - place) > 1 for index in found)
    assert hits >= 0.95 * tries
    assert false <= 0.1 * tries


def test_two_runs_after_it_a_step_is_seen_often_enough() -> None:
    rng = Random(9)
    levels = [0.0] * 18 + [math.log(0.9)] * 2
    hits = sum(
        bool(change_points([rng.gauss(level, 0.015) for level in levels])) for _ in range(200)
    )
    assert hits >= 0.95 * 200


def test_what_hangs_together_from_run_to_run_is_named_more_often() -> None:
    # Not promised: a run that is like the one before makes levels of its own. Held so that the
    # page that says so stays true.
    rng = Random(10)
    found = 0
    for _ in range(300):
        value, values = 0.0, []
        for _ in range(30):
            value = 0.5 * value + rng.gauss(0, 0.02)
            values.append(value)
        found += bool(change_points(values))
    assert 0.05 < found / 300 < 0.6
