"""How many digits of a number are said: one rule for the verdicts and for the tables beside them.

Three significant ones: the run-to-run spread of a database hides all further ones. Whole numbers
keep all their digits, so that a reader can compare them with the output of pgbench.
"""

from __future__ import annotations

import math

NOTHING = "-"
_MOST_DECIMALS = 6
# A ratio between these needs a digit more: an interval of 1.001 to 1.004 does not include 1.
_NEAR_ONE = (0.9, 1.1)


def digits(value: float) -> str:
    """Write a number with three significant digits; a dash where it is none."""
    if not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    # Rounded first: 9.996 is 10.0, not 10.00.
    rounded = float(f"{value:.3g}")
    decimals = 2 - math.floor(math.log10(abs(rounded)))
    return f"{value:,.{min(max(decimals, 0), _MOST_DECIMALS)}f}"


def ratio_digits(value: float) -> str:
    """Write a ratio with three significant digits, and with three decimals near 1."""
    low, high = _NEAR_ONE
    return f"{value:.3f}" if low <= round(value, 3) < high else digits(value)
