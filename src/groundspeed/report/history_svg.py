"""One cell over its runs as SVG: medians with intervals, levels, and where they changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report import svg, svg_axes
from groundspeed.report.scaling import format_tps, interval_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.history import CellHistory, HistoryPoint

SIZE = svg.Size(width_px=350, height_px=230)
_TOP_PX = 34.0
_DAY = slice(5, 10)
_MOST_TICKS = 6


def draw(cell: CellHistory, title: str, style_index: int) -> str:
    """Draw a cell; runs stand at even steps, whatever lay between them."""
    count = len(cell.points)
    y = svg_axes.from_zero([_high(p) for p in cell.points], "transactions/s")
    x = _axis(cell)
    across, up = svg.plot_area(SIZE, x, y, top_px=_TOP_PX)
    style = svg.style_class(style_index)
    parts = [svg.frame(SIZE, across, up, x, y)]
    parts += _levels(cell, across, up, style)
    parts += _changes(cell, across, up)
    parts += [_mark(p, across.px(i), up, style) for i, p in enumerate(cell.points)]
    changes = f"{len(cell.changes)} changes of level" if cell.changes else "no change of level"
    return svg.element(SIZE, title, f"{count} runs, {changes}", "".join(parts))


def _high(point: HistoryPoint) -> float:
    tps = point.tps_per_s
    return tps.maximum if tps.high is None else tps.high


def _axis(cell: CellHistory) -> svg_axes.Axis:
    count = len(cell.points)
    step = max(1, -(-count // _MOST_TICKS))
    ticks = tuple(
        (float(i), point.started_at[_DAY] if i % step == 0 else "")
        for i, point in enumerate(cell.points)
    )
    return svg_axes.Axis(
        kind=svg_axes.ScaleKind.LINEAR, low=-0.5, high=count - 0.5, ticks=ticks, unit="run"
    )


def _levels(
    cell: CellHistory, across: svg_axes.Scale, up: svg_axes.Scale, style: str
) -> Iterator[str]:
    """Draw each level that a change of it shows; without one there is nothing to tell."""
    ends = [0, *(change.index for change in cell.changes), len(cell.points)]
    levels = [change.before_per_s for change in cell.changes]
    levels += [change.after_per_s for change in cell.changes[-1:]]
    for level, start, end in zip(levels, ends, ends[1:], strict=False):
        left, right, at = across.px(start - 0.4), across.px(end - 0.6), up.px(level)
        yield (
            f'<polyline class="curve bold {style}" points="{left:.1f},{at:.1f} {right:.1f},'
            f'{at:.1f}"/>'
        )


def _changes(cell: CellHistory, across: svg_axes.Scale, up: svg_axes.Scale) -> Iterator[str]:
    for change in cell.changes:
        at = across.px(change.index - 0.5)
        text = f"{change.ratio - 1:+.0%}"
        yield (
            f'<path class="landmark" d="M{at:.1f} {_TOP_PX - 8:g}V{up.start_px:g}"/>'
            f'<text class="landmark" x="{at:.1f}" y="{_TOP_PX - 11:g}" text-anchor="middle">'
            f"{svg.text(text)}</text>"
        )


def _mark(point: HistoryPoint, x: float, up: svg_axes.Scale, style: str) -> str:
    tps = point.tps_per_s
    known = tps.low is not None and tps.high is not None
    low, high = (tps.low, tps.high) if known else (tps.minimum, tps.maximum)
    title = f"{point.started_at[:16]} {point.run_id}: {interval_text(tps, format_tps)}"
    whisker = ""
    if low is not None and high is not None and low < high:
        whisker = f'<path class="whisker" d="M{x:.1f} {up.px(low):.1f}V{up.px(high):.1f}"/>'
    kind = "interval" if known else "range"
    return (
        f'<g class="mark {kind} {style}"><title>{svg.text(title)}</title>{whisker}'
        f'<circle class="dot" cx="{x:.1f}" cy="{up.px(tps.median):.1f}" r="3"/></g>'
    )
