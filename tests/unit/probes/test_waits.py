from __future__ import annotations

import pytest

from groundspeed.probes.waits import CLASSES, ActivityRow, ProfileRow, WaitTally, profile_growth
from groundspeed.record.evidence import WaitCount, WaitGroup

BOTH = (WaitGroup.CLIENT, WaitGroup.BACKGROUND)


def row(wait_class: str, event: str = "", *, backend_type: str = "", count: int = 1) -> ActivityRow:
    return ActivityRow(
        pid=7 if backend_type else 0,
        backend_type=backend_type,
        wait_class=wait_class,
        event=event,
        task="",
        session_count=count,
    )


def test_samples_are_counted_by_group_class_and_event() -> None:
    tally = WaitTally()
    tally.add([row("Lock", "tuple", count=3), row("CPU")])
    tally.add([row("Lock", "tuple", count=2), row("IO", "WALSync", backend_type="walwriter")])
    assert tally.sample_count == 2
    assert tally.counts()[0] == WaitCount(
        group=WaitGroup.CLIENT, wait_class="Lock", event="tuple", sample_count=5
    )
    assert set(tally.counts()[1:]) == {
        WaitCount(group=WaitGroup.CLIENT, wait_class="CPU", event="", sample_count=1),
        WaitCount(
            group=WaitGroup.BACKGROUND,
            wait_class="IO",
            event="WALSync",
            sample_count=1,
            backend_type="walwriter",
        ),
    }


def test_a_second_is_the_mean_of_its_own_samples_with_zeros() -> None:
    tally = WaitTally()
    tally.add([row("Lock", count=4)])
    tally.take_second(BOTH)
    tally.add([row("Lock", count=3), row("InjectionPoint", count=2)])
    tally.add([row("IO", backend_type="checkpointer")])
    values = tally.take_second(BOTH)
    assert values["wait_lock_count"] == 1.5
    assert values["wait_other_count"] == 1.0
    assert values["background_io_count"] == 0.5
    assert values["wait_io_count"] == 0.0
    assert len(values) == 2 * len(CLASSES)


def test_a_second_without_a_sample_is_unknown_and_not_zero() -> None:
    tally = WaitTally()
    tally.add([row("Lock")])
    tally.take_second(BOTH)
    assert set(tally.take_second((WaitGroup.CLIENT,)).values()) == {None}


def test_a_hidden_session_is_a_sample_without_a_wait() -> None:
    tally = WaitTally()
    tally.add([row("CPU", backend_type="hidden")])
    assert tally.sample_count == 1
    assert tally.counts() == ()


def profile(pid: int, wait_class: str, event: str, count: int) -> ProfileRow:
    return ProfileRow(pid=pid, wait_class=wait_class, event=event, sample_count=count)


BEFORE = (
    profile(1, "Activity", "CheckpointerMain", 100),
    profile(1, "IO", "DataFileWrite", 5),
    profile(9, "Client", "ClientRead", 40),
)
AFTER = (
    profile(1, "Activity", "CheckpointerMain", 180),
    profile(1, "IO", "DataFileWrite", 25),
    profile(2, "Activity", "AutoVacuumMain", 100),
    profile(3, "Extension", "Extension", 99),
    profile(9, "Client", "ClientRead", 60),
    profile(9, "Lock", "tuple", 30),
    profile(10, "Lock", "tuple", 10),
    profile(11, "CPU", "", 50),
)
BACKGROUND = {1: "checkpointer", 2: "autovacuum launcher", 3: "collector"}


def test_profiles_are_subtracted_and_idle_time_left_out() -> None:
    grown = profile_growth(BEFORE, AFTER, background=BACKGROUND, own_pid=11)
    assert grown == (
        (
            WaitCount(group=WaitGroup.CLIENT, wait_class="Lock", event="tuple", sample_count=40),
            WaitCount(
                group=WaitGroup.BACKGROUND,
                wait_class="IO",
                event="DataFileWrite",
                sample_count=20,
                backend_type="checkpointer",
            ),
        ),
        100,
    )


@pytest.mark.parametrize("after", [AFTER[1:], (profile(1, "IO", "DataFileWrite", 4), *BEFORE[::2])])
def test_a_profile_that_was_reset_tells_nothing(after: tuple[ProfileRow, ...]) -> None:
    assert profile_growth(BEFORE, after, background=BACKGROUND, own_pid=11) is None


def test_without_the_servers_processes_the_number_of_samples_is_unknown() -> None:
    assert profile_growth(BEFORE, AFTER, background={}, own_pid=11) is None
