from __future__ import annotations

import pytest

from groundspeed.stats.plateau import plateau_from
from groundspeed.stats.scalability import Law, Load

CLIENTS = (1, 2, 4, 8, 16, 32, 64, 128)


def loads(throughputs: list[float]) -> list[Load]:
    return [Load(clients=n, throughput=x) for n, x in zip(CLIENTS, throughputs, strict=False)]


@pytest.mark.parametrize(
    ("throughputs", "begin"),
    [
        ([min(100.0 * n, 1600.0) for n in CLIENTS], 16),
        ([100.0, 190.0, 340.0, 600.0, 590.0, 605.0], 8),
        ([100.0, 190.0, 360.0, 390.0, 395.0, 390.0, 388.0], 8),
        # Capped, and then it turns down.
        ([100.0, 200.0, 390.0, 500.0, 505.0, 500.0, 300.0], 8),
        # Too few points to ask the law.
        ([600.0, 600.0, 600.0], 1),
    ],
)
def test_a_cap_is_seen_where_it_begins(throughputs: list[float], begin: int) -> None:
    assert plateau_from(loads(throughputs)) == begin
    assert plateau_from(loads(throughputs)[::-1]) == begin


@pytest.mark.parametrize(
    ("sigma", "kappa"), [(0.0, 0.0), (0.05, 0.0), (0.05, 0.0005), (0.3, 0.0), (0.5, 0.0001)]
)
def test_a_system_that_follows_the_law_is_not_capped(sigma: float, kappa: float) -> None:
    law = Law(lambda_=100, sigma=sigma, kappa=kappa)

    assert plateau_from(loads([law.throughput(n) for n in CLIENTS])) is None


def test_noise_is_allowed_for() -> None:
    throughputs = [100.0, 200.0, 400.0, 800.0, 1600.0, 1500.0, 1640.0, 1520.0]

    assert plateau_from(loads(throughputs)) is None
    assert plateau_from(loads(throughputs), noise_ratio=0.1) == 16


def test_two_points_are_no_plateau() -> None:
    assert plateau_from(loads([100.0, 100.0])) is None
    assert plateau_from([]) is None
