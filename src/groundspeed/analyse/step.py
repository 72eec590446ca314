"""A step down without recovery in one trial, and what is known of its cause."""

from __future__ import annotations

import math
from statistics import fmean, median
from typing import TYPE_CHECKING

from groundspeed.analyse.diagnosis import Step
from groundspeed.record.evidence import EventKind
from groundspeed.stats.cliff import LEAST_SIDE_COUNT, find_cliff

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.record import Series, StorageWork
    from groundspeed.record.evidence import ServerEvent

CREDITS_RAN_OUT = "credits of the emulated device ran out"
STEAL_ROSE = "the hypervisor took more processor time from there on: credits may have run out"
# Each pair of seconds is compared: longer trials are averaged in windows first.
_MOST_WINDOWS_COUNT = 600
# At the sustained rate a bucket is never quite empty when it is looked at.
_EMPTY_RATIO = 0.05
_LEAST_STEAL_RISE_RATIO = 0.05
_EXPLAINED_RATIO = 0.5
# While they run, the server itself writes all it has.
_WRITING = frozenset({EventKind.CHECKPOINT, EventKind.SNAPSHOT, EventKind.LOG_REWRITE})


def find_step(
    rates_per_s: Sequence[float],
    events: Sequence[ServerEvent],
    series: Series | None,
    work: StorageWork | None,
) -> Step | None:
    """Find the step in transactions a second, one for each second; None where there is none.

    It must be steeper than a slow decline, the last seconds must still be low, and a checkpoint (a
    snapshot, a rewrite of the log) that runs in more of the low seconds than of the high ones (by
    half of them) is what it is instead.
    """
    width = math.ceil(len(rates_per_s) / _MOST_WINDOWS_COUNT) or 1
    windows = [
        fmean(rates_per_s[at : at + width]) for at in range(0, len(rates_per_s) - width + 1, width)
    ]
    cliff = find_cliff(windows)
    if cliff is None or not _stays(windows, cliff.before_count):
        return None
    place = cliff.before_count * width
    if _writing_explains(len(rates_per_s), place, events):
        return None
    return Step(
        at_s=float(place),
        before_per_s=cliff.before,
        after_per_s=cliff.after,
        bucket_count=max(sum(rates_per_s[:place]) - place * cliff.after, 0.0),
        cause=_cause(place, series, work),
    )


def _stays(values: Sequence[float], place: int) -> bool:
    """Whether two levels say more than a straight line, and the lower one lasts to the end."""
    before, after = values[:place], values[place:]
    end = median(after[-max(LEAST_SIDE_COUNT, len(after) // 4) :])
    if end > (median(before) + median(after)) / 2:
        return False
    count, level = len(values), fmean(values)
    middle = (count - 1) / 2
    products = sum((at - middle) * (value - level) for at, value in enumerate(values))
    line = products * products / (count * (count * count - 1) / 12)
    levels = place * (fmean(before) - level) ** 2
    levels += len(after) * (fmean(after) - level) ** 2
    return levels > line


def _writing_explains(count: int, place: int, events: Sequence[ServerEvent]) -> bool:
    spans = [
        (event.at_s, math.inf if event.elapsed_s is None else event.at_s + event.elapsed_s)
        for event in events
        if event.kind in _WRITING
    ]
    running = [any(begin < at + 1 and end > at for begin, end in spans) for at in range(count)]
    return fmean(running[place:]) - fmean(running[:place]) >= _EXPLAINED_RATIO


def _cause(place: int, series: Series | None, work: StorageWork | None) -> str:
    if work is not None and _ran_out(place, work):
        return CREDITS_RAN_OUT
    steal = () if series is None else series.column("steal_ratio")
    before = [value for value in steal[:place] if value is not None]
    after = [value for value in steal[place:] if value is not None]
    if before and after and fmean(after) - fmean(before) >= _LEAST_STEAL_RISE_RATIO:
        return STEAL_ROSE
    return ""


def _ran_out(place: int, work: StorageWork) -> bool:
    """Whether a bucket is empty at the end, and its limit held more back after the step."""
    empty = any(c.capacity > 0 and c.left <= _EMPTY_RATIO * c.capacity for c in work.credits)
    before = [second.throttled_s for second in work.seconds if second.index < place]
    after = [second.throttled_s for second in work.seconds if second.index >= place]
    return empty and (not before or not after or fmean(after) > fmean(before))
