"""Panels of a server with one thread for all clients: where it was, its log, its memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.report.evidence_shapes import TimelinePanel, Track, TrackKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.record import Series

# Column of a series, its name in the picture, the class it is drawn with.
_THREAD = (
    ("main_cpu_ratio", "at work or ready", "w-cpu"),
    ("main_log_ratio", "log", "w-lwlock"),
    ("main_device_ratio", "emulated device", "w-io"),
    ("main_other_ratio", "other", "w-other"),
)
_LOG = (("log_bytes_per_s", "appended to the log", "t0"),)
_SYNCS = (
    ("pending_syncs_count", "under way", "t0"),
    ("delayed_syncs_count", "given up waiting for", "t1"),
)
_MEMORY = (("memory_used_bytes", "in use", "t0"),)


def serving_panels(series: Series) -> Iterator[TimelinePanel]:
    """Give the panels of what was seen; of another server there are none."""
    thread = _tracks(series, _THREAD)
    if thread:
        yield TimelinePanel(
            title="Thread of all clients",
            unit="share of its time",
            kind=TrackKind.STACK,
            tracks=thread,
        )
    for title, unit, columns in (
        ("Log", "bytes/s", _LOG),
        ("Syncs behind the answers", "syncs", _SYNCS),
        ("Memory", "bytes", _MEMORY),
    ):
        tracks = _tracks(series, columns)
        if any(value for track in tracks for value in track.values):
            yield TimelinePanel(title=title, unit=unit, kind=TrackKind.LINES, tracks=tracks)


def _tracks(series: Series, columns: tuple[tuple[str, str, str], ...]) -> tuple[Track, ...]:
    made = (
        Track(label=label, style=style, values=series.column(name))
        for name, label, style in columns
    )
    return tuple(t for t in made if any(value is not None for value in t.values))
