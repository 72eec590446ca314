"""Throughput over clients as SVG: measured points, the fitted law, where it bends and turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report import svg, svg_axes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.report.evidence_shapes import ScalingFigure

_SIZE = svg.Size(width_px=350, height_px=230)
_TOP_PX = 42.0


def draw(figure: ScalingFigure, neighbours: Sequence[ScalingFigure], style_index: int) -> str:
    """Draw one environment; panels of a workload share their axes and are read side by side."""
    x = svg_axes.counts(
        (clients for f in neighbours for clients, _, _ in f.points), "clients", width_px=260
    )
    heights = [tps for f in neighbours for _, tps, _ in f.points]
    heights += [tps for f in neighbours for _, tps in f.curve]
    y = svg_axes.from_zero(heights, figure.unit)
    across, up = svg.plot_area(_SIZE, x, y, top_px=_TOP_PX)
    style = svg.style_class(style_index)
    parts = [svg.frame(_SIZE, across, up, x, y)]
    parts += _marks(figure, across, up)
    if figure.curve:
        at = " ".join(f"{across.px(n):.1f},{up.px(tps):.1f}" for n, tps in figure.curve)
        parts.append(f'<polyline class="curve bold {style}" points="{at}"/>')
    for clients, tps, used in figure.points:
        # Hollow: measured, but left out of the fit.
        kind = "interval" if used or not figure.curve else "range"
        title = f"{clients:,} clients: {tps:,.4g}/s{'' if kind == 'interval' else ', not fitted'}"
        parts.append(
            f'<g class="mark {kind} {style}"><title>{svg.text(title)}</title>'
            f'<circle class="dot" cx="{across.px(clients):.1f}" cy="{up.px(tps):.1f}" r="4"/></g>'
        )
    title = f"Scaling of {figure.title}"
    return svg.element(_SIZE, title, figure.sentence, "".join(parts))


def _marks(figure: ScalingFigure, across: svg_axes.Scale, up: svg_axes.Scale) -> Iterable[str]:
    """Mark the knee and the peak; their words stand on two lines, for they may be close."""
    found = ((figure.knee_clients, "knee", 36.0), (figure.peak_clients, "peak", 23.0))
    for clients, name, from_top_px in found:
        if clients is None:
            continue
        x = across.px(clients)
        half_px = len(f"{name} {clients:,.0f}") * svg_axes.CHARACTER_PX / 2
        at = min(max(x, half_px), _SIZE.width_px - half_px)
        yield (
            f'<path class="landmark" d="M{x:.1f} {from_top_px + 3:g}V{up.start_px:g}"/>'
            f'<text class="landmark" x="{at:.1f}" y="{from_top_px:g}" text-anchor="middle">'
            f"{name} {clients:,.0f}</text>"
        )
