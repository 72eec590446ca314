"""Ctrl-C and SIGTERM at every step: nothing is left but what was measured."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.errors import ExitCode
from groundspeed.record import Measured
from tests.interrupted.driving import Driven, command, driven, traced
from tests.small_runs import embedded, plan_of, suite_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.small_runs import Place

# Steps of a run: a line that its trace writes, or a program that is running.
STEPS = (
    "initdb",
    "pgbench -i",
    "start",
    "check",
    "warm up",
    "measure",
    "inside measure",
    "verify",
    "clean",
)


def wait_for_step(run: Driven, step: str, run_id: str) -> None:
    if step == "initdb":
        run.wait_for("note")
        run.wait_for_process(run_id, "initdb")
    elif step == "pgbench -i":
        run.wait_for_process(run_id, "pgbench")
    else:
        run.wait_for("ended")
        run.wait_for("phase measure" if step == "inside measure" else f"phase {step}")
        if step == "inside measure":
            run.wait_for_process(run_id, "pgbench")


def two_trials(place: Place) -> Path:
    environments = {"disk": embedded(place.storage), "memory": embedded("/dev/shm")}
    return place.new_run(plan_of(suite_of(environments, scale=2)))


@pytest.mark.parametrize(
    ("number", "step"),
    [
        *((signal.SIGINT, step) for step in STEPS),
        *((signal.SIGTERM, step) for step in ("initdb", "warm up", "inside measure")),
        (signal.SIGHUP, "inside measure"),
    ],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else value.replace(" ", "-"),
)
def test_a_signal_leaves_nothing_but_what_was_measured(
    place: Place, number: signal.Signals, step: str
) -> None:
    run_dir = two_trials(place)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        wait_for_step(run, step, run_dir.name)
        watch.look()
        run.process.send_signal(number)
        assert run.finish() == ExitCode.INTERRUPTED, run.output
    assert watch.directories
    assert watch.left() == []
    records = store.read_run(run_dir).records
    # The first trial is cleaned up after its record is kept: also there nothing measured is lost.
    assert len(records) == (0 if step in STEPS[:2] else 1)
    assert all(isinstance(r.outcome, Measured) for r in records)
    assert not (run_dir / store.RESERVE_FILE).exists()


def test_a_second_ctrl_c_is_no_worse_than_one(place: Place) -> None:
    """What the second one kept from being removed, the next command removes."""
    run_dir = two_trials(place)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        wait_for_step(run, "inside measure", run_dir.name)
        watch.look()
        run.process.send_signal(signal.SIGINT)
        run.process.send_signal(signal.SIGINT)
        run.process.send_signal(signal.SIGTERM)
        run.finish()
    with driven(command("runs", place.results), place.root) as after:
        assert after.finish() == ExitCode.OK, after.output
    assert watch.left() == []
    assert len(store.read_run(run_dir).records) == 1


def test_the_command_says_how_to_go_on(place: Place) -> None:
    run_dir = two_trials(place)
    with driven(command("resume", run_dir), place.root) as run:
        run.wait_for_process(run_dir.name, "pgbench")
        run.process.send_signal(signal.SIGINT)
        assert run.finish() == ExitCode.INTERRUPTED, run.output
    assert "Traceback" not in run.output
    assert f"groundspeed resume {run_dir}" in run.output
    assert place.watch(run_dir).left() == []
    with driven(command("resume", run_dir), place.root) as run:
        assert run.finish() == ExitCode.OK, run.output
    assert len(store.read_run(run_dir).records) == 2
    with driven(command("resume", run_dir), place.root) as run:
        assert run.finish() == ExitCode.OK, run.output
    assert len(store.read_run(run_dir).records) == 2
