"""Latency against rate as SVG: every slice, the median of each rate, the bound and the interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report import svg, svg_axes
from groundspeed.report.html_figures import latency_axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.report.capacity_shapes import CapacityFigure

_SIZE = svg.Size(width_px=350, height_px=230)
_TOP_PX = 30.0


def draw(figure: CapacityFigure, neighbours: Sequence[CapacityFigure], style_index: int) -> str:
    """Draw one cell; panels of a workload share their axes and are read side by side."""
    x = svg_axes.logarithmic((p[0] for f in neighbours for p in f.points), "transactions/s due")
    heights = [p[1] for f in neighbours for p in f.points] + [f.bound_s for f in neighbours]
    y, factor = latency_axis(heights)
    across, up = svg.plot_area(_SIZE, x, y, top_px=_TOP_PX)
    style = svg.style_class(style_index)
    parts = [svg.frame(_SIZE, across, up, x, y)]
    parts += _interval(figure, across, up, style)
    parts += _bound(figure, across, up, factor)
    at = " ".join(f"{across.px(rate):.1f},{up.px(p99 * factor):.1f}" for rate, p99 in figure.line)
    parts.append(f'<polyline class="curve faint {style}" points="{at}"/>')
    for rate, p99_s, holds, told in figure.points:
        # Hollow: it breaks the bound.
        kind = "interval" if holds else "range"
        title = f"{told}, {'holds' if holds else 'breaks'}"
        parts.append(
            f'<g class="mark {kind} {style}"><title>{svg.text(title)}</title>'
            f'<circle class="dot" cx="{across.px(rate):.1f}" cy="{up.px(p99_s * factor):.1f}"'
            ' r="3"/></g>'
        )
    title = f"p99 latency against the rate: {figure.workload}, {figure.caption}"
    return svg.element(_SIZE, title, figure.sentence, "".join(parts))


def _bound(
    figure: CapacityFigure, across: svg_axes.Scale, up: svg_axes.Scale, factor: float
) -> Iterable[str]:
    y = up.px(figure.bound_s * factor)
    yield f'<path class="landmark" d="M{across.start_px:.1f} {y:.1f}H{across.end_px:.1f}"/>'
    # In the corner and not on the line, where the slices are.
    right = across.end_px
    yield f'<path class="landmark" d="M{right - 24:.1f} 7H{right:.1f}"/>'
    yield (
        f'<text class="landmark" x="{right - 30:.1f}" y="10" text-anchor="end">'
        f"{svg.text(figure.bound_label)}</text>"
    )


def _interval(
    figure: CapacityFigure, across: svg_axes.Scale, up: svg_axes.Scale, style: str
) -> Iterable[str]:
    """Shade what lies between a rate that surely holds and one that surely breaks."""
    if figure.low_per_s is None or figure.high_per_s is None:
        return
    low, high = (
        min(max(across.px(rate), across.start_px), across.end_px)
        for rate in (figure.low_per_s, figure.high_per_s)
    )
    height = up.start_px - up.end_px
    yield (
        f'<rect class="span {style}" x="{low:.1f}" y="{up.end_px:.1f}" width="{high - low:.1f}"'
        f' height="{height:.1f}"><title>95% interval</title></rect>'
    )
