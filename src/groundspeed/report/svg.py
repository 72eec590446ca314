"""Charts as SVG text: numbers and axes in, one string out.

It knows no environment, unit or colour: a trace has a style index, and the page's style sheet
gives `.c0`, `.c1` ... their colours, so that one chart serves light, dark and paper. It chooses
nothing: which values, which axes and which words is up to the caller. Every text is escaped here.
"""

from __future__ import annotations

import html
import math
import re
from enum import Enum
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.report.svg_axes import Axis, Scale

STYLE_COUNT = 7
_SHAPE_COUNT = 4
_RADIUS_PX = 4.0
_CAP_PX = 3.0
_TOP_PX = 20.0
_RIGHT_PX = 12.0
_BOTTOM_PX = 34.0
# XML 1.0 has no way to write these, not even escaped.
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Whisker(Enum):
    """What the line through a mark spans; the value is its class in the style sheet."""

    INTERVAL = "interval"
    # Drawn hollow and thin: too few trials for an interval, so it shows the smallest and largest.
    RANGE = "range"


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """A value with its whisker, in the units of the axes; `title` is told on hover and aloud."""

    x: float
    y: float
    low: float
    high: float
    whisker: Whisker
    title: str


class Ratio(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison on a strip: a value above zero with its whisker."""

    value: float
    low: float
    high: float
    whisker: Whisker


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """The marks of one environment, by ascending x."""

    style_index: int
    marks: tuple[Mark, ...]


class Curve(msgspec.Struct, frozen=True, kw_only=True):
    """A line through (x, y) points. `faint`: one repeat behind the line that sums them up."""

    style_index: int
    faint: bool
    points: tuple[tuple[float, float], ...]


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """The size of a chart before it is scaled to its place on the page."""

    width_px: int
    height_px: int


PANEL = Size(width_px=350, height_px=230)
SECONDS_PANEL = Size(width_px=350, height_px=170)
STRIP = Size(width_px=260, height_px=32)


def without_controls(value: str) -> str:
    """Replace what XML cannot hold."""
    return _NO_XML.sub("\ufffd", value)


def text(value: str) -> str:
    """Escape a text for an element or an attribute of SVG and HTML alike."""
    return html.escape(without_controls(value), quote=True)


def style_class(style_index: int) -> str:
    """Return the class that gives a trace its colour; they repeat after `STYLE_COUNT`."""
    return f"c{style_index % STYLE_COUNT}"


def interval_chart(
    traces: Sequence[Trace], *, x: Axis, y: Axis, title: str, description: str
) -> str:
    """Draw marks with whiskers, joined by lines; traces stand side by side at each x."""
    size = PANEL
    across, up = plot_area(size, x, y)
    offset_px = _offset_px(across, [m.x for trace in traces for m in trace.marks], len(traces))
    parts = [frame(size, across, up, x, y)]
    for place, trace in enumerate(traces):
        shift_px = (place - (len(traces) - 1) / 2) * offset_px
        parts.append(_trace(trace, across, up, shift_px))
    return element(size, title, description, "".join(parts))


def seconds_chart(
    curves: Sequence[Curve], *, x: Axis, y: Axis, title: str, description: str
) -> str:
    """Draw lines over time; the faint ones lie behind."""
    size = SECONDS_PANEL
    across, up = plot_area(size, x, y)
    parts = [frame(size, across, up, x, y)]
    for curve in sorted(curves, key=lambda c: not c.faint):
        path = " ".join(f"{across.px(cx):.1f},{up.px(cy):.1f}" for cx, cy in curve.points)
        weight = "faint" if curve.faint else "bold"
        style = style_class(curve.style_index)
        parts.append(f'<polyline class="curve {weight} {style}" points="{path}"/>')
    return element(size, title, description, "".join(parts))


def strip_scale(axis: Axis) -> Scale:
    """Lay the axis of a comparison along a strip; all strips of a table share it."""
    return axis.scale(14.0, STRIP.width_px - 14.0)


def strip(ratio: Ratio, *, axis: Axis, style: str, title: str, description: str) -> str:
    """Draw one comparison as a dot with its whisker and the line at 1.

    The other ticks are the table's, so that their lines run through its rows without a gap.
    """
    size, along = STRIP, strip_scale(axis)
    middle = size.height_px // 2
    height = size.height_px
    parts = [f'<path class="one" d="M{along.px(1.0):.1f} 0v{height}"/>']
    low, high = f"{along.px(ratio.low):.1f}", f"{along.px(ratio.high):.1f}"
    parts.append(f'<g class="mark {ratio.whisker.value} {text(style)}">')
    if ratio.low < ratio.high:
        parts.append(
            f'<path class="whisker" d="M{low} {middle}H{high}'
            f'M{low} {middle - 5}v10M{high} {middle - 5}v10"/>'
        )
    parts.append(
        f'<circle class="dot" cx="{along.px(ratio.value):.1f}" cy="{middle}" r="3.5"/></g>'
    )
    return element(size, title, description, "".join(parts), fixed=True)


def strip_axis(axis: Axis, *, title: str) -> str:
    """Draw the ticks of the strips' axis, for the head of their table."""
    along = strip_scale(axis)
    size = Size(width_px=STRIP.width_px, height_px=18)
    parts = [
        f'<text class="tick" x="{along.px(value):.1f}" y="12" text-anchor="middle">{text(label)}'
        "</text>"
        for value, label in axis.ticks
    ]
    return element(size, title, axis.unit, "".join(parts), fixed=True)


def swatch(style_index: int) -> str:
    """Draw the key of a trace for a legend: its line and its mark. It says nothing aloud."""
    style = style_class(style_index)
    return (
        '<svg class="swatch" width="26" height="12" viewBox="0 0 26 12" aria-hidden="true">'
        f'<g class="mark interval {style}"><path class="join" d="M1 6H25"/>'
        f"{_shape(style_index, 13.0, 6.0)}</g></svg>"
    )


def plot_area(size: Size, x: Axis, y: Axis, *, top_px: float = _TOP_PX) -> tuple[Scale, Scale]:
    """Lay both axes of a chart, with room for the labels of the vertical one."""
    left_px = max(y.label_width_px() + 8, 16)
    across = x.scale(left_px, size.width_px - _RIGHT_PX)
    return across, y.scale(size.height_px - _BOTTOM_PX, top_px)


def frame(size: Size, across: Scale, up: Scale, x: Axis, y: Axis) -> str:
    """Draw the axes of a chart: lines across at the ticks of y, ticks along x, both units."""
    left, right, floor = across.start_px, across.end_px, up.start_px
    parts = [f'<text class="unit" x="0" y="10">{text(y.unit)}</text>']
    for value, label in y.ticks:
        at = up.px(value)
        parts.append(f'<path class="grid" d="M{left:.1f} {at:.1f}H{right:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{left - 6:.1f}" y="{at + 3.8:.1f}" '
            f'text-anchor="end">{text(label)}</text>'
        )
    parts.append(f'<path class="axis" d="M{left:.1f} {floor:g}H{right:.1f}"/>')
    for value, label in x.ticks:
        at = across.px(value)
        parts.append(f'<path class="axis" d="M{at:.1f} {floor:g}v4"/>')
        if label:
            parts.append(
                f'<text class="tick" x="{at:.1f}" y="{floor + 15:g}" '
                f'text-anchor="middle">{text(label)}</text>'
            )
    parts.append(
        f'<text class="unit" x="{(left + right) / 2:.1f}" y="{size.height_px - 4}" '
        f'text-anchor="middle">{text(x.unit)}</text>'
    )
    return "".join(parts)


def _offset_px(across: Scale, xs: Sequence[float], trace_count: int) -> float:
    """Return how far traces stand apart, so that whiskers never cover each other."""
    places = sorted({across.px(x) for x in xs})
    gap_px = min((b - a for a, b in pairwise(places)), default=across.end_px - across.start_px)
    widest_px = 3 * _RADIUS_PX if len(places) > 1 else 12 * _RADIUS_PX
    return min(widest_px, 0.7 * gap_px / max(trace_count, 1))


def _trace(trace: Trace, across: Scale, up: Scale, shift_px: float) -> str:
    style = style_class(trace.style_index)
    at = [(across.px(m.x) + shift_px, up.px(m.y)) for m in trace.marks]
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    parts = [f'<g class="trace {style}">']
    if len(at) > 1:
        parts.append(f'<polyline class="join" points="{joined}"/>')
    for mark, (x, y) in zip(trace.marks, at, strict=True):
        parts.append(f'<g class="mark {mark.whisker.value}"><title>{text(mark.title)}</title>')
        if mark.low < mark.high:
            low, high = f"{up.px(mark.low):.1f}", f"{up.px(mark.high):.1f}"
            # Caps belong to intervals alone: a bare line claims less.
            cap = f"M{x - _CAP_PX:.1f} {{}}h{2 * _CAP_PX:.0f}"
            caps = cap.format(low) + cap.format(high) if mark.whisker is Whisker.INTERVAL else ""
            parts.append(f'<path class="whisker" d="M{x:.1f} {low}V{high}{caps}"/>')
        parts.append(_shape(trace.style_index, x, y) + "</g>")
    parts.append("</g>")
    return "".join(parts)


def _shape(style_index: int, x: float, y: float) -> str:
    """Draw a mark: circle, square, diamond or triangle, so that paper without colour still tells.

    Four shapes and seven colours repeat together only after 28 environments. All have one area.
    """
    # Half the side of a square and half the diagonal of a diamond as large as the circle.
    side, diagonal = _RADIUS_PX * math.sqrt(math.pi) / 2, _RADIUS_PX * math.sqrt(math.pi / 2)
    match style_index % _SHAPE_COUNT:
        case 0:
            return f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS_PX}"/>'
        case 1:
            edge = f"{2 * side:.1f}"
            d = f"M{x - side:.1f} {y - side:.1f}h{edge}v{edge}h-{edge}z"
        case 2:
            half = f"{diagonal:.1f}"
            d = f"M{x:.1f} {y - diagonal:.1f}l{half} {half}l-{half} {half}l-{half} -{half}z"
        case _:
            arm = 1.1 * diagonal
            d = f"M{x:.1f} {y - arm:.1f}L{x + arm:.1f} {y + 0.75 * arm:.1f}H{x - arm:.1f}z"
    return f'<path class="dot" d="{d}"/>'


def element(size: Size, title: str, description: str, body: str, *, fixed: bool = False) -> str:
    """Wrap a drawing; title and description are escaped, the body is drawn already."""
    extent = f' width="{size.width_px}" height="{size.height_px}"' if fixed else ""
    return (
        f'<svg role="img" viewBox="0 0 {size.width_px} {size.height_px}"{extent}>'
        f"<title>{text(title)}</title><desc>{text(description)}</desc>{body}</svg>"
    )
