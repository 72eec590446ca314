"""Axes as numbers: scales, round ticks and the room their labels take; it draws nothing."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

# Sans-serif digits at the 11 px of the labels are 6 to 6.4 px wide in the common system fonts;
# measuring would need the reader's font.
CHARACTER_PX = 6.4
# Room at both ends of a count axis for marks that stand side by side.
_EDGE_PX = 24.0
_STEPS = (1.0, 2.0, 5.0, 10.0)
# Fewer round values than this on a log axis leave the reader guessing between them.
_ENOUGH_TICKS = 3


class ScaleKind(Enum):
    """How values are laid along an axis."""

    LINEAR = "linear"
    LOG = "log"


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Maps a value to a pixel: `low` falls on `start_px`, `high` on `end_px`."""

    kind: ScaleKind
    low: float
    high: float
    start_px: float
    end_px: float

    def px(self, value: float) -> float:
        """Place a value; on a log axis it must be above zero."""
        if self.kind is ScaleKind.LOG:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start_px + share * (self.end_px - self.start_px)


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """The span of an axis, its ticks as (value, label) pairs and its unit in words.

    A tick with an empty label is drawn without one.
    """

    kind: ScaleKind
    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    unit: str

    def scale(self, start_px: float, end_px: float) -> Scale:
        """Lay the axis between two pixels."""
        return Scale(kind=self.kind, low=self.low, high=self.high, start_px=start_px, end_px=end_px)

    def label_width_px(self) -> float:
        """Return the room that the widest label takes."""
        return max((len(label) for _, label in self.ticks), default=0) * CHARACTER_PX


def number(value: float) -> str:
    """Write a tick: 120,000 or 0.25, without the dust of binary fractions."""
    return f"{value:,.10g}"


def step_above(rough: float) -> float:
    """Round a positive step up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    # The tolerance keeps 0.2 / 0.1 from being taken for a little more than 2.
    return next(step * power for step in _STEPS if step * power >= rough * (1 - 1e-9))


def linear_ticks(low: float, high: float, count: int = 5) -> tuple[float, ...]:
    """Round values from `low` to `high`, both included where round; at most `count` + 1."""
    step = step_above((high - low) / count)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    # A quotient by a whole number keeps 3 * 0.1 from becoming 0.30000000000000004.
    inverse = round(1 / step) if step < 1 else 0
    return tuple(i / inverse if inverse else i * step for i in range(first, last + 1))


def log_ticks(low: float, high: float, count: int = 6) -> tuple[float, ...]:
    """Round values from `low` to `high` on a log axis, `count` or a few less.

    1, 2 and 5 of each decade; powers of ten alone where those are too many; on an axis too short
    for three of them, round steps as on a linear axis.
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)

    def inside(leads: Sequence[float], every: int = 1) -> tuple[float, ...]:
        values = (lead * 10.0**d for d in decades if d % every == 0 for lead in leads)
        return tuple(v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9))

    fine = inside((1.0, 2.0, 5.0))
    if len(fine) < _ENOUGH_TICKS:
        return linear_ticks(low, high, count - 1)
    if len(fine) <= count:
        return fine
    return inside((1.0,), max(1, math.ceil(len(inside((1.0,))) / count)))


def from_zero(values: Iterable[float], unit: str, *, count: int = 5) -> Axis:
    """Lay a linear axis from zero to the first round value at or above all values."""
    most = max(values, default=0.0)
    most = most if most > 0 else 1.0
    step = step_above(most / count)
    high = math.ceil(most / step - 1e-9) * step
    ticks = tuple((tick, number(tick)) for tick in linear_ticks(0.0, high, count))
    return Axis(kind=ScaleKind.LINEAR, low=0.0, high=high, ticks=ticks, unit=unit)


def logarithmic(
    values: Iterable[float], unit: str, *, margin_ratio: float = 1.15, count: int = 6
) -> Axis:
    """Lay a log axis around all values, which must be above zero, with a margin at both ends."""
    known = tuple(values)
    low, high = min(known) / margin_ratio, max(known) * margin_ratio
    ticks = tuple((tick, number(tick)) for tick in log_ticks(low, high, count))
    return Axis(kind=ScaleKind.LOG, low=low, high=high, ticks=ticks, unit=unit)


def counts(values: Iterable[int], unit: str, *, width_px: float) -> Axis:
    """Lay a log axis whose ticks are the given counts themselves (clients: 1, 8, 32).

    Labels that would touch their left neighbour stay empty; `width_px` is the room for all.
    """
    known = sorted(set(values))
    span = math.log(known[-1] / known[0])
    # A single count lies in the middle of an octave to each side.
    share = span * _EDGE_PX / (width_px - 2 * _EDGE_PX) if span else math.log(2)
    low, high = known[0] / math.exp(share), known[-1] * math.exp(share)
    bare = Axis(kind=ScaleKind.LOG, low=low, high=high, ticks=(), unit=unit)
    return msgspec.structs.replace(bare, ticks=_uncrowded(known, bare.scale(0, width_px).px))


def _uncrowded(
    values: Sequence[float], place: Callable[[float], float]
) -> tuple[tuple[float, str], ...]:
    ticks: list[tuple[float, str]] = []
    free_from_px = -math.inf
    for value in values:
        label = number(value)
        half_px = len(label) * CHARACTER_PX / 2
        if place(value) - half_px < free_from_px:
            ticks.append((value, ""))
            continue
        ticks.append((value, label))
        free_from_px = place(value) + half_px + CHARACTER_PX
    return tuple(ticks)
