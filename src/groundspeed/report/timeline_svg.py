"""One trial over its time as SVG: lanes of events, then panels in one column that share the time.

It knows no colour: the style sheet has a class for each wait class, owner of CPU and event, so
that one class looks alike on the whole page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.report import svg, svg_axes
from groundspeed.report.evidence_shapes import TrackKind
from groundspeed.report.html_figures import bucket_length, latency_axis, thin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from groundspeed.report.evidence_shapes import Lane, Span, Timeline, TimelinePanel, Track
    from groundspeed.report.svg_axes import Axis, Scale

_WIDTH_PX = 1000
_LEFT_PX = 84.0
_RIGHT_PX = 14.0
_LANE_PX = 16.0
_TITLE_PX = 27.0
_PLOT_PX = 62.0
_BOTTOM_PX = 38.0
_KEY_PX = 16.0
# Narrower than this a span would not be seen.
_LEAST_SPAN_PX = 2.0
# Lines through all panels stay a help up to here; in their lane events are marked all the same.
_MOST_LINES = 40
_MOST_SPANS = 300
_TICK_COUNT = 3
_MOST_POINTS = 480
_LEAST_POINTS = 24
# Of all pictures of a page together, at about 11 bytes each.
_PAGE_POINT_COUNT = 240_000


def points_each(timelines: Iterable[Timeline]) -> int:
    """Return how many points a line may have, so that all pictures stay within a page's share."""
    count = sum(len(panel.tracks) for t in timelines for panel in t.panels)
    return max(_LEAST_POINTS, min(_MOST_POINTS, _PAGE_POINT_COUNT // max(count, 1)))


def draw(timeline: Timeline, most: int) -> str:
    """Draw one trial; lines have at most `most` points, of which stalls and peaks are kept."""
    top = 4.0 + len(timeline.lanes) * _LANE_PX
    floors = [top + (index + 1) * (_TITLE_PX + _PLOT_PX) for index in range(len(timeline.panels))]
    floor = floors[-1] if floors else top
    axes = [_value_axis(panel) for panel in timeline.panels]
    x = svg_axes.from_zero([timeline.length_s], "seconds since the load began", count=10)
    across = svg_axes.Scale(
        kind=x.kind, low=0, high=timeline.length_s, start_px=_LEFT_PX, end_px=_WIDTH_PX - _RIGHT_PX
    )
    parts = [
        _band(span, lane, across, top, floor)
        for lane in timeline.lanes
        for span in lane.spans
        if len(lane.spans) <= _MOST_LINES
    ]
    parts += [
        _panel(panel, axis, across, panel_floor, most)
        for panel, axis, panel_floor in zip(timeline.panels, axes, floors, strict=True)
    ]
    parts += _edges(timeline, across, top, floor)
    parts += [
        _title(panel, axis.unit, panel_floor)
        for panel, (axis, _), panel_floor in zip(timeline.panels, axes, floors, strict=True)
    ]
    parts += [_lane(lane, across, 4.0 + i * _LANE_PX) for i, lane in enumerate(timeline.lanes)]
    parts.append(_time_axis(x, across, floor, timeline.length_s))
    titles = ", ".join(panel.title for panel in timeline.panels)
    return (
        f'<svg role="img" viewBox="0 0 {_WIDTH_PX} {floor + _BOTTOM_PX:g}">'
        f"<title>{svg.text(timeline.caption)}</title>"
        f"<desc>{svg.text(f'{timeline.sentence}. By second: {titles}.')}</desc>"
        f"{''.join(parts)}</svg>"
    )


def _panel(
    panel: TimelinePanel, axis: tuple[Axis, float], across: Scale, floor: float, most: int
) -> str:
    y, factor = axis
    up = y.scale(floor, floor - _PLOT_PX)
    parts = [_frame(y, up, across, floor)]
    if panel.kind is TrackKind.STACK:
        parts += _stack(panel.tracks, across, up, most)
    else:
        parts += [_line(track, across, up, factor, most) for track in panel.tracks]
    parts.append(f'<path class="axis" d="M{across.start_px:g} {floor:g}H{across.end_px:g}"/>')
    return "".join(parts)


def _value_axis(panel: TimelinePanel) -> tuple[Axis, float]:
    if panel.kind is TrackKind.STACK:
        totals = [_known(values) for values in _rows(panel.tracks)]
        return svg_axes.from_zero(totals, panel.unit, count=_TICK_COUNT), 1.0
    values = [v for track in panel.tracks for v in track.values if v is not None]
    if panel.unit == "s":
        return latency_axis(values, count=_TICK_COUNT)
    return svg_axes.from_zero(values, panel.unit, count=_TICK_COUNT), 1.0


def _rows(tracks: Sequence[Track]) -> list[tuple[float | None, ...]]:
    """Turn tracks into seconds; a track that ends early is unknown from there."""
    length = max(len(track.values) for track in tracks)
    columns = [track.values + (None,) * (length - len(track.values)) for track in tracks]
    return list(zip(*columns, strict=True))


def _known(values: Iterable[float | None]) -> float:
    return sum(filter(None, values))


def _frame(y: Axis, up: Scale, across: Scale, floor: float) -> str:
    parts: list[str] = []
    for value, label in y.ticks:
        at = up.px(value)
        if at < floor:
            parts.append(
                f'<path class="grid" d="M{across.start_px:g} {at:.1f}H{across.end_px:g}"/>'
            )
        parts.append(
            f'<text class="tick" x="{across.start_px - 6:g}" y="{at + 3.8:.1f}" '
            f'text-anchor="end">{svg.text(label)}</text>'
        )
    return "".join(parts)


def _title(panel: TimelinePanel, unit: str, floor: float) -> str:
    """Write what a panel shows and, where it holds several series, their keys on the right."""
    at = floor - _PLOT_PX - 8
    name = f'<tspan class="name">{svg.text(panel.title)}</tspan>'
    parts = [f'<text x="{_LEFT_PX:g}" y="{at:g}">{name} {svg.text(unit)}</text>']
    if len(panel.tracks) == 1 and panel.kind is TrackKind.LINES:
        return parts[0]
    x = _WIDTH_PX - _RIGHT_PX
    for track in reversed(panel.tracks):
        x -= len(track.label) * svg_axes.CHARACTER_PX
        parts.append(f'<text x="{x:.1f}" y="{at:g}">{svg.text(track.label)}</text>')
        x -= _KEY_PX
        parts.append(_key(panel.kind, track.style, x, at))
        x -= _KEY_PX
    return "".join(parts)


def _key(kind: TrackKind, style: str, x: float, at: float) -> str:
    if kind is TrackKind.STACK:
        return f'<rect class="area {style}" x="{x:.1f}" y="{at - 9:g}" width="11" height="10"/>'
    return f'<path class="line {style}" d="M{x - 4:.1f} {at - 4:g}h16"/>'


def _line(track: Track, across: Scale, up: Scale, factor: float, most: int) -> str:
    """Draw a series; where a second is unknown the line has a gap."""
    parts: list[str] = []
    for piece in _pieces(track.values):
        points = [(i + 0.5, value * factor) for i, value in piece]
        share = max(2, round(most * len(points) / len(track.values)))
        at = " ".join(f"{across.px(s):.1f},{up.px(v):.1f}" for s, v in thin(points, share))
        # A point alone is a line of no length; round caps make it a dot.
        parts.append(f"M{at}h0" if len(points) == 1 else f"M{at}")
    return f'<path class="line {track.style}" d="{"".join(parts)}"/>' if parts else ""


def _pieces(values: Sequence[float | None]) -> Iterator[list[tuple[int, float]]]:
    piece: list[tuple[int, float]] = []
    for index, value in enumerate(values):
        if value is not None:
            piece.append((index, value))
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _stack(tracks: Sequence[Track], across: Scale, up: Scale, most: int) -> Iterator[str]:
    """Draw areas on top of each other: each down to the floor, the topmost first.

    So every edge is written once, and no hair of the ground shows between two areas.
    """
    rows = _rows(tracks)
    kept = _kept(rows, most)
    heights = [0.0] * len(kept)
    edges: list[str] = []
    for track_index, track in enumerate(tracks):
        heights = [
            height + (rows[i][track_index] or 0.0) for i, height in zip(kept, heights, strict=True)
        ]
        at = " ".join(
            f"{across.px(i + 0.5):.1f},{up.px(height):.1f}"
            for i, height in zip(kept, heights, strict=True)
        )
        first, last = across.px(kept[0] + 0.5), across.px(kept[-1] + 0.5)
        floor = f"{up.start_px:g}"
        edges.append(
            f'<path class="area {track.style}" d="M{first:.1f},{floor} {at} {last:.1f},{floor}z"/>'
        )
    yield from reversed(edges)


def _kept(rows: Sequence[Sequence[float | None]], most: int) -> list[int]:
    """Choose the seconds that are drawn: of each bucket the least and the most in total."""
    every = bucket_length(len(rows), most)
    if every == 1:
        return list(range(len(rows)))
    totals = [_known(row) for row in rows]
    kept: list[int] = []
    for start in range(0, len(rows), every):
        bucket = range(start, min(start + every, len(rows)))
        kept += sorted({min(bucket, key=totals.__getitem__), max(bucket, key=totals.__getitem__)})
    return kept


def _ends(span: Span, across: Scale) -> tuple[float, float]:
    """Place a span within the picture, wide enough to be seen."""
    low = min(max(span.from_s, 0.0), across.high)
    high = low if span.to_s is None else min(max(span.to_s, low), across.high)
    start = min(across.px(low), across.end_px - _LEAST_SPAN_PX)
    return start, max(across.px(high), start + _LEAST_SPAN_PX)


def _band(span: Span, lane: Lane, across: Scale, top: float, floor: float) -> str:
    """Draw a span through all panels, behind them; a moment has an edge and no band."""
    if span.to_s is None or math.isinf(span.to_s):
        return ""
    start, end = _ends(span, across)
    return (
        f'<rect class="band {lane.style}" x="{start:.1f}" y="{top:g}" '
        f'width="{end - start:.1f}" height="{floor - top:g}"/>'
    )


def _edges(timeline: Timeline, across: Scale, top: float, floor: float) -> Iterator[str]:
    """Draw where events begin, over the panels: areas would hide the bands behind them."""
    for lane in timeline.lanes:
        if len(lane.spans) > _MOST_LINES:
            continue
        at = [_ends(span, across)[0] for span in lane.spans if span.from_s > 0]
        if at:
            d = "".join(f"M{x:.1f} {top:g}V{floor:g}" for x in at)
            yield f'<path class="edge {lane.style}" d="{d}"/>'


def _lane(lane: Lane, across: Scale, top: float) -> str:
    middle = top + _LANE_PX / 2
    place = f'x="{across.start_px - 6:g}" y="{middle + 3.8:g}" text-anchor="end"'
    parts = [
        f"<text {place}>{svg.text(lane.label)}</text>",
        f'<path class="grid" d="M{across.start_px:g} {middle:g}H{across.end_px:g}"/>',
    ]
    end = across.start_px
    for span in lane.spans[:_MOST_SPANS]:
        start, end = _ends(span, across)
        parts.append(
            f'<rect class="event {lane.style}" x="{start:.1f}" y="{middle - 4:g}" '
            f'width="{end - start:.1f}" height="8"><title>{svg.text(span.text)}</title></rect>'
        )
    if lane.told:
        parts.append(_told(lane.told, across, end, middle))
    return "".join(parts)


def _told(words: str, across: Scale, end: float, middle: float) -> str:
    """Write beside the last span, on the side that has room."""
    fits = end + 6 + len(words) * svg_axes.CHARACTER_PX < across.end_px
    x, anchor = (end + 6, "start") if fits else (end - 8, "end")
    return (
        f'<text class="told" x="{x:.1f}" y="{middle + 3.8:g}" text-anchor="{anchor}">'
        f"{svg.text(words)}</text>"
    )


def _time_axis(x: Axis, across: Scale, floor: float, length_s: float) -> str:
    parts: list[str] = []
    for value, label in x.ticks:
        # The axis ends where the trial did, not at the next round number.
        if value > length_s:
            continue
        at = across.px(value)
        parts.append(
            f'<path class="axis" d="M{at:.1f} {floor:g}v4"/>'
            f'<text class="tick" x="{at:.1f}" y="{floor + 16:g}" text-anchor="middle">'
            f"{svg.text(label)}</text>"
        )
    middle = (across.start_px + across.end_px) / 2
    parts.append(
        f'<text x="{middle:g}" y="{floor + 32:g}" text-anchor="middle">{svg.text(x.unit)}</text>'
    )
    return "".join(parts)
