"""The interval of a quotient of medians holds the true one as often as it says."""

from __future__ import annotations

from random import Random

from groundspeed.stats.median_quotient import median_quotient

TRIES = 1000


def test_it_holds_the_true_quotient_in_95_of_100_tries() -> None:
    rng = Random(3)
    held = 0
    for _ in range(TRIES):
        over = [3 * rng.lognormvariate(0, 0.5) for _ in range(7)]
        under = [rng.lognormvariate(0, 0.2) for _ in range(7)]
        found = median_quotient(over, under)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 3 <= found.high
    assert held >= 0.95 * TRIES
