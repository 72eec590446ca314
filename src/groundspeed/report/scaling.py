"""Numbers in base units become text for people."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse import NOTHING, TRIALS_NEEDED, digits, ratio_digits
from groundspeed.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.analyse import Estimate

__all__ = [
    "NOTHING",
    "format_bytes",
    "format_ratio",
    "format_seconds",
    "format_span",
    "format_tps",
    "interval_text",
    "range_text",
]

_TIMES = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))


def format_tps(value_per_s: float) -> str:
    """Write a rate without its unit: 1,234 or 12.3 or 0.123."""
    return digits(value_per_s)


def format_seconds(value_s: float) -> str:
    """Write a time as µs, ms or s: 87.3 µs, 1.25 ms, 2.00 s."""
    if not math.isfinite(value_s):
        return NOTHING
    if value_s == 0:
        return "0 s"
    size_s = abs(float(f"{value_s:.3g}"))
    factor, unit = next((t for t in reversed(_TIMES) if size_s >= t[0]), _TIMES[0])
    return f"{digits(value_s / factor)} {unit}"


def format_ratio(value: float) -> str:
    """Write a ratio: 2.10x, 0.870x, 35.2x; 1.004x near 1."""
    text = ratio_digits(value)
    return text if text == NOTHING else f"{text}x"


def format_span(low: float | None, high: float | None, scale: Callable[[float], str]) -> str:
    """Write an interval as [low, high], or a dash where there is none."""
    if low is None or high is None:
        return NOTHING
    return f"[{scale(low)}, {scale(high)}]"


def interval_text(estimate: Estimate, scale: Callable[[float], str]) -> str:
    """Write "1,234 [1,200, 1,260]", or why there is no interval and the range instead."""
    if estimate.n == 0:
        return NOTHING
    median = scale(estimate.median)
    if estimate.low is not None and estimate.high is not None:
        return f"{median} {format_span(estimate.low, estimate.high, scale)}"
    return (
        f"{median} (n={estimate.n}, no 95% interval ({TRIALS_NEEDED} needed); "
        f"{range_text(estimate, scale)})"
    )


def range_text(estimate: Estimate, scale: Callable[[float], str]) -> str:
    """Write "range 1,100 to 1,300": the smallest and the largest trial, no interval."""
    return f"range {scale(estimate.minimum)} to {scale(estimate.maximum)}"
