from __future__ import annotations

import pytest

from groundspeed.probes.events import Timeline
from groundspeed.probes.rates import Rates
from groundspeed.record.evidence import EventKind, ServerEvent

MEBIBYTE = 2**20
SEGMENT = 16 * MEBIBYTE
NO_TASKS: frozenset[tuple[int, str]] = frozenset()


def rates(
    *, timed: int = 0, requested: int = 0, buffers: int = 0, work_s: float = 0.0, wal: int = 0
) -> Rates:
    return Rates(
        block_read_count=0,
        timed_count=timed,
        requested_count=requested,
        buffer_count=buffers,
        work_s=work_s,
        wal_position_bytes=wal,
    )


def look(timeline: Timeline, at_s: float, *, busy: bool = False, task: str = "") -> None:
    tasks = frozenset({(5, task)}) if task else NO_TASKS
    timeline.look(at_s, is_checkpointing=busy, tasks=tasks)


def checkpoint(at_s: float, elapsed_s: float | None, detail: str) -> ServerEvent:
    return ServerEvent(kind=EventKind.CHECKPOINT, at_s=at_s, elapsed_s=elapsed_s, detail=detail)


@pytest.mark.parametrize(
    ("timed", "requested", "reason"), [(1, 0, "timed"), (0, 1, "requested"), (1, 1, "requested")]
)
def test_a_checkpoint_begins_and_ends_where_the_checkpointer_was_seen_at_work(
    timed: int, requested: int, reason: str
) -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates())
    for tenth in range(30):
        look(timeline, tenth / 10, busy=5 <= tenth < 22)
        if tenth in {10, 20}:
            timeline.count(tenth / 10, rates(timed=timed, requested=requested, buffers=tenth))
    timeline.count(3.0, rates(timed=timed, requested=requested, buffers=25, work_s=1.7))
    (event,) = timeline.events()
    assert event == checkpoint(0.5, pytest.approx(1.7), reason)


def test_two_checkpoints_keep_their_reasons_apart() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates())
    look(timeline, 0.1, busy=True)
    look(timeline, 0.6)
    timeline.count(1.0, rates(timed=1, work_s=0.4))
    look(timeline, 1.2, busy=True)
    timeline.count(2.0, rates(timed=1, requested=1, work_s=0.5))
    assert timeline.events() == (
        checkpoint(0.1, 0.5, "timed"),
        checkpoint(1.2, None, "requested"),
    )


def test_counters_that_come_late_still_tell_the_reason() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates())
    look(timeline, 0.2, busy=True)
    look(timeline, 0.9)
    timeline.count(1.0, rates())
    timeline.count(2.0, rates(requested=1, work_s=0.6))
    assert timeline.events() == (checkpoint(0.2, pytest.approx(0.7), "requested"),)


def test_a_checkpoint_between_two_looks_is_known_by_its_counters() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(4.0, rates())
    look(timeline, 4.5)
    timeline.count(5.0, rates(requested=1, buffers=9, work_s=0.03))
    assert timeline.events() == (checkpoint(4.5, pytest.approx(0.03), "requested"),)


def test_a_timed_checkpoint_that_had_nothing_to_do_is_none() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates())
    timeline.count(1.0, rates(timed=1))
    assert timeline.events() == ()


def test_a_busy_look_that_no_counter_confirms_is_none() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates())
    look(timeline, 0.5, busy=True)
    look(timeline, 0.6)
    timeline.count(1.0, rates())
    assert timeline.events() == ()


def test_a_checkpoint_under_way_at_the_begin_is_confirmed_by_its_work() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates(timed=3, buffers=100))
    look(timeline, 0.0, busy=True)
    timeline.count(1.0, rates(timed=3, buffers=200))
    look(timeline, 1.4)
    assert timeline.events() == (checkpoint(0.0, 1.4, ""),)


def test_where_counters_are_refused_what_was_seen_stands() -> None:
    timeline = Timeline(None)
    look(timeline, 0.5, busy=True)
    look(timeline, 0.9)
    assert timeline.events() == (checkpoint(0.5, pytest.approx(0.4), ""),)


@pytest.mark.parametrize(
    ("task", "table"),
    [
        ("autovacuum: VACUUM ANALYZE public.pgbench_history", "public.pgbench_history"),
        ("autovacuum: VACUUM pg_toast.pg_toast_1 (to prevent wraparound)", "pg_toast.pg_toast_1"),
        ("autovacuum: ANALYZE public.odd name", "public.odd name"),
    ],
)
def test_an_autovacuum_is_told_by_its_table(task: str, table: str) -> None:
    timeline = Timeline(SEGMENT)
    look(timeline, 1.0, task=task)
    look(timeline, 1.1, task=task)
    look(timeline, 1.5)
    assert timeline.events() == (
        ServerEvent(kind=EventKind.AUTOVACUUM, at_s=1.0, elapsed_s=0.5, detail=table),
    )


def test_an_autovacuum_that_goes_on_has_no_length_and_one_without_a_table_is_none() -> None:
    timeline = Timeline(SEGMENT)
    look(timeline, 1.0, task="<command string not enabled>")
    look(timeline, 1.1, task="autovacuum: ANALYZE public.a")
    look(timeline, 1.2, task="autovacuum: ANALYZE public.b")
    assert [(event.detail, event.elapsed_s) for event in timeline.events()] == [
        ("public.a", pytest.approx(0.1)),
        ("public.b", None),
    ]


def test_segments_switch_where_the_log_passes_their_border() -> None:
    timeline = Timeline(SEGMENT)
    timeline.count(0.0, rates(wal=12 * MEBIBYTE))
    timeline.count(1.0, rates(wal=14 * MEBIBYTE))
    timeline.count(2.0, rates(wal=22 * MEBIBYTE))
    timeline.count(3.0, rates(wal=70 * MEBIBYTE))
    assert timeline.events() == (
        ServerEvent(kind=EventKind.WAL_SWITCH, at_s=1.25),
        ServerEvent(
            kind=EventKind.WAL_SWITCH, at_s=pytest.approx(2 + 10 / 48), detail="3 segments"
        ),
    )
