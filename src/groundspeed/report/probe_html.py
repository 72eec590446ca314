"""A probe as one HTML page that opens without a network, a script or another file."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import msgspec
from markupsafe import Markup

import groundspeed
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.probed import What
from groundspeed.report import svg, svg_axes
from groundspeed.report.page_templates import drawn, template
from groundspeed.report.probe_units import RATE, SECONDS, estimate
from groundspeed.report.probe_view import depth_rows, view
from groundspeed.stats.median import median_interval
from groundspeed.tools.fio import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.probe_profile import Outcome
    from groundspeed.analyse.probed import Burst, Probed
    from groundspeed.report.probe_units import Unit

_WIDTH_PX = 290
_LOG_SPREAD_RATIO = 10.0
_TIME_UNITS = (("s", 1.0), ("ms", 1e3), ("µs", 1e6))
_PERCENTILES = ("p50", "p95", "p99")


class Chart(msgspec.Struct, frozen=True, kw_only=True):
    """A drawing with its caption and the names of its traces, in the order of their styles."""

    caption: str
    names: tuple[str, ...]
    drawing: Markup


def render(probed: Probed, outcome: Outcome) -> str:
    """Lay out a probe as one self-contained HTML document."""
    return template("probe.html.j2").render(
        page=view(probed, outcome),
        seen=probed.circumstances,
        fio_version=probed.fio_version,
        block_count=probed.block_count,
        rates=_rates(probed),
        latencies=[_latency(probed, what) for what in (What.READ, What.WRITE)],
        bursts=[_burst(burst) for burst in probed.bursts if len(burst.rates_per_s) > 1],
        swatch=lambda index: drawn(svg.swatch(index)),
        style=svg.style_class,
        version=groundspeed.__version__,
    )


def _mark(depth: int, values: Sequence[float], factor: float, name: str, unit: Unit) -> svg.Mark:
    found = median_interval(values, CONFIDENCE_RATIO)
    low, high, whisker = min(values), max(values), svg.Whisker.RANGE
    if found.low is not None and found.high is not None:
        low, high, whisker = found.low, found.high, svg.Whisker.INTERVAL
    return svg.Mark(
        x=depth,
        y=found.median * factor,
        low=low * factor,
        high=high * factor,
        whisker=whisker,
        title=f"{name}, {depth} in flight: {estimate(values, unit)}",
    )


def _depths(probed: Probed) -> svg_axes.Axis:
    depths = [row.depth_count for row in depth_rows(probed, What.READ)]
    return svg_axes.counts(depths, "requests in flight", width_px=_WIDTH_PX)


def _rates(probed: Probed) -> Chart:
    traces = []
    for index, what in enumerate((What.READ, What.WRITE)):
        marks = tuple(
            _mark(row.depth_count, row.rates_per_s, 1.0, f"{what.value}s/s", RATE)
            for row in depth_rows(probed, what)
        )
        traces.append(svg.Trace(style_index=index, marks=marks))
    most = [mark.high for trace in traces for mark in trace.marks]
    drawing = svg.interval_chart(
        traces,
        x=_depths(probed),
        y=svg_axes.from_zero(most, "requests/s"),
        title="Random requests of 8 KiB a second against requests in flight",
        description="A line each for reads and writes. The numbers are in the table.",
    )
    return Chart(caption="Requests a second", names=("reads", "writes"), drawing=drawn(drawing))


def _latency(probed: Probed, what: What) -> Chart:
    rows = depth_rows(probed, what)
    # One axis for both panels: they are read against each other.
    every = [
        value
        for side in (What.READ, What.WRITE)
        for row in depth_rows(probed, side)
        for value in (*row.p50_s, *row.p99_s)
    ]
    unit, factor = next(((u, f) for u, f in _TIME_UNITS if max(every) * f >= 1), _TIME_UNITS[-1])
    scaled = [value * factor for value in every]
    if min(scaled) > 0 and max(scaled) / min(scaled) > _LOG_SPREAD_RATIO:
        y = svg_axes.logarithmic(scaled, f"{unit} (log scale)")
    else:
        y = svg_axes.from_zero(scaled, unit)
    drawing = svg.interval_chart(
        [
            svg.Trace(
                style_index=index,
                marks=tuple(
                    _mark(row.depth_count, values, factor, name, SECONDS)
                    for row, values in ((row, getattr(row, f"{name}_s")) for row in rows)
                ),
            )
            for index, name in enumerate(_PERCENTILES)
        ],
        x=_depths(probed),
        y=y,
        title=f"Latency of random {what.value}s of 8 KiB against requests in flight",
        description="A line each for p50, p95 and p99.",
    )
    return Chart(caption=f"Latency of {what.value}s", names=_PERCENTILES, drawing=drawn(drawing))


def _burst(burst: Burst) -> Chart:
    reads = burst.access is Access.RANDOM_READ
    unit = 1.0 if reads else burst.block_bytes / 1024**2
    # A point is the mean of its window, and stands at its end.
    points = tuple(
        ((place + 2) * burst.window_s, rate * unit) for place, rate in enumerate(burst.rates_per_s)
    )
    curves = [svg.Curve(style_index=0, faint=False, points=points)]
    levels: tuple[str, ...] = ()
    if burst.cliff is not None:
        end_s = (burst.cliff.before_count + 1) * burst.window_s
        for index, (level, span) in enumerate(
            (
                (burst.cliff.before, (points[0][0], end_s)),
                (burst.cliff.after, (end_s, points[-1][0])),
            ),
            start=1,
        ):
            line = tuple((x, level * unit) for x in span)
            curves.append(svg.Curve(style_index=index, faint=False, points=line))
        levels = ("level before", "level after")
    told = "reads/s" if reads else "MiB/s written"
    drawing = svg.seconds_chart(
        curves,
        x=svg_axes.from_zero([points[-1][0]], "seconds since the start"),
        y=svg_axes.from_zero([y for _, y in points], told, count=4),
        title="Rate over time of a long load",
        description=f"{len(points)} windows, median {median(y for _, y in points):,.0f} {told}.",
    )
    caption = "Random reads of 8 KiB" if reads else "Writes in order, 1 MiB"
    return Chart(caption=caption, names=("rate", *levels), drawing=drawn(drawing))
