"""Quantities of a probe become text: one unit for a median and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse import digits
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.stats.median import median_interval

if TYPE_CHECKING:
    from collections.abc import Sequence


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """Steps in which a quantity is written, each a (factor from base units, name), ascending."""

    steps: tuple[tuple[float, str], ...]

    def of(self, value: float) -> tuple[float, str]:
        """Choose the step for a value."""
        size = abs(float(f"{value:.3g}"))
        return next((s for s in reversed(self.steps) if size >= s[0]), self.steps[0])

    def text(self, value: float) -> str:
        """Write one value."""
        factor, name = self.of(value)
        return f"{digits(value / factor)}{name}"


SECONDS = Unit(steps=((1e-6, " µs"), (1e-3, " ms"), (1.0, " s")))
RATE = Unit(steps=((1.0, ""),))
BYTES_RATE = Unit(
    steps=((1.0, " B/s"), (2.0**10, " KiB/s"), (2.0**20, " MiB/s"), (2.0**30, " GiB/s"))
)


def estimate(values: Sequence[float], unit: Unit) -> str:
    """Write "71.2 [58.6, 92.7] µs": a median with its interval, in one unit.

    Where there are too few values for an interval, their range stands in parentheses.
    """
    found = median_interval(values, CONFIDENCE_RATIO)
    factor, name = unit.of(found.median)
    text = digits(found.median / factor)
    if found.low is not None and found.high is not None:
        return f"{text} [{digits(found.low / factor)}, {digits(found.high / factor)}]{name}"
    if len(values) > 1:
        low, high = digits(min(values) / factor), digits(max(values) / factor)
        return f"{text} ({low} to {high}){name}"
    return f"{text}{name}"
