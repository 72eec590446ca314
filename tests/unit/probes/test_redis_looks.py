"""What INFO once a second comes to, from what real servers answered."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.probes import redis_looks
from groundspeed.record.evidence import EventKind, LogSync

if TYPE_CHECKING:
    from groundspeed.probes.redis_looks import Look

GOLDEN = Path(__file__).parents[2] / "golden" / "redis"
TEXT = (GOLDEN / "7.0.15-info.txt").read_text()


def look(at_s: float, **fields: object) -> Look:
    """One look, so many seconds after the first, with fields of INFO set."""
    text = re.sub(r"(?m)^server_time_usec:.*$", f"server_time_usec:{at_s * 1e6:.0f}", TEXT)
    for name, value in {"aof_rewrite_in_progress": 0, **fields}.items():
        text, count = re.subn(rf"(?m)^{name}:.*$", f"{name}:{value}", text)
        assert count == 1, name
    return redis_looks.look_of(text, 0.0)


def test_every_version_is_looked_at() -> None:
    for path in GOLDEN.glob("*-info.txt"):
        seen = redis_looks.look_of(path.read_text(), 5.0)
        assert seen.info.command_count
        assert seen.at_s > 5.0 or path.name.startswith("5.")


def test_no_info_is_refused() -> None:
    with pytest.raises(ValueError, match="version"):
        redis_looks.look_of("nonsense", 0.0)


def test_rates_are_by_the_clock_of_the_server() -> None:
    before = look(10, total_commands_processed=100, aof_current_size=1000, evicted_keys=5)
    after = look(
        12,
        total_commands_processed=700,
        aof_current_size=3000,
        evicted_keys=5,
        aof_pending_bio_fsync=1,
        rdb_bgsave_in_progress=1,
    )
    values = redis_looks.per_second(before, after)
    assert values["requests_per_s"] == 300
    assert values["log_bytes_per_s"] == 1000
    assert values["evictions_per_s"] == 0
    assert values["pending_syncs_count"] == 1
    assert values["snapshot_ratio"] == 1
    assert values["log_rewrite_ratio"] == 0


def test_a_second_without_an_answer_has_all_columns_and_no_value() -> None:
    values = redis_looks.per_second(look(10), None)
    assert set(values.values()) == {None}
    assert values.keys() == redis_looks.per_second(look(10), look(11)).keys()


def test_what_was_served_is_growth_without_our_own_questions() -> None:
    work = redis_looks.serving(
        [
            look(10, total_commands_processed=100, used_cpu_user_main_thread=1.0),
            look(11, total_commands_processed=600, used_memory=5_000_000_000),
            look(12, total_commands_processed=1100, used_cpu_user_main_thread=2.5),
        ],
        own_request_count=2,
    )
    assert work is not None
    assert work.request_count == 998
    assert work.memory_peak_bytes == 5_000_000_000
    assert work.main_busy_ratio == pytest.approx(0.75)


def test_one_look_is_no_growth() -> None:
    assert redis_looks.serving([look(10)], own_request_count=1) is None
    assert redis_looks.persistence([look(10)], LogSync.EACH_WRITE) is None


def test_a_rewrite_that_shortens_the_log_takes_nothing_back() -> None:
    looks = [look(at_s, aof_current_size=size) for at_s, size in enumerate((100, 900, 200, 700))]
    work = redis_looks.persistence(looks, LogSync.EACH_SECOND)
    assert work is not None
    assert work.log_bytes == (800 + 500) * 3 / 2


def test_a_log_that_is_always_written_anew_cannot_be_told() -> None:
    looks = [look(at_s, aof_current_size=100 + at_s, aof_rewrites=at_s) for at_s in range(4)]
    work = redis_looks.persistence(looks, LogSync.EACH_WRITE)
    assert work is not None
    assert work.log_bytes is None


def test_forks_and_children_are_timed() -> None:
    looks = [
        look(0, total_forks=1, latest_fork_usec=400),
        look(1, total_forks=2, latest_fork_usec=5000, rdb_bgsave_in_progress=1),
        look(2, total_forks=2, latest_fork_usec=5000, rdb_bgsave_in_progress=1),
        look(3, total_forks=4, latest_fork_usec=2000, rdb_saves=1),
    ]
    work = redis_looks.persistence(looks, None)
    assert work is not None
    assert (work.fork_count, work.longest_fork_s) == (3, 0.005)
    assert work.fork_s == pytest.approx(0.009)
    assert work.snapshot_s == 2.0
    assert work.rewrite_s == 0.0


def test_events_lie_between_the_looks_that_saw_them() -> None:
    looks = [
        look(100),
        look(101, aof_rewrite_in_progress=1),
        look(102, aof_rewrites=2, aof_delayed_fsync=2),
        look(103, aof_rewrites=3, aof_delayed_fsync=2),
        look(104, aof_rewrites=3, aof_delayed_fsync=2, rdb_bgsave_in_progress=1),
    ]
    found = [(e.kind, e.at_s, e.elapsed_s, e.detail) for e in redis_looks.events(looks)]
    assert found == [
        (EventKind.LOG_REWRITE, 0.5, 1.0, ""),
        (EventKind.DELAYED_SYNC, 1.0, 1.0, "2 times"),
        # It came and went between two looks.
        (EventKind.LOG_REWRITE, 2.5, 0.0, ""),
        (EventKind.SNAPSHOT, 3.5, None, ""),
    ]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (("yes", "always"), LogSync.EACH_WRITE),
        (("yes", "everysec"), LogSync.EACH_SECOND),
        (("yes", "no"), LogSync.SYSTEM),
        (("no", "everysec"), LogSync.NO_LOG),
        (("yes", None), None),
        ((None, None), None),
    ],
)
def test_when_the_log_is_synced(
    settings: tuple[str | None, str | None], expected: LogSync | None
) -> None:
    assert redis_looks.log_sync_of(*settings) is expected
