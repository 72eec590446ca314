from __future__ import annotations

import math
from random import Random
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

import pytest

from groundspeed.analyse.course import course
from groundspeed.record import Evidence, SecondRow
from groundspeed.record.evidence import EventKind, ProbeLevel, ServerEvent
from tests.made_seconds import seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.diagnosis import Course, Stall


def rows(counts: Sequence[float]) -> tuple[SecondRow, ...]:
    return tuple(
        SecondRow(
            index=index,
            count=round(count),
            failed=0,
            skipped=0,
            mean_us=None,
            p50_us=None,
            p95_us=None,
            p99_us=None,
            max_us=None,
        )
        for index, count in enumerate(counts)
    )


def evidence(*events: ServerEvent) -> Evidence:
    return Evidence(level=ProbeLevel.FULL, started_at_s=0.0, elapsed_s=60.0, events=events)


def of(shape: Sequence[float], **options: float) -> Course:
    return course("t", rows(seconds(Random(1), shape, 0.3, cv_ratio=0.02)), **options)


def test_a_steady_trial() -> None:
    values = seconds(Random(1), [1.0] * 60, 0.3)
    found = course("trial-1", rows(values))

    assert found.trial_id == "trial-1"
    assert found.steady_from_s == 0
    assert found.cv_ratio == pytest.approx(stdev(values) / fmean(values), rel=1e-3)
    worst = min(fmean(values[at : at + 10]) for at in range(51))
    assert found.worst_ratio == pytest.approx(worst / median(values), rel=1e-3)
    assert found.trend_low is not None
    assert found.trend_high is not None
    assert found.trend_low < 0 < found.trend_high
    assert (found.stalls, found.step) == ((), None)


@pytest.mark.parametrize("length", [0, 1, 2, 5, 9, 10, 19, 20, 29, 30])
def test_a_short_trial_says_what_it_cannot_tell(length: int) -> None:
    found = of([1.0] * length)

    assert math.isnan(found.cv_ratio) == (length < 10)
    assert math.isnan(found.worst_ratio) == (length < 20)
    assert (found.steady_from_s is None) == (length < 30)
    assert found.is_too_short == (length < 30)
    assert (found.trend_per_minute_ratio is None) == (length < 10)


@pytest.mark.parametrize("length", [1, 25, 60])
def test_a_trial_that_stands_still_all_the_time(length: int) -> None:
    found = course("t", rows([0.0] * length), evidence())

    assert math.isnan(found.cv_ratio)
    assert math.isnan(found.worst_ratio)
    assert found.trend_per_minute_ratio is None
    assert found.stalls == ()


def test_a_warm_up_ends_and_is_no_part_of_the_trend() -> None:
    found = of([0.3] * 15 + [1.0] * 60)

    assert found.steady_from_s == 15
    assert found.trend_per_minute_ratio == pytest.approx(0, abs=0.03)


def test_what_drifts_to_the_end_is_never_steady_and_says_how_fast() -> None:
    found = of([1 + at / 120 for at in range(120)])

    assert found.steady_from_s is None
    # Half a level a minute, at a median of 1.75 in the latter half.
    assert found.trend_per_minute_ratio == pytest.approx(0.5 / 1.75, rel=0.1)
    assert found.trend_low is not None
    assert found.trend_low > 0


def test_after_a_step_the_lower_level_is_the_steady_one() -> None:
    found = of([3.0] * 60 + [1.0] * 40)

    assert found.step is not None
    assert found.steady_from_s == found.step.at_s == 60
    assert found.trend_per_minute_ratio == pytest.approx(0, abs=0.05)


def test_a_step_too_late_to_know_what_came_of_it() -> None:
    found = of([3.0] * 60 + [1.0] * 15)

    assert found.step is not None
    assert found.steady_from_s is None
    assert found.is_too_short


def test_a_sampled_log_counts_for_all_and_adds_no_variation() -> None:
    rng = Random(1)
    # 5% of exactly 10000 a second: the dice alone make a variation of 4.4%.
    counts = [rng.gauss(500, (500 * 0.95) ** 0.5) for _ in range(300)]

    assert course("t", rows(counts)).cv_ratio > 0.04
    assert course("t", rows(counts), log_sampling_ratio=0.05).cv_ratio < 0.02

    counts[30] = 25
    [stall] = course("t", rows(counts), log_sampling_ratio=0.05).stalls
    assert stall.lowest_per_s == pytest.approx(500)


def stall_of(*events: ServerEvent) -> Stall:
    found = course("t", rows([1000.0] * 20 + [50.0, 20.0] + [1000.0] * 38), evidence(*events))
    [stall] = found.stalls
    return stall


def test_a_stall_without_an_event() -> None:
    stall = stall_of()

    assert (stall.first_second_index, stall.second_count, stall.lowest_per_s) == (20, 2, 20)
    assert (stall.coincides, stall.detail) == (None, "")


@pytest.mark.parametrize(
    ("kind", "at_s", "elapsed_s", "coincides"),
    [
        (EventKind.CHECKPOINT, 20.5, 1.0, True),
        (EventKind.CHECKPOINT, 5.0, 14.5, True),
        (EventKind.CHECKPOINT, 5.0, 13.5, False),
        (EventKind.CHECKPOINT, 22.9, 3.0, True),
        (EventKind.CHECKPOINT, 23.1, 3.0, False),
        (EventKind.AUTOVACUUM, 5.0, None, True),
        (EventKind.WAL_SWITCH, 5.0, None, False),
        (EventKind.WAL_SWITCH, 19.2, None, True),
    ],
)
def test_a_stall_coincides_with_what_overlaps_it(
    kind: EventKind, at_s: float, elapsed_s: float | None, *, coincides: bool
) -> None:
    stall = stall_of(ServerEvent(kind=kind, at_s=at_s, elapsed_s=elapsed_s, detail="its detail"))

    assert stall.coincides is (kind if coincides else None)
    assert stall.detail == ("its detail" if coincides else "")


def test_a_checkpoint_is_named_before_all_others() -> None:
    stall = stall_of(
        ServerEvent(kind=EventKind.WAL_SWITCH, at_s=20.0),
        ServerEvent(kind=EventKind.AUTOVACUUM, at_s=19.0, elapsed_s=5.0, detail="history"),
        ServerEvent(kind=EventKind.CHECKPOINT, at_s=21.0, elapsed_s=9.0, detail="timed"),
    )

    assert (stall.coincides, stall.detail) == (EventKind.CHECKPOINT, "timed")
