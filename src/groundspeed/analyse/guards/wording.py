"""How guards write times and lists: one way for all of their sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_MINUTE_S, _HOUR_S = 60.0, 3600.0
# Up to two of the larger unit the smaller one reads better: 90 s, 100 min.
_TWO = 2


def span_text(span_s: float) -> str:
    """Write a length of time: 45 s, 33 min, 2.5 h."""
    if span_s < _TWO * _MINUTE_S:
        return f"{span_s:.3g} s"
    if span_s < _TWO * _HOUR_S:
        return f"{round(span_s / _MINUTE_S)} min"
    return f"{span_s / _HOUR_S:.3g} h"


def listed(parts: Sequence[str]) -> str:
    """Join with commas and one and: "a, b and c"."""
    if len(parts) <= 1:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def low_to_high(values: Sequence[float], text: str) -> str:
    """Write a range by a format such as ".2f"; one number where both ends read the same."""
    low, high = format(min(values), text), format(max(values), text)
    return low if low == high else f"{low} to {high}"
