"""How one trial went over its time: steady state, stalls, consistency, step and trend."""

from __future__ import annotations

import math
from statistics import fmean, median, variance
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.diagnosis import Course, Stall
from groundspeed.analyse.step import find_step
from groundspeed.record.evidence import EventKind
from groundspeed.stats.stalls import low_runs, worst_mean
from groundspeed.stats.steady import LEAST_COUNT, steady_from
from groundspeed.stats.trend import trend_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.diagnosis import Step
    from groundspeed.record import Evidence, SecondRow, Series, StorageWork
    from groundspeed.record.evidence import ServerEvent
    from groundspeed.stats.trend import Trend

_LEAST_FOR_CV_COUNT = 10
_WORST_COUNT = 10
_LEAST_FOR_WORST_COUNT = 2 * _WORST_COUNT
_LEAST_FOR_TREND_COUNT = 10
_MINUTE_S = 60
# Events and seconds are told by clocks that are read at different times.
_TOLERANCE_S = 1.0
# The likeliest culprit first, where several coincide.
_CULPRITS = (
    EventKind.CHECKPOINT,
    EventKind.DELAYED_SYNC,
    EventKind.LOG_REWRITE,
    EventKind.SNAPSHOT,
    EventKind.AUTOVACUUM,
    EventKind.WAL_SWITCH,
)


def course(  # noqa: PLR0913 - each is one thing that was recorded of a trial
    trial_id: str,
    rows: Sequence[SecondRow],
    evidence: Evidence | None = None,
    series: Series | None = None,
    work: StorageWork | None = None,
    *,
    log_sampling_ratio: float = 1.0,
) -> Course:
    """Describe the course of one trial; None and NaN say what a short one cannot tell.

    `rows` are its seconds in order, without gaps; `log_sampling_ratio` in (0, 1] is the share of
    transactions their counts are of. Steady state takes 30 seconds, the worst ten seconds take 20,
    the coefficient of variation and the trend take 10. After a step steadiness is looked for on
    the lower level. The trend is that of the steady part; of a trial that never became steady, of
    its latter half; of one too short to tell, of all of it.
    """
    counts = [row.count for row in rows]
    rates = [count / log_sampling_ratio for count in counts]
    events = () if evidence is None else evidence.events
    step = find_step(rates, events, series, work)
    steady = _steady(rates, step)
    is_too_short = steady is None and len(rates) - _begin(step) < LEAST_COUNT
    begin = 0 if is_too_short else len(rates) // 2
    trend = _trend(rates[begin if steady is None else steady :])
    found = Course(
        trial_id=trial_id,
        steady_from_s=None if steady is None else float(steady),
        cv_ratio=_variation(counts, log_sampling_ratio),
        worst_ratio=_worst(rates),
        is_too_short=is_too_short,
        stalls=_stalls(rates, events),
        step=step,
    )
    return found if trend is None else _with_trend(found, trend)


def _begin(step: Step | None) -> int:
    return 0 if step is None else int(step.at_s)


def _steady(rates: Sequence[float], step: Step | None) -> int | None:
    begin = _begin(step)
    found = steady_from(rates[begin:])
    return None if found is None else begin + found


def _trend(rates: Sequence[float]) -> tuple[Trend, float] | None:
    """Give the trend and the median it is relative to."""
    if len(rates) < _LEAST_FOR_TREND_COUNT or median(rates) <= 0:
        return None
    return trend_within(rates, CONFIDENCE_RATIO), median(rates)


def _with_trend(found: Course, trend: tuple[Trend, float]) -> Course:
    slope, level = trend

    def relative(value: float | None) -> float | None:
        return None if value is None else value * _MINUTE_S / level

    return msgspec.structs.replace(
        found,
        trend_per_minute_ratio=relative(slope.slope),
        trend_low=relative(slope.low),
        trend_high=relative(slope.high),
    )


def _variation(counts: Sequence[int], log_sampling_ratio: float) -> float:
    """Give the coefficient of variation of what really went through, without that of sampling.

    Of N transactions a share r is logged, by dice: the count varies by r (1 - r) N of itself.
    """
    if len(counts) < _LEAST_FOR_CV_COUNT or not any(counts):
        return math.nan
    mean = fmean(counts)
    real = variance(counts) - (1 - log_sampling_ratio) * mean
    return math.sqrt(max(real, 0.0)) / mean


def _worst(rates: Sequence[float]) -> float:
    if len(rates) < _LEAST_FOR_WORST_COUNT or median(rates) <= 0:
        return math.nan
    return worst_mean(rates, _WORST_COUNT) / median(rates)


def _stalls(rates: Sequence[float], events: Sequence[ServerEvent]) -> tuple[Stall, ...]:
    found = []
    for run in low_runs(rates):
        event = _coincident(run.first, run.first + run.count, events)
        found.append(
            Stall(
                first_second_index=run.first,
                second_count=run.count,
                lowest_per_s=run.lowest,
                coincides=None if event is None else event.kind,
                detail="" if event is None else event.detail,
            )
        )
    return tuple(found)


def _coincident(begin_s: float, end_s: float, events: Sequence[ServerEvent]) -> ServerEvent | None:
    """Give the event that overlaps these seconds; of several of a kind the first."""
    near = [
        event
        for event in events
        if event.at_s <= end_s + _TOLERANCE_S and _ends_s(event) >= begin_s - _TOLERANCE_S
    ]
    return min(near, key=lambda e: (_CULPRITS.index(e.kind), e.at_s), default=None)


def _ends_s(event: ServerEvent) -> float:
    """Say when an event ended: what was not seen to end went on, except for what takes no time."""
    if event.elapsed_s is not None:
        return event.at_s + event.elapsed_s
    return event.at_s if event.kind is EventKind.WAL_SWITCH else math.inf
