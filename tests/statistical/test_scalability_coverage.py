"""How often the intervals of the scalability law hold; conservative where a bound is near."""

from __future__ import annotations

import math
from random import Random

import pytest

from groundspeed.stats.scalability import Law, Load, fit_law
from tests.made_seconds import show

SIMULATIONS = 400


@pytest.mark.parametrize("noise", [0.02, 0.08])
@pytest.mark.parametrize(
    ("sigma", "kappa"), [(0.05, 0.0005), (0.2, 0.001), (0.02, 0.0), (0.0, 0.0001)]
)
@pytest.mark.parametrize("clients", [(1, 4, 16, 64), (1, 2, 4, 8, 16, 32, 64, 128)])
def test_intervals_hold(clients: tuple[int, ...], sigma: float, kappa: float, noise: float) -> None:
    rng, law = Random(f"{clients} {sigma} {noise}"), Law(lambda_=1000, sigma=sigma, kappa=kappa)
    sigma_covered = kappa_covered = 0
    for _ in range(SIMULATIONS):
        loads = [
            Load(clients=n, throughput=law.throughput(n) * math.exp(rng.gauss(0, noise)))
            for n in clients
        ]
        fit = fit_law(loads)
        sigma_covered += fit.sigma_low <= sigma <= fit.sigma_high
        kappa_covered += fit.kappa_low <= kappa <= fit.kappa_high
    show(
        f"{len(clients)} points, sigma {sigma}, kappa {kappa}, noise {noise}: "
        f"sigma {sigma_covered / SIMULATIONS:.3f}, kappa {kappa_covered / SIMULATIONS:.3f}"
    )
    # Two points, and two standard errors of the simulation.
    assert sigma_covered / SIMULATIONS >= 0.93 - 0.02
    assert kappa_covered / SIMULATIONS >= 0.93 - 0.02
