from __future__ import annotations

import io
from typing import TYPE_CHECKING

import msgspec
import pytest
from rich.console import Console

from groundspeed.cli.display import LiveDisplay, PlainDisplay, display_for
from groundspeed.cli.printing import minutes
from groundspeed.plan import StorageRequest
from groundspeed.ports import Listener, Progress
from groundspeed.record import Caution, Failed, Skipped
from tests.examples import make_measured, make_record
from tests.unit.cli.conftest import SMALL_SUITE, small_plan

if TYPE_CHECKING:
    from groundspeed.plan import Plan


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)


def shown(where: Console) -> str:
    assert isinstance(where.file, io.StringIO)
    return where.file.getvalue()


def play(display: Listener) -> None:
    """Play a run of three trials: one measured, one failed, one skipped."""
    trials = small_plan().trials
    display.note("setting up one")
    display.trial_started(trials[0], number=1, left_s=90.0)
    for phase in ("start", "check", "warm up", "measure"):
        display.phase(phase)
    display.progress(Progress(elapsed_s=1.0, tps_per_s=None, p99_s=None))
    display.progress(Progress(elapsed_s=2.0, tps_per_s=1234.0, p99_s=0.002))
    doubts = (Caution(code="closed-loop", message="m"), Caution(code="other", message="m"))
    display.trial_ended(make_record(trials[0], make_measured(1500.0), cautions=doubts))
    display.trial_started(trials[1], number=2, left_s=60.0)
    display.trial_ended(make_record(trials[1], Failed(reason="it [b]broke", retryable=True)))
    display.trial_started(trials[2], number=3, left_s=30.0)
    display.trial_ended(make_record(trials[2], Skipped(reason="not here")))


def test_without_a_terminal_each_trial_is_one_line() -> None:
    where = console(terminal=False)
    with display_for(small_plan(), where) as display:
        assert isinstance(display, PlainDisplay)
        play(display)
    lines = shown(where).splitlines()
    assert lines[0] == "setting up one"
    assert len(lines) == 4
    assert lines[1].startswith("[ 1/12] ")
    assert "  1,500 TPS  p99 4.00 ms  1 caution  (1 min left)" in lines[1].replace("84 s", "1 min")
    assert "failed: it [b]broke" in lines[2]
    assert "skipped: not here" in lines[3]


def test_on_a_terminal_figures_so_far_are_shown_and_taken_away() -> None:
    where = console(terminal=True)
    with display_for(small_plan(), where) as display:
        assert isinstance(display, LiveDisplay)
        play(display)
    text = shown(where)
    assert "trial 1/12" in text
    assert "TPS 1,234   p99 2.00 ms   so far, after 2 s" in text
    assert "0/12 trials, 2 min left" in text
    assert "3/12 trials" in text
    assert "failed: it [b]broke" in text
    # Erased at the end: what stays on the screen is the report.
    assert text.rstrip().endswith("\x1b[2K")


def test_where_it_stops_when_it_is_decided_the_time_is_an_upper_bound() -> None:
    text = SMALL_SUITE.replace(
        "measure: {duration: 1s, warm_up: 0s, repeats: 6}",
        "measure: {until: decided, at_most: 10m}",
    )
    plan = small_plan(text)
    out = io.StringIO()
    display = PlainDisplay(plan, Console(file=out, width=200))
    twin = next(t for t in plan.trials if t.twin)
    display.trial_started(twin, number=3, left_s=90.0)
    display.trial_ended(make_record(twin))
    assert out.getvalue().startswith("[  3] one  select-only  1 client  #1 again  ")
    assert "(at most 1 min left)" in out.getvalue().replace("84 s", "1 min")
    assert "0 trials, at most" in shown_live(plan)


def shown_live(plan: Plan) -> str:
    where = console(terminal=True)
    with LiveDisplay(plan, where) as display:
        display.note("setting up")
    return shown(where)


@pytest.mark.parametrize(
    ("span_s", "text"),
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (3599, "60 min"), (3600, "1 h 00 min")],
)
def test_spans_are_said_as_people_do(span_s: float, text: str) -> None:
    assert minutes(span_s) == text


def test_hours_carry_their_minutes() -> None:
    assert minutes(4 * 3600 + 7 * 60 + 29) == "4 h 07 min"


def test_an_emulated_environment_is_labelled_while_it_runs() -> None:
    plan = msgspec.structs.replace(
        small_plan(),
        environments=tuple(
            msgspec.structs.replace(e, storage=StorageRequest(emulate="aws-gp3"))
            if e.name == "two"
            else e
            for e in small_plan().environments
        ),
    )
    out = io.StringIO()
    display = PlainDisplay(plan, Console(file=out, width=200))
    for name in ("one", "two"):
        trial = next(t for t in plan.trials if t.cell.environment == name)
        display.trial_started(trial, number=1, left_s=1.0)
        display.trial_ended(make_record(trial))
    first, second = out.getvalue().splitlines()
    assert "one  select-only" in first
    assert "two (emulated)  select-only" in second
