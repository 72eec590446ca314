"""P-values corrected for their number, where each claim has one direction only. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def step_down(p_values: Sequence[float]) -> tuple[float, ...]:
    """Correct p-values for their number: each may then be held against the error by itself.

    In the order given, each in 0..1. The chance of one or more wrong claims in the family stays
    within the error, whatever the tests have to do with each other. For claims that may go either
    way, `holm.reached_level` is the one that counts them right.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).
    """
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    worst = 0.0
    for place, index in enumerate(order):
        worst = max(worst, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = worst
    return tuple(corrected)
