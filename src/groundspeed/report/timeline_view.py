"""Trials over their time: what was measured and what was seen, on one axis, second by second.

For each cell one trial stands for all: the one whose throughput is the median of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.plan import TRANSACTIONS
from groundspeed.record.evidence import EventKind
from groundspeed.report.evidence_shapes import (
    Lane,
    Span,
    Timeline,
    TimelineGroup,
    TimelinePanel,
    Track,
    TrackKind,
    TrialLine,
)
from groundspeed.report.evidence_words import (
    EVENTS,
    course_text,
    diagnosis_name,
    moment,
    stall_text,
    steady_text,
    step_text,
)
from groundspeed.report.facts import label_of
from groundspeed.report.figure_view import p99_of
from groundspeed.report.scaling import format_seconds, format_tps
from groundspeed.report.serving_panels import serving_panels
from groundspeed.report.why_view import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from groundspeed.analyse import Findings, SecondsLine
    from groundspeed.analyse.findings import TrialEvidence
    from groundspeed.plan import Words
    from groundspeed.record import Evidence, StorageSecond
    from groundspeed.record.evidence import ServerEvent

# Class of pg_stat_activity, its name in the picture; the order in which they are stacked.
WAIT_CLASSES = (
    ("cpu", "CPU"),
    ("io", "IO"),
    ("lwlock", "LWLock"),
    ("lock", "Lock"),
    ("ipc", "IPC"),
    ("client", "Client"),
    ("timeout", "Timeout"),
    ("bufferpin", "BufferPin"),
    ("extension", "Extension"),
    ("other", "other"),
)
_CPU_OWNERS = (
    ("server", "server"),
    ("load", "load tool"),
    ("own", "groundspeed"),
    ("other", "others"),
)
# No server has all of them: what stands for the same is drawn alike.
_LANE_STYLES = {
    EventKind.CHECKPOINT: "e-checkpoint",
    EventKind.AUTOVACUUM: "e-autovacuum",
    EventKind.WAL_SWITCH: "e-wal-switch",
    EventKind.SNAPSHOT: "e-checkpoint",
    EventKind.LOG_REWRITE: "e-autovacuum",
    EventKind.DELAYED_SYNC: "e-stall",
}
# The page stays a few MB with as many pictures as this; nobody looks at more.
MOST_TIMELINES = 80


def timeline_groups(findings: Findings) -> tuple[TimelineGroup, ...]:
    """Give the trials of each cell that was watched, in the order of the cells.

    Pictures are for one trial of each cell first and then for the others, `MOST_TIMELINES` in all.
    """
    cells: dict[tuple[str, str, int, int, int], list[TrialEvidence]] = {}
    for trial in findings.trials:
        cells.setdefault(place_of(trial), []).append(trial)
    order = {place_of(cell): index for index, cell in enumerate(findings.cells)}
    groups = [
        by_representative(cells[place])
        for place in sorted(cells, key=lambda place: order.get(place, len(order)))
    ]
    lines = {line.trial_id: line for line in findings.seconds}
    maker = _Maker(findings, lines, left=max(0, MOST_TIMELINES - len(groups)))
    return tuple(maker.group(group) for group in groups[:MOST_TIMELINES])


def by_representative(trials: Sequence[TrialEvidence]) -> list[TrialEvidence]:
    """Put the trial of the median throughput first (the lower one of two), the others by repeat."""
    known = sorted(trials, key=lambda t: (not math.isfinite(t.tps_per_s), t.tps_per_s))
    count = sum(math.isfinite(t.tps_per_s) for t in known)
    first = known[max(count - 1, 0) // 2]
    rest = sorted((t for t in trials if t is not first), key=lambda t: t.repeat_index)
    return [first, *rest]


class _Maker:
    """Makes pictures until there are enough of them."""

    def __init__(self, findings: Findings, lines: Mapping[str, SecondsLine], *, left: int) -> None:
        self._findings = findings
        self._lines = lines
        self._left = left
        self._threads_vary = len({t.threads for t in findings.trials}) > 1
        self._scale_varies = len({t.scale for t in findings.trials}) > 1

    def group(self, trials: Sequence[TrialEvidence]) -> TimelineGroup:
        first, *rest = trials
        drawn, self._left = rest[: self._left], max(0, self._left - len(rest))
        return TimelineGroup(
            workload=first.workload,
            first=self._timeline(first),
            others=tuple(self._timeline(trial) for trial in drawn),
            rest=tuple(trial_line(trial, self._findings) for trial in rest),
            undrawn_count=len(rest) - len(drawn),
        )

    def _timeline(self, trial: TrialEvidence) -> Timeline:
        label = label_of(trial.environment, self._findings.emulated)
        return timeline(
            trial,
            self._lines.get(trial.trial_id),
            label=label,
            cell=self._cell(trial),
            words=self._findings.words,
        )

    def _cell(self, trial: TrialEvidence) -> str:
        parts = [f"{trial.clients:,} client{'' if trial.clients == 1 else 's'}"]
        if self._threads_vary:
            parts.append(f"{trial.threads:,} thread{'' if trial.threads == 1 else 's'}")
        if self._scale_varies:
            parts.append(f"scale {trial.scale:,}")
        return ", ".join(parts)


def trial_line(trial: TrialEvidence, findings: Findings) -> TrialLine:
    """Word one trial in a line."""
    return TrialLine(
        environment=trial.environment,
        label=label_of(trial.environment, findings.emulated),
        workload=trial.workload,
        trial_id=trial.trial_id,
        cell=f"{trial.clients:,}",
        tps=format_tps(trial.tps_per_s),
        p99=format_seconds(trial.p99_s),
        name=diagnosis_name(trial.diagnosis),
        course=_course(trial),
    )


def _course(trial: TrialEvidence) -> str:
    course = trial.course
    stalls = len(course.stalls)
    parts = [steady_text(course)]
    if stalls:
        parts.append(f"{stalls:,} stall{'' if stalls == 1 else 's'}")
    if course.step is not None:
        parts.append("a step down")
    return ", ".join(parts)


def timeline(
    trial: TrialEvidence,
    line: SecondsLine | None,
    *,
    label: str,
    cell: str,
    words: Words = TRANSACTIONS,
) -> Timeline:
    """Lay one trial along its time; panels of what was not seen are left out."""
    panels = tuple(_panels(trial, line, words))
    longest = max((len(t.values) for p in panels for t in p.tracks), default=0)
    facts = [f"{label}, {cell}, repeat {trial.repeat_index + 1}"]
    if math.isfinite(trial.tps_per_s):
        facts.append(f"{format_tps(trial.tps_per_s)} {words.rate}")
    return Timeline(
        environment=trial.environment,
        label=label,
        workload=trial.workload,
        trial_id=trial.trial_id,
        caption=": ".join(facts),
        sentence=f"{diagnosis_name(trial.diagnosis)}; {course_text(trial.course)}",
        length_s=float(max(longest, math.ceil(trial.evidence.elapsed_s), 1)),
        lanes=tuple(_lanes(trial)),
        panels=panels,
        steady_from_s=trial.course.steady_from_s,
    )


def _panels(
    trial: TrialEvidence, line: SecondsLine | None, words: Words
) -> Iterator[TimelinePanel]:
    if line is not None and line.rows:
        yield from _load(line, words)
    waits = tuple(
        Track(label=label, style=f"w-{name}", values=values)
        for name, label in WAIT_CLASSES
        if any(values := trial.series.column(f"wait_{name}_count"))
    )
    if waits:
        yield _panel("Waits", "mean sessions, by class", waits, TrackKind.STACK)
    yield from serving_panels(trial.series)
    yield from _disk(trial)
    cpu = tuple(
        Track(label=label, style=f"u-{name}", values=values)
        for name, label in _CPU_OWNERS
        if any(values := trial.series.column(f"cpu_{name}_count"))
    )
    if cpu:
        yield _panel("CPU", _cores(trial.evidence), cpu, TrackKind.STACK)


def _panel(
    title: str, unit: str, tracks: Sequence[Track], kind: TrackKind = TrackKind.LINES
) -> TimelinePanel:
    return TimelinePanel(title=title, unit=unit, kind=kind, tracks=tuple(tracks))


def _load(line: SecondsLine, words: Words) -> Iterator[TimelinePanel]:
    length = line.rows[-1].index + 1
    tps: list[float | None] = [None] * length
    p99: list[float | None] = [None] * length
    for row in line.rows:
        tps[row.index] = row.count / line.log_sampling_ratio
        p99[row.index] = p99_of(row)
    yield _panel(words.rate, words.per_s, [Track(label=words.rate, style="t0", values=tuple(tps))])
    # What the server counted tells of no latency.
    if words is TRANSACTIONS or any(value is not None for value in p99):
        yield _panel("p99", "s", [Track(label="p99", style="t0", values=tuple(p99))])


def _cores(evidence: Evidence) -> str:
    return "cores" if evidence.host is None else f"cores, of {evidence.host.cpu.core_count}"


def _disk(trial: TrialEvidence) -> Iterator[TimelinePanel]:
    """Give the device that mattered: the emulated one where there is one, else the real disk."""
    if trial.storage_work is not None and trial.storage_work.seconds:
        reads, writes, depth = _emulated(trial.storage_work.seconds)
        of = "of the emulated device"
    else:
        reads, writes, depth = (
            trial.series.column(f"disk_{name}")
            for name in ("reads_per_s", "writes_per_s", "depth_count")
        )
        of = "of the disk"
    tracks = (
        Track(label="reads", style="t0", values=reads),
        Track(label="writes", style="t1", values=writes),
    )
    if known := [track for track in tracks if any(v is not None for v in track.values)]:
        yield _panel("IOPS", f"requests/s {of}", known)
    if any(v is not None for v in depth):
        track = Track(label="depth", style="t0", values=depth)
        yield _panel("Queue depth", f"requests in it, {of}", [track])


def _emulated(
    seconds: Sequence[StorageSecond],
) -> tuple[tuple[float | None, ...], tuple[float | None, ...], tuple[float | None, ...]]:
    rows = {second.index: second for second in seconds}
    length = max(rows) + 1
    each = [rows.get(index) for index in range(length)]
    return (
        tuple(None if row is None else float(row.read_request_count) for row in each),
        tuple(None if row is None else float(row.write_request_count) for row in each),
        tuple(None if row is None else row.depth_count for row in each),
    )


def _lanes(trial: TrialEvidence) -> Iterator[Lane]:
    for kind in EventKind:
        spans = tuple(_event(event) for event in trial.evidence.events if event.kind is kind)
        if spans:
            yield Lane(label=EVENTS[kind], style=_LANE_STYLES[kind], spans=spans)
    course = trial.course
    if course.stalls:
        stalls = tuple(
            Span(
                from_s=float(stall.first_second_index),
                to_s=float(stall.first_second_index + stall.second_count),
                text=stall_text(stall),
            )
            for stall in course.stalls
        )
        yield Lane(label="stall", style="e-stall", spans=stalls)
    if course.step is not None:
        text = step_text(course.step)
        span = Span(from_s=course.step.at_s, to_s=None, text=text)
        yield Lane(label="step down", style="e-step", spans=(span,), told=text)
    if course.is_too_short:
        return
    if course.steady_from_s is None:
        yield Lane(label="steady", style="e-steady", spans=(), told="never")
    else:
        span = Span(from_s=course.steady_from_s, to_s=math.inf, text=steady_text(course))
        yield Lane(label="steady", style="e-steady", spans=(span,))


def _event(event: ServerEvent) -> Span:
    end_s = None if event.elapsed_s is None else event.at_s + event.elapsed_s
    lasted = "" if event.elapsed_s is None else f", {format_seconds(event.elapsed_s)}"
    detail = f" ({event.detail})" if event.detail else ""
    text = f"{EVENTS[event.kind]} at {moment(event.at_s)}{lasted}{detail}"
    return Span(from_s=event.at_s, to_s=end_s, text=text)
