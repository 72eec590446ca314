"""Diagnoses, clues and courses in words: what a number is, scaled and with its unit.

It judges nothing: which bottleneck it is, and what would change it, was said in `analyse`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse import NOTHING, digits
from groundspeed.analyse.diagnosis import Bottleneck, Confidence
from groundspeed.record.evidence import EventKind, LogSync
from groundspeed.report.scaling import format_bytes, format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.diagnosis import Clue, Course, Diagnosis, Stall, Step
    from groundspeed.record import Evidence

_DOUBTS = {Confidence.SURE: "", Confidence.LIKELY: "likely ", Confidence.WEAK: "perhaps "}
_WHOLE_PERCENT_FROM = 0.1
_NEARLY_ALL = 0.995
_WHOLE_SECONDS_FROM = 1000
_LEAST_PERCENT = 0.01
_DELAYS_SHOWN = 3
EVENTS = {
    EventKind.CHECKPOINT: "checkpoint",
    EventKind.AUTOVACUUM: "autovacuum",
    EventKind.WAL_SWITCH: "WAL switch",
    EventKind.SNAPSHOT: "snapshot",
    EventKind.LOG_REWRITE: "log rewrite",
    EventKind.DELAYED_SYNC: "delayed sync",
}
_LOGS = {
    LogSync.NO_LOG: "no log",
    LogSync.EACH_WRITE: "log synced before each answer",
    LogSync.EACH_SECOND: "log synced each second",
    LogSync.SYSTEM: "log written back by the system",
}
_ARTICLES = {
    EventKind.CHECKPOINT: "a checkpoint",
    EventKind.AUTOVACUUM: "an autovacuum",
    EventKind.WAL_SWITCH: "a WAL switch",
    EventKind.SNAPSHOT: "a snapshot",
    EventKind.LOG_REWRITE: "a rewrite of the log",
    EventKind.DELAYED_SYNC: "a delayed sync",
}


def diagnosis_name(diagnosis: Diagnosis) -> str:
    """Name a bottleneck and how sure it is: "WAL-sync-bound", "likely lock-bound", "unknown"."""
    unknown = diagnosis.bottleneck is Bottleneck.UNKNOWN
    doubt = "" if unknown else _DOUBTS[diagnosis.confidence]
    return f"{doubt}{diagnosis.bottleneck.value}"


def format_share(ratio: float) -> str:
    """Write a share as people say it: 83%, 4.2%, 0.08%, 99.7%."""
    if not math.isfinite(ratio):
        return NOTHING
    whole = _WHOLE_PERCENT_FROM <= abs(ratio) < _NEARLY_ALL or abs(ratio) > 1
    return f"{ratio:,.0%}" if whole or ratio in {0, 1} else f"{_short(ratio * 100)}%"


def _short(percent: float) -> str:
    # Two digits are what a share of a few per cent is worth; near 100 it takes the tenth.
    if abs(percent) >= 1:
        return f"{percent:.1f}"
    return f"{percent:.2g}" if abs(percent) >= _LEAST_PERCENT else f"<{_LEAST_PERCENT}"


def format_value(value: float, unit: str) -> str:
    """Write a value by the suffix of its base unit."""
    if unit in _SCALES:
        return _SCALES[unit](value)
    return f"{digits(value)} {unit.replace('_', ' ')}".rstrip()


def _count(value: float) -> str:
    whole = math.isfinite(value) and value == round(value)
    return f"{value:,.0f}" if whole else digits(value)


_SCALES: dict[str, Callable[[float], str]] = {
    "ratio": format_share,
    "s": format_seconds,
    "bytes": format_bytes,
    "bytes_per_s": lambda value: f"{format_bytes(value)}/s",
    "per_s": lambda value: f"{digits(value)}/s",
    "count": _count,
}


def clue_text(clue: Clue) -> str:
    """Word a figure with its source: "83% of database time waits ... (pg_stat_activity)"."""
    return _with_source(f"{_clue_value(clue, clue.value)} {clue.name}", clue.source)


def clues_text(clues: Sequence[Clue]) -> str:
    """Word the same figure of several cells, from the smallest to the largest.

    The source is left out where they have different ones.
    """
    values = sorted(clue.value for clue in clues)
    low, high = (_clue_value(clues[0], value) for value in (values[0], values[-1]))
    span = low if low == high else f"{low} to {high}"
    sources = {clue.source for clue in clues}
    source = sources.pop() if len(sources) == 1 else ""
    return _with_source(f"{span} {clues[0].name}", source)


def _clue_value(clue: Clue, value: float) -> str:
    # "310 syncs a second" says its unit itself.
    said = clue.unit == "per_s" and "a second" in clue.name
    return digits(value) if said else format_value(value, clue.unit)


def _with_source(text: str, source: str) -> str:
    return f"{text} ({source})" if source else text


def course_text(course: Course) -> str:
    """Word how a trial went over its time, in one line without its stalls."""
    parts = [steady_text(course)]
    if math.isfinite(course.cv_ratio):
        parts.append(f"seconds scatter by {format_share(course.cv_ratio)} (CV)")
    if math.isfinite(course.worst_ratio):
        parts.append(f"worst 10 s at {format_share(course.worst_ratio)} of the median")
    if course.trend_per_minute_ratio is not None:
        parts.append(_trend(course, course.trend_per_minute_ratio))
    return "; ".join(parts)


def moment(at_s: float) -> str:
    """Write a time within a trial, in seconds as on its axis: 14 s, 81.2 s, 1,230 s."""
    return f"{at_s:,.0f} s" if at_s >= _WHOLE_SECONDS_FROM else f"{at_s:.3g} s"


def steady_text(course: Course) -> str:
    """Say where the steady state begins."""
    if course.is_too_short:
        return "too short to be called steady"
    if course.steady_from_s is None:
        return "never steady"
    if course.steady_from_s <= 0:
        return "steady from the start"
    return f"steady from {moment(course.steady_from_s)}"


def _trend(course: Course, trend: float) -> str:
    span = ""
    if course.trend_low is not None and course.trend_high is not None:
        span = f" [{course.trend_low:+.1%}, {course.trend_high:+.1%}]"
    return f"trend {trend:+.1%} a minute{span}"


def stall_text(stall: Stall) -> str:
    """Word one stall and what coincides with it."""
    first, last = stall.first_second_index, stall.first_second_index + stall.second_count
    with_it = f" with {_ARTICLES[stall.coincides]}" if stall.coincides else " with no event seen"
    detail = f" ({stall.detail})" if stall.detail else ""
    return f"{first} to {last} s, down to {digits(stall.lowest_per_s)}/s,{with_it}{detail}"


def kept_text(evidence: Evidence) -> str:
    """Word how a server that keeps its data in memory brought them onto a device."""
    kept = evidence.persistence
    if kept is None:
        return ""
    parts: list[str] = []
    if kept.log_sync is not None:
        parts.append(_LOGS[kept.log_sync])
    if kept.log_bytes and evidence.elapsed_s:
        parts.append(f"{format_bytes(kept.log_bytes / evidence.elapsed_s)}/s appended")
    if kept.delayed_sync_count:
        parts.append(f"{kept.delayed_sync_count:,} syncs too slow to wait for")
    for name, running_s in (("snapshots", kept.snapshot_s), ("rewrites", kept.rewrite_s)):
        if running_s:
            parts.append(f"{format_seconds(running_s)} of {name}")
    if kept.fork_count:
        longest = kept.longest_fork_s
        told = "" if longest is None else f", the longest {format_seconds(longest)}"
        parts.append(f"{kept.fork_count:,} fork{'' if kept.fork_count == 1 else 's'}{told}")
    return ", ".join(parts) or "nothing was kept"


def slow_text(evidence: Evidence) -> str:
    """Word what the server itself found slow, the longest first; its own words for it."""
    serving = evidence.serving
    if serving is None:
        return ""
    ranked = sorted(serving.delays, key=lambda delay: -delay.longest_s)[:_DELAYS_SHOWN]
    parts = [f"{d.name} {format_seconds(d.longest_s)} in {d.count:,} s" for d in ranked]
    if serving.slow_count:
        slowest = serving.slowest_s
        told = "" if slowest is None else f", the longest {format_seconds(slowest)}"
        parts.append(f"{serving.slow_count:,} slow requests{told}")
    return ", ".join(parts)


def step_text(step: Step) -> str:
    """Word a step down without recovery."""
    cause = f": {step.cause}" if step.cause else ""
    return (
        f"{digits(step.before_per_s)}/s until {moment(step.at_s)}, "
        f"then {digits(step.after_per_s)}/s{cause}"
    )
