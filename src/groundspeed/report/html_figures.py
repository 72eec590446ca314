"""The figures of a view as SVG: which axis, which unit, which mark; the drawing is `svg`'s.

It shows every value it is given or says on the page how it was thinned; it leaves none out.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.plan import TRANSACTIONS
from groundspeed.report import svg, svg_axes
from groundspeed.report.scaling import format_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from groundspeed.analyse import Comparison
    from groundspeed.plan import Words
    from groundspeed.report.view import Figure, Panel, Point, SecondsPanel, SecondsSeries

# Beyond one decade a linear axis presses all but the slowest environment onto the floor.
_LOG_SPREAD_RATIO = 10.0
# A line across 300 px shows no more than this; the page's share is what keeps it below 2 MB.
CURVE_POINT_COUNT = 240
PAGE_POINT_COUNT = 60_000
_TIME_UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))


class Style(msgspec.Struct, frozen=True, kw_only=True):
    """How an environment is drawn and named; `label` says so where its storage is emulated."""

    index: int
    label: str


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """One SVG, its caption and the workload it belongs to."""

    workload: str
    caption: str
    svg: str


class SecondsDrawings(msgspec.Struct, frozen=True, kw_only=True):
    """The per-second panels; `most_seconds_per_bucket` is 1 where nothing was thinned."""

    drawings: tuple[Drawing, ...]
    most_seconds_per_bucket: int


def draw_figure(figure: Figure, styles: Mapping[str, Style]) -> tuple[Drawing, ...]:
    """Draw a metric against clients, a panel each; panels of a workload share their y axis."""
    return tuple(
        Drawing(
            workload=panel.workload,
            caption=panel.title,
            svg=_draw_panel(figure, panel, _neighbours(figure, panel), styles),
        )
        for panel in figure.panels
        if any(line.points for line in panel.lines)
    )


def draw_seconds(
    panels: Sequence[SecondsPanel], styles: Mapping[str, Style], words: Words = TRANSACTIONS
) -> SecondsDrawings:
    """Draw throughput over time: faint for each repeat, strong for the median of the repeats."""
    line_count = sum(len(panel.series) + len(styles) for panel in panels)
    most = max(8, min(CURVE_POINT_COUNT, PAGE_POINT_COUNT // max(line_count, 1)))
    lengths = [len(s.second) for panel in panels for s in panel.series]
    return SecondsDrawings(
        drawings=tuple(
            Drawing(
                workload=panel.workload,
                caption=panel.title,
                svg=_draw_seconds_panel(panel, styles, most, words),
            )
            for panel in panels
            if any(series.second for series in panel.series)
        ),
        most_seconds_per_bucket=bucket_length(max(lengths, default=0), most),
    )


def ratio_axis(comparisons: Iterable[Comparison]) -> svg_axes.Axis:
    """Lay one log axis around 1 and every ratio and interval."""
    # A table where nothing differs still needs an axis with a left and a right.
    values = [0.95, 1.05]
    for c in comparisons:
        known = [v for v in (c.tps_ratio, c.tps_low, c.tps_high) if v is not None]
        values += [v for v in known if _drawable(v)]
    return svg_axes.logarithmic(values, "ratio")


def draw_ratio(comparison: Comparison, label: str, axis: svg_axes.Axis) -> str:
    """Draw one comparison on the shared axis; empty where the ratio is not a number above zero."""
    c = comparison
    if not _drawable(c.tps_ratio):
        return ""
    low, high, whisker, span = c.tps_ratio, c.tps_ratio, svg.Whisker.RANGE, "no interval"
    if c.tps_low is not None and c.tps_high is not None:
        low, high, whisker = (
            max(c.tps_low, axis.low),
            min(c.tps_high, axis.high),
            svg.Whisker.INTERVAL,
        )
        span = f"95% interval {format_ratio(c.tps_low)} to {format_ratio(c.tps_high)}"
    return svg.strip(
        svg.Ratio(value=c.tps_ratio, low=low, high=high, whisker=whisker),
        axis=axis,
        style=c.answer.name.lower(),
        title=f"{label} against {c.baseline}, {c.workload}, {_clients(c.clients)}",
        description=f"{format_ratio(c.tps_ratio)}, {span}: {c.answer.value}",
    )


def bucket_length(length: int, most: int) -> int:
    """Return how many points share a bucket so that `most` are drawn, two to a bucket."""
    return 1 if length <= most else math.ceil(2 * length / most)


def thin(points: Sequence[tuple[float, float]], most: int) -> tuple[tuple[float, float], ...]:
    """Keep the lowest and the highest point of every bucket, in their order.

    Not a mean of neighbours, which is usual: it would hide the one second in which a checkpoint
    stopped every client, and that second is what these lines are looked at for.
    """
    every = bucket_length(len(points), most)
    if every == 1:
        return tuple(points)
    kept: list[tuple[float, float]] = []
    for start in range(0, len(points), every):
        bucket = points[start : start + every]
        ends = {min(bucket, key=lambda p: p[1]), max(bucket, key=lambda p: p[1])}
        kept += sorted(ends)
    return tuple(kept)


def _clients(count: int) -> str:
    return "1 client" if count == 1 else f"{count:,} clients"


def _drawable(value: float) -> bool:
    return math.isfinite(value) and value > 0


def _neighbours(figure: Figure, panel: Panel) -> tuple[Point, ...]:
    """Return all points of the workload: panels side by side are read against each other."""
    return tuple(
        point
        for other in figure.panels
        if other.workload == panel.workload
        for line in other.lines
        for point in line.points
    )


def _ends(point: Point) -> tuple[float, float, svg.Whisker]:
    if point.low is not None and point.high is not None:
        return point.low, point.high, svg.Whisker.INTERVAL
    return point.minimum, point.maximum, svg.Whisker.RANGE


def _value_axis(figure: Figure, points: Sequence[Point]) -> tuple[svg_axes.Axis, float]:
    """Choose the y axis, and the factor from base units to its unit."""
    values = [v for p in points for v in (*_ends(p)[:2], p.median) if math.isfinite(v)]
    if figure.metric.unit != "s":
        return svg_axes.from_zero(values, figure.metric.unit), 1.0
    return latency_axis(values)


def latency_axis(values: Sequence[float], *, count: int = 5) -> tuple[svg_axes.Axis, float]:
    """Choose the axis of times in seconds, and the factor to its unit."""
    most = max(values, default=0.0)
    unit, factor = next(((u, f) for u, f in _TIME_UNITS if most * f >= 1), _TIME_UNITS[-1])
    scaled = [v * factor for v in values]
    least = min(scaled, default=0.0)
    if least > 0 and max(scaled) / least > _LOG_SPREAD_RATIO:
        return svg_axes.logarithmic(scaled, f"{unit} (log scale)", count=count + 1), factor
    return svg_axes.from_zero(scaled, unit, count=count), factor


def _draw_panel(
    figure: Figure, panel: Panel, neighbours: Sequence[Point], styles: Mapping[str, Style]
) -> str:
    y, factor = _value_axis(figure, neighbours)
    x = svg_axes.counts((p.clients for p in neighbours), "clients", width_px=260)
    names = ", ".join(styles[line.environment].label for line in panel.lines)
    return svg.interval_chart(
        tuple(
            svg.Trace(
                style_index=styles[line.environment].index,
                marks=tuple(
                    _mark(point, factor, styles[line.environment].label)
                    for point in line.points
                    if math.isfinite(point.median)
                ),
            )
            for line in panel.lines
        ),
        x=x,
        y=y,
        title=f"{figure.metric.label} against clients: {panel.title}",
        description=f"One line each for {names}. The numbers are in the table of results.",
    )


def _mark(point: Point, factor: float, label: str) -> svg.Mark:
    low, high, whisker = _ends(point)
    return svg.Mark(
        x=point.clients,
        y=point.median * factor,
        low=low * factor,
        high=high * factor,
        whisker=whisker,
        title=f"{label}, {_clients(point.clients)}: {point.text}",
    )


def _draw_seconds_panel(
    panel: SecondsPanel, styles: Mapping[str, Style], most: int, words: Words
) -> str:
    curves: list[svg.Curve] = []
    for name, style in styles.items():
        own = [s for s in panel.series if s.environment == name and s.second]
        if not own:
            continue
        lines = [tuple(zip(s.second, s.tps_per_s, strict=True)) for s in own]
        faint = len(lines) > 1
        curves += [_curve(style, line, most, faint=faint) for line in lines]
        if faint:
            curves.append(_curve(style, _middle(own), most, faint=False))
    names = ", ".join(
        style.label
        for name, style in styles.items()
        if any(s.environment == name for s in panel.series)
    )
    seconds = max(s.second[-1] for s in panel.series if s.second)
    most_tps = max(v for s in panel.series for v in s.tps_per_s)
    return svg.seconds_chart(
        curves,
        x=svg_axes.from_zero([max(seconds, 1)], "seconds since the start of a trial"),
        y=svg_axes.from_zero([most_tps], words.per_s, count=4),
        title=f"{words.rate} by second: {panel.title}",
        description=f"Lines for {names}.",
    )


def _curve(
    style: Style, points: Sequence[tuple[float, float]], most: int, *, faint: bool
) -> svg.Curve:
    return svg.Curve(style_index=style.index, faint=faint, points=thin(points, most))


def _middle(repeats: Sequence[SecondsSeries]) -> tuple[tuple[float, float], ...]:
    """Return the median of the repeats, second by second: a guide to the eye, not a result."""
    values: dict[int, list[float]] = {}
    for repeat in repeats:
        for second, tps in zip(repeat.second, repeat.tps_per_s, strict=True):
            values.setdefault(second, []).append(tps)
    # Where only a few repeats lasted that long, their median would be a jump, not a trend.
    return tuple(
        (second, median(values[second]))
        for second in sorted(values)
        if 2 * len(values[second]) > len(repeats)
    )
