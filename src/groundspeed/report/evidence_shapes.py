"""The shapes of evidence in a report: bottlenecks, guards, scaling, time lines. No logic.

Tables are text, pictures are numbers in base units, as in `shapes`.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from groundspeed.plan import TRANSACTIONS


class WhyRow(msgspec.Struct, frozen=True, kw_only=True):
    """What held cells of one environment and workload back, that agree in it.

    `cells` names them ("1 and 8 clients"); `name` is "WAL-sync-bound", "likely lock-bound" or
    "unknown". `agreement` is empty where all trials agree. `clues` and `remedy` are sentences.
    """

    environment: str
    label: str
    workload: str
    cells: str
    name: str
    agreement: str
    clues: tuple[str, ...]
    remedy: str
    others: str
    guards: tuple[int, ...]


class GuardNote(msgspec.Struct, frozen=True, kw_only=True):
    """Something that may fool a reader; `number` counts from 1 and is what cells point at."""

    number: int
    code: str
    text: str


class GuardMention(msgspec.Struct, frozen=True, kw_only=True):
    """A guard's finding beneath a verdict; `again`: it was told in full beneath another."""

    note: GuardNote
    again: bool


class GuardNotes(msgspec.Struct, frozen=True, kw_only=True):
    """Guards' findings by place; `by_verdict` has one entry for each verdict, maybe empty."""

    by_verdict: tuple[tuple[GuardMention, ...], ...]
    general: tuple[GuardNote, ...]


class TrackKind(Enum):
    """How the series of a panel are drawn: as lines, or on top of each other."""

    LINES = "lines"
    STACK = "stack"


class Track(msgspec.Struct, frozen=True, kw_only=True):
    """One series of a time line, a value a second; None where unknown. `style` is its class."""

    label: str
    style: str
    values: tuple[float | None, ...]


class TimelinePanel(msgspec.Struct, frozen=True, kw_only=True):
    """What shares one vertical axis. `unit` is a base unit or what is counted."""

    title: str
    unit: str
    kind: TrackKind
    tracks: tuple[Track, ...]


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """From when to when, in seconds of the trial; without an end a moment. `text` words it."""

    from_s: float
    to_s: float | None
    text: str


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """Events of one kind above the panels. `style` is their class; `told` is written beside."""

    label: str
    style: str
    spans: tuple[Span, ...]
    told: str = ""


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """One trial over its time: events, then panels that share the axis of time."""

    environment: str
    label: str
    workload: str
    trial_id: str
    caption: str
    sentence: str
    length_s: float
    lanes: tuple[Lane, ...]
    panels: tuple[TimelinePanel, ...]
    steady_from_s: float | None


class TrialLine(msgspec.Struct, frozen=True, kw_only=True):
    """One trial in a line of text."""

    environment: str
    label: str
    workload: str
    trial_id: str
    cell: str
    tps: str
    p99: str
    name: str
    course: str


class TimelineGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of one cell: the one that stands for them is first and has a picture.

    `shown` says which it is; `rest` are the others, `undrawn_count` of them without a picture.
    """

    workload: str
    first: Timeline
    others: tuple[Timeline, ...]
    rest: tuple[TrialLine, ...]
    undrawn_count: int


class ScalingFigure(msgspec.Struct, frozen=True, kw_only=True):
    """Throughput over clients of one environment and workload, and what it comes to.

    `points` are (clients, throughput in `unit`, whether the fit used it); `curve` the law between
    the smallest and the largest number of clients, empty without a fit. `knee_clients` and
    `peak_clients` are marked where they lie within the picture.
    """

    environment: str
    label: str
    workload: str
    title: str
    sentence: str
    points: tuple[tuple[int, float, bool], ...]
    curve: tuple[tuple[float, float], ...]
    knee_clients: float | None
    peak_clients: float | None
    unit: str = TRANSACTIONS.per_s
