from __future__ import annotations

import math

import pytest

from groundspeed.analyse.diagnosis import Bottleneck, Clue, Confidence, Course, Stall
from groundspeed.record.evidence import EventKind
from groundspeed.report.evidence_words import (
    clue_text,
    clues_text,
    course_text,
    diagnosis_name,
    format_share,
    format_value,
    moment,
    stall_text,
)
from tests.evident import make_course, make_diagnosis


@pytest.mark.parametrize(
    ("bottleneck", "confidence", "name"),
    [
        (Bottleneck.WAL_SYNC, Confidence.SURE, "WAL-sync-bound"),
        (Bottleneck.LOCK, Confidence.LIKELY, "likely lock-bound"),
        (Bottleneck.CPU, Confidence.WEAK, "perhaps CPU-bound"),
        (Bottleneck.UNKNOWN, Confidence.SURE, "unknown"),
        (Bottleneck.UNKNOWN, Confidence.WEAK, "unknown"),
    ],
)
def test_a_name_says_how_sure_it_is(
    bottleneck: Bottleneck, confidence: Confidence, name: str
) -> None:
    assert diagnosis_name(make_diagnosis(bottleneck, confidence)) == name


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0, "0%"),
        (0.00001, "<0.01%"),
        (0.0008, "0.08%"),
        (0.042, "4.2%"),
        (0.83, "83%"),
        (0.997, "99.7%"),
        (1.0, "100%"),
        (2.4, "240%"),
        (math.nan, "-"),
    ],
)
def test_shares_keep_the_digits_they_are_worth(ratio: float, text: str) -> None:
    assert format_share(ratio) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0029, "s", "2.90 ms"),
        (2**30, "bytes", "1.00 GiB"),
        (6.2e6, "bytes_per_s", "5.91 MiB/s"),
        (3000.0, "per_s", "3,000/s"),
        (16.0, "count", "16"),
        (2.345, "count", "2.35"),
        (math.nan, "count", "-"),
        (2.5, "sessions_at_work", "2.50 sessions at work"),
    ],
)
def test_values_are_scaled_by_the_suffix_of_their_unit(value: float, unit: str, text: str) -> None:
    assert format_value(value, unit) == text


def make_clue(value: float, *, source: str = "pg_stat_activity, 600 samples") -> Clue:
    return Clue(name="of database time waits", value=value, unit="ratio", source=source)


def test_a_clue_is_a_sentence_with_its_source() -> None:
    assert clue_text(make_clue(0.83)) == (
        "83% of database time waits (pg_stat_activity, 600 samples)"
    )
    assert clue_text(make_clue(0.83, source="")) == "83% of database time waits"


def test_a_name_that_says_a_second_is_not_given_it_again() -> None:
    clue = Clue(name="reads a second reach the device", value=3000.0, unit="per_s", source="")
    assert clue_text(clue) == "3,000 reads a second reach the device"


def test_the_clue_of_several_cells_is_a_span() -> None:
    assert clues_text([make_clue(0.91), make_clue(0.83)]).startswith("83% to 91% of database time")
    assert clues_text([make_clue(0.831), make_clue(0.829)]).startswith("83% of database time")
    assert "samples" not in clues_text([make_clue(0.9), make_clue(0.8, source="60 samples")])


def test_a_course_tells_what_is_known_of_it() -> None:
    assert course_text(make_course(5)) == "steady from 1 s; seconds scatter by 12% (CV)"
    assert course_text(make_course(20)).endswith("worst 10 s at 62% of the median")
    trend = Course(
        trial_id="t",
        steady_from_s=None,
        cv_ratio=math.nan,
        worst_ratio=math.nan,
        trend_per_minute_ratio=-0.012,
        trend_low=-0.02,
        trend_high=-0.004,
    )
    assert course_text(trend) == "never steady; trend -1.2% a minute [-2.0%, -0.4%]"


@pytest.mark.parametrize(("at_s", "text"), [(1.0, "1 s"), (81.24, "81.2 s"), (3600.0, "3,600 s")])
def test_a_moment_stays_in_seconds_as_on_the_axis(at_s: float, text: str) -> None:
    assert moment(at_s) == text


def test_a_stall_names_the_event_it_coincides_with_or_says_that_none_was_seen() -> None:
    stall = Stall(
        first_second_index=12, second_count=2, lowest_per_s=3.0, coincides=EventKind.AUTOVACUUM
    )
    assert stall_text(stall) == "12 to 14 s, down to 3.00/s, with an autovacuum"
    alone = Stall(first_second_index=0, second_count=1, lowest_per_s=0.0)
    assert stall_text(alone) == "0 to 1 s, down to 0/s, with no event seen"
