"""How often a fall is seen where there is none, and where there is one of a factor of three."""

from __future__ import annotations

from random import Random

import pytest

from groundspeed.stats.cliff import find_cliff

TRIES = 200


@pytest.mark.parametrize("sigma", [0.05, 0.2, 0.4])
@pytest.mark.parametrize("count", [12, 30, 120])
def test_noise_is_no_fall(count: int, sigma: float) -> None:
    rng = Random(1)
    found = [find_cliff([rng.lognormvariate(0, sigma) for _ in range(count)]) for _ in range(TRIES)]
    assert sum(cliff is not None for cliff in found) <= 0.02 * TRIES


@pytest.mark.parametrize("count", [12, 30, 120])
def test_a_fall_by_three_is_found_within_one_window(count: int) -> None:
    rng = Random(2)
    hits = 0
    for _ in range(TRIES):
        place = rng.randrange(5, count - 5)
        values = [rng.lognormvariate(0, 0.2) * (3 if i < place else 1) for i in range(count)]
        cliff = find_cliff(values)
        hits += cliff is not None and abs(cliff.before_count - place) <= 1
    assert hits >= 0.95 * TRIES
