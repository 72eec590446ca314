"""How often Student's t exceeds a value, far out as well. Pure."""

from __future__ import annotations

import math

_TOLERANCE = 1e-14
_MOST_STEPS = 500
# Stands for zero where a quotient would have none below its line.
_TINY = 1e-300


def student_tail(value: float, freedom_count: float) -> float:
    """Give the chance that Student's t is above `value`, for 1 or more degrees of freedom.

    Relative error below 1e-10, for chances down to 1e-300. Raises ValueError below one degree of
    freedom. Source: Abramowitz & Stegun, Handbook of Mathematical Functions, 26.7.1 (as an
    incomplete beta function) and 26.5.8 (its continued fraction).
    """
    if not freedom_count >= 1:
        raise ValueError(f"no tail at {freedom_count} degrees of freedom")
    if value < 0:
        return 1 - student_tail(-value, freedom_count)
    if math.isinf(value):
        return 0.0
    n, squared = freedom_count, value * value
    return _incomplete_beta(n / 2, 0.5, n / (n + squared), squared / (n + squared)) / 2


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """Integrate to `x`, regularised; `rest` is 1 - x, which the caller knows more exactly."""
    if x <= 0 or rest <= 0:
        return 0.0 if x <= 0 else 1.0
    # The fraction converges fast on this side of the mean; on the other it is turned around.
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, rest, x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front += a * math.log(x) + b * math.log(rest)
    return math.exp(front) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction from the front (Lentz's method)."""
    upper, lower = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    product = lower
    for m in range(1, _MOST_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        step = 1.0
        for term in (even, odd):
            lower = 1 / _nonzero(1 + term * lower)
            upper = _nonzero(1 + term / upper)
            step = upper * lower
            product *= step
        if abs(step - 1) < _TOLERANCE:
            break
    return product


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
