"""Made-up seconds of trials: noise that resembles itself and has heavy tails, with a given seed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_FREEDOM = 3
_SETTLE_COUNT = 20


def draw_heavy(rng: Random) -> float:
    """Draw from Student's t with three degrees of freedom, scaled to a deviation of 1."""
    square = sum(rng.gauss(0, 1) ** 2 for _ in range(_FREEDOM))
    return rng.gauss(0, 1) / math.sqrt(square / _FREEDOM) / math.sqrt(_FREEDOM)


def noise(rng: Random, count: int, phi: float, *, heavy: bool = True) -> list[float]:
    """AR(1) noise of deviation 1."""
    value, values = 0.0, []
    for _ in range(_SETTLE_COUNT + count):
        shock = draw_heavy(rng) if heavy else rng.gauss(0, 1)
        value = phi * value + math.sqrt(1 - phi * phi) * shock
        values.append(value)
    return values[_SETTLE_COUNT:]


def seconds(
    rng: Random, shape: Sequence[float], phi: float, *, cv_ratio: float = 0.05
) -> list[float]:
    """Rates around a shape, of which 1 is 1000 a second."""
    return [
        max(0.0, 1000 * level * (1 + cv_ratio * off))
        for level, off in zip(shape, noise(rng, len(shape), phi), strict=True)
    ]


def show(rate: str) -> None:
    """Tell a simulated rate to whoever runs the tests with -s."""
    print(rate)  # noqa: T201 - the rate is what these tests find out
