"""How often the interval of a slope holds, for neighbours that resemble each other and for not."""

from __future__ import annotations

from random import Random

import pytest

from groundspeed.stats.trend import trend_across, trend_within
from tests.made_seconds import noise, show

SIMULATIONS = 1000
SLOPE = 0.5
# Three standard errors of a coverage of 0.95 over the simulations: 2.1 points.


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("phi", [0.0, 0.5, 0.7])
@pytest.mark.parametrize("count", [30, 60, 120, 300])
def test_interval_within_a_trial(count: int, phi: float, *, heavy: bool) -> None:
    rng = Random(f"{count} {phi} {heavy}")
    covered = given = 0
    for _ in range(SIMULATIONS):
        values = [
            1000 + SLOPE * at + 50 * off
            for at, off in enumerate(noise(rng, count, phi, heavy=heavy))
        ]
        found = trend_within(values)
        if found.low is not None and found.high is not None:
            given += 1
            covered += found.low <= SLOPE <= found.high
    coverage = covered / given
    show(f"{count} s, phi {phi}, heavy {heavy}: {coverage:.3f} of {given / SIMULATIONS:.2f}")
    # Two points for phi up to 0.5; at 0.7 half a minute is worth six values, and four points.
    allowed = 0.02 if phi <= 0.5 else 0.045
    assert coverage >= 0.95 - allowed - 0.014
    assert given >= 0.7 * SIMULATIONS


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("count", [5, 8, 15])
def test_interval_across_repeats(count: int, *, heavy: bool) -> None:
    rng = Random(f"{count} {heavy}")
    covered = 0
    for _ in range(SIMULATIONS):
        shocks = noise(rng, count, 0.0, heavy=heavy)
        found = trend_across([1000 + SLOPE * at + 50 * off for at, off in enumerate(shocks)])
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= SLOPE <= found.high
    show(f"{count} repeats, heavy {heavy}: {covered / SIMULATIONS:.3f}")
    assert covered / SIMULATIONS >= 0.95 - 0.014
