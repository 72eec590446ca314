from __future__ import annotations

from typing import Any

import msgspec
import pytest

from groundspeed.errors import TargetError
from groundspeed.storage import counters
from tests.examples import make_storage_work

SECOND_NS = 10**9


def reading(**changes: object) -> counters.Counters:
    """What `storage_state read` printed, with some of it changed."""
    text = {
        "format": 1,
        "now_ns": 100 * SECOND_NS,
        "attached_count": 3,
        "attached_pids": [10, 11, 12],
        "files_count": 7,
        "files_forgotten_count": 0,
        "reads": {
            "calls_count": 0,
            "bytes": 0,
            "hit_pages_count": 0,
            "miss_pages_count": 0,
            "requests_count": 0,
            "request_bytes": 0,
            "waited_ns": 0,
        },
        "writes": {
            "calls_count": 0,
            "bytes": 0,
            "requests_count": 0,
            "request_bytes": 0,
            "waited_ns": 0,
        },
        "syncs": {"calls_count": 0, "waited_ns": 0},
        "readahead_pages_count": 0,
        "late_count": 0,
        "late_ns": 0,
        "throttled_ns": 0,
        "errors_count": 0,
        "full_count": 0,
        "refused_count": 0,
        "dirty_bytes": 0,
        "dirty_peak_bytes": 0,
        "credits": [],
        "seconds": [],
        **changes,
    }
    return counters.decode(msgspec.json.encode(text))


def test_what_was_done_before_does_not_count() -> None:
    before = reading(
        syncs={"calls_count": 5, "waited_ns": SECOND_NS}, late_ns=7 * SECOND_NS, throttled_ns=1
    )
    after = reading(
        now_ns=102 * SECOND_NS,
        syncs={"calls_count": 8, "waited_ns": 3 * SECOND_NS},
        late_ns=7 * SECOND_NS,
        throttled_ns=SECOND_NS + 1,
    )
    work = counters.work_between(before, after)
    assert work.elapsed_s == 2
    assert (work.sync_call_count, work.sync_waited_s) == (3, 2)
    assert work.late_s == 0
    assert work.throttled_s == 1


def test_seconds_that_both_readings_have_are_taken_from_each_other() -> None:
    half = SECOND_NS // 2
    before = reading(seconds=[[40, 9, 9, 9, half, 0], [41, 1, 2, 3, half, 0]])
    after = reading(
        now_ns=102 * SECOND_NS,
        seconds=[
            [40, 9, 9, 9, half, 0],
            [41, 2, 2, 3, 2 * SECOND_NS, 0],
            [42, 0, 6, 8, half, half],
        ],
    )
    work = counters.work_between(before, after)
    assert [row.index for row in work.seconds] == [0, 1]
    assert work.seconds[0].read_request_count == 1
    assert work.seconds[0].write_request_count == 0
    assert work.seconds[0].depth_count == 1.5
    assert work.seconds[1].throttled_s == 0.5
    assert work.mean_depth_count == 1.0
    assert work.max_depth_count == 1.5


def test_a_work_shorter_than_a_second_is_at_most_as_deep_as_on_average() -> None:
    after = reading(now_ns=100 * SECOND_NS + 1000, seconds=[[40, 1, 0, 1, 900, 0]])
    work = counters.work_between(reading(), after)
    assert work.mean_depth_count == pytest.approx(0.9)
    assert work.max_depth_count == work.mean_depth_count


def test_credits_are_those_at_the_end() -> None:
    bucket = {"tier": "device", "of": "requests", "on": "both", "capacity": 100}
    work = counters.work_between(
        reading(credits=[{**bucket, "left": 90}]), reading(credits=[{**bucket, "left": 12.5}])
    )
    assert [c.left for c in work.credits] == [12.5]


def test_the_whole_life_of_a_device_counts_from_its_first_second() -> None:
    after = reading(seconds=[[40, 1, 0, 1, 0, 0], [43, 1, 0, 1, 0, 0]])
    work = counters.work_between(counters.nothing_before(after), after)
    assert work.elapsed_s == 4
    assert counters.work_between(counters.nothing_before(reading()), reading()).elapsed_s > 0


@pytest.mark.parametrize("text", ["", "{}", "no", '{"format": 1}'])
def test_something_else_is_a_target_error(text: str) -> None:
    with pytest.raises(TargetError) as caught:
        counters.decode(text)
    assert caught.value.hint


def test_another_format_is_refused() -> None:
    with pytest.raises(TargetError, match="has format 2, this groundspeed knows 1"):
        reading(format=2)


def codes(**changes: float) -> list[str]:
    return [doubt.code for doubt in counters.doubts(make_storage_work(**changes))]


def test_an_undisturbed_device_leaves_no_doubt() -> None:
    assert codes() == []
    # 2% of the 4.71 s that were waited.
    assert codes(late_s=0.09) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"late_s": 0.1}, "emulation-late"),
        ({"forgotten_file_count": 1}, "emulation-forgot-files"),
        ({"refused_count": 1}, "emulation-refused"),
        ({"error_count": 1}, "emulation-errors"),
        ({"full_count": 1}, "emulation-full"),
    ],
)
def test_each_doubt_has_its_code(changes: dict[str, Any], code: str) -> None:
    assert codes(**changes) == [code]


def test_late_says_by_how_much() -> None:
    [doubt] = counters.doubts(make_storage_work(late_s=0.471))
    assert "0.471 s (10.0% of the time waited for it)" in doubt.message
    [doubt] = counters.doubts(make_storage_work(late_s=9.0))
    assert "more than was waited for it" in doubt.message
