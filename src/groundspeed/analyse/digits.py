"""How ratios are written, beside the digits of other numbers: one rule for verdicts and tables."""

from __future__ import annotations

from groundspeed.units import NOTHING, digits

__all__ = ["NOTHING", "digits", "ratio_digits"]

# A ratio between these needs a digit more: an interval of 1.001 to 1.004 does not include 1.
_NEAR_ONE = (0.9, 1.1)


def ratio_digits(value: float) -> str:
    """Write a ratio with three significant digits, and with three decimals near 1."""
    low, high = _NEAR_ONE
    return f"{value:.3f}" if low <= round(value, 3) < high else digits(value)
