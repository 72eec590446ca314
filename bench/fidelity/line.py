"""One line of the fidelity table: what, asked, measured, error, allowed, met or missed.

Pure but for the printing. A line without `met` is told for information, or is not possible here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.figures import MISSED, interval
from groundspeed.stats.median import median_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

_WORDS = {None: "", True: "met", False: "MISSED"}
_HEADINGS = ("what", "asked", "measured", "error", "allowed", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line of the table; `raw` are the values it was made from, kept beside it as data."""

    what: str
    measured: str
    asked: str = "-"
    error: str = "-"
    allowed: str = "-"
    met: bool | None = None
    raw: dict[str, Any] = field(default_factory=dict)

    @property
    def cells(self) -> tuple[str, ...]:
        """What is printed of it."""
        return (
            self.what,
            self.asked,
            self.measured,
            self.error,
            self.allowed,
            _WORDS[self.met],
        )

    def as_data(self) -> dict[str, Any]:
        """Everything of it, to be kept as JSON."""
        names = ("what", "asked", "measured", "error", "allowed", "met", "raw")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """How values are worded: times `scale`, with `digits` after the point and `word` behind."""

    word: str = ""
    scale: float = 1.0
    digits: int = 3

    def of(self, value: float) -> str:
        """Word one value."""
        return f"{value * self.scale:,.{self.digits}f}{self.word}"

    def measured(self, values: Sequence[float]) -> str:
        """Word the median of repeats with its interval."""
        middle = median_interval(values).median
        return f"{self.of(middle)}, {interval(values, self.scale, self.digits)}"


PER_CENT = Unit(word="%", scale=100, digits=2)


def near(
    what: str, asked: float, values: Sequence[float], *, allowed_ratio: float, unit: Unit
) -> Line:
    """Judge the median of `values`: it must be within `allowed_ratio` of what was asked."""
    error = median_interval(values).median / asked - 1
    return Line(
        what=what,
        asked=unit.of(asked),
        measured=unit.measured(values),
        error=f"{error:+.2%}",
        allowed=f"{allowed_ratio:.0%}",
        met=abs(error) <= allowed_ratio,
        raw={"asked": asked, "values": list(values)},
    )


def below(what: str, most: float, values: Sequence[float], *, unit: Unit, asked: str) -> Line:
    """Judge the median of `values`, which are errors themselves: it must be at most `most`."""
    middle = median_interval(values).median
    return Line(
        what=what,
        asked=asked,
        measured=unit.measured(values),
        error=unit.of(middle),
        allowed=unit.of(most),
        met=middle <= most,
        raw={"most": most, "values": list(values)},
    )


def not_possible(what: str, why: str) -> Line:
    """Say that a line cannot be measured on this machine."""
    return Line(what=what, measured=f"not possible here: {why}")


def print_table(lines: Sequence[Line]) -> int:
    """Print the table; the exit code: 1 when a line was missed."""
    rows = [_HEADINGS, *(line.cells for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    for row in rows:
        cells = zip(row, widths, strict=True)
        print("  ".join(cell.ljust(width) for cell, width in cells).rstrip())
    return MISSED if any(line.met is False for line in lines) else 0
