"""kill -9 of groundspeed and of what it started: nothing is lost, nothing is counted twice."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.cli import session
from groundspeed.errors import ExitCode
from groundspeed.record import Failed, Measured
from tests import leftovers, small_runs
from tests.interrupted.driving import (
    Driven,
    command,
    driven,
    traced,
    wait_until_free,
    wait_until_gone,
)
from tests.server.given import serve
from tests.small_runs import embedded, plan_of, suite_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.leftovers import Watch
    from tests.small_runs import Place


def new_run(place: Place, *, repeats: int = 1) -> Path:
    environments = {"disk": embedded(place.storage), "memory": embedded("/dev/shm")}
    return place.new_run(plan_of(suite_of(environments, repeats=repeats)))


def kill(run: Driven, watch: Watch) -> None:
    """Kill a groundspeed and nothing else; stopped first, so that its leases stand still."""
    run.process.send_signal(signal.SIGSTOP)
    watch.look()
    run.process.kill()
    run.process.wait()
    for lease in watch.leases_of(run.pid):
        wait_until_free(lease)


def next_command() -> None:
    """What every command does first."""
    assert session.sweep() == ()


def finish(place: Place, run_dir: Path, code: ExitCode = ExitCode.OK) -> str:
    with driven(command("resume", run_dir), place.root) as run:
        assert run.finish() == code, run.output
    return run.output


def measured_ids(run_dir: Path) -> Counter[str]:
    return Counter(
        r.trial.trial_id for r in store.read_run(run_dir).records if isinstance(r.outcome, Measured)
    )


def planned_ids(run_dir: Path) -> Counter[str]:
    return Counter(t.trial_id for t in store.read_plan(run_dir).trials)


def test_kills_at_random_moments_cost_no_trial(place: Place) -> None:
    rng = Random(20)
    run_dir = new_run(place, repeats=2)
    watch = place.watch(run_dir)
    seen: list[int] = []
    for _ in range(5):
        with driven(traced(run_dir), place.root) as run:
            run.wait_for("note")
            descriptor = os.pidfd_open(run.pid)
            select.select([descriptor], [], [], rng.uniform(0.0, 3.5))
            os.close(descriptor)
            kill(run, watch)
        next_command()
        assert watch.left() == []
        seen.append(measured_ids(run_dir).total())
    assert seen == sorted(seen)
    assert watch.directories
    finish(place, run_dir)
    assert measured_ids(run_dir) == planned_ids(run_dir)
    assert watch.left() == []


@pytest.mark.parametrize("name", ["initdb", "pgbench", "postgres"])
def test_what_a_killed_run_started_ends_with_it(place: Place, name: str) -> None:
    """Before any other command is there to sweep."""
    run_dir = new_run(place)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("note")
        run.wait_for_process(run_dir.name, name)
        kill(run, watch)
    for pid, _ in leftovers.processes_of(run_dir.name):
        wait_until_gone(pid)
    next_command()
    assert watch.left() == []


def test_a_sweep_leaves_a_living_run_alone(place: Place) -> None:
    dead, alive = new_run(place), new_run(place)
    watch = place.watch(dead)
    with driven(traced(dead), place.root) as run:
        run.wait_for("phase warm up")
        kill(run, watch)
    assert leftovers.leases(place.state)
    with driven(traced(alive), place.root) as run:
        run.wait_for("phase measure")
        before = leftovers.processes_of(alive.name)
        server = leftovers.servers_of(alive.name)
        assert watch.left() == []
        next_command()
        assert leftovers.servers_of(alive.name) == server != []
        assert {pid for pid, _ in before} & {pid for pid, _ in leftovers.processes_of(alive.name)}
        assert run.finish() == ExitCode.OK, run.output
    assert measured_ids(alive) == planned_ids(alive)


def test_a_server_that_is_killed_fails_its_trial_alone(place: Place) -> None:
    run_dir = new_run(place)
    watch = place.watch(run_dir)
    with driven(command("resume", run_dir), place.root) as run:
        run.wait_for_process(run_dir.name, "log_reader")
        watch.look()
        (server,) = leftovers.servers_of(run_dir.name)
        os.kill(server, signal.SIGKILL)
        assert run.finish() == ExitCode.TRIALS_FAILED, run.output
    assert "Traceback" not in run.output
    first, second = store.read_run(run_dir).records
    assert isinstance(first.outcome, Failed)
    assert first.outcome.reason.startswith("the server died")
    assert first.outcome.retryable
    assert isinstance(second.outcome, Measured)
    assert watch.left() == []
    finish(place, run_dir)
    assert measured_ids(run_dir) == planned_ids(run_dir)


def test_a_server_that_is_killed_starts_again_for_its_next_trial(place: Place) -> None:
    made = plan_of(suite_of({"a": embedded("/dev/shm")}, repeats=3))
    run_dir = place.new_run(made)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("progress")
        run.wait_for("phase measure")
        run.wait_for_process(run_dir.name, "pgbench")
        watch.look()
        (server,) = leftovers.servers_of(run_dir.name)
        os.kill(server, signal.SIGKILL)
        assert run.finish() == ExitCode.OK, run.output
    kinds = [type(r.outcome) for r in store.read_run(run_dir).records]
    assert kinds == [Measured, Failed, Measured]
    assert watch.left() == []


def test_the_memory_of_a_server_killed_in_the_last_trial_is_removed(place: Place) -> None:
    run_dir = place.new_run(plan_of(suite_of({"a": embedded(place.storage)})))
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("phase measure")
        run.wait_for_process(run_dir.name, "pgbench")
        watch.look()
        assert watch.shared_memory
        (server,) = leftovers.servers_of(run_dir.name)
        os.kill(server, signal.SIGKILL)
        run.finish()
    assert watch.left() == []


@pytest.mark.parametrize(
    ("program", "reason"),
    [("pgbench", "killed by signal 9"), ("log_reader", "the native log reader ended")],
)
def test_a_load_that_is_killed_is_a_failed_trial_and_is_tried_again(
    place: Place, program: str, reason: str
) -> None:
    run_dir = place.new_run(
        plan_of(suite_of({"a": embedded(place.storage)}, repeats=2, duration="2s"))
    )
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("phase measure")
        run.wait_for_process(run_dir.name, "pgbench")
        os.kill(run.wait_for_process(run_dir.name, program), signal.SIGKILL)
        assert run.finish() == ExitCode.OK, run.output
    first, second = store.read_run(run_dir).records
    assert isinstance(first.outcome, Failed)
    assert reason in first.outcome.reason
    assert first.outcome.retryable
    assert isinstance(second.outcome, Measured)
    assert watch.left() == []
    output = finish(place, run_dir)
    assert "Traceback" not in output
    assert [(r.attempt, type(r.outcome)) for r in store.read_run(run_dir).records] == [
        (1, Failed),
        (1, Measured),
        (2, Measured),
    ]


def test_a_second_groundspeed_in_one_results_directory_is_refused(place: Place) -> None:
    first, second = new_run(place), new_run(place)
    with driven(traced(first), place.root) as run:
        run.wait_for("phase warm up")
        with driven(command("resume", second), place.root) as other:
            assert other.finish() == ExitCode.TARGET, other.output
        assert "Traceback" not in other.output
        assert f"another groundspeed (pid {run.pid})" in other.output
        assert run.finish() == ExitCode.OK, run.output
    assert measured_ids(first) == planned_ids(first)
    assert store.read_run(second).records == ()
    finish(place, second)


def test_two_runs_of_one_name_do_not_take_from_each_other(place: Place) -> None:
    """As when one suite is started twice in a second, into two results directories."""
    made = plan_of(suite_of({"a": embedded("/dev/shm")}, workloads=("select-only",)))
    first = store.create_run(place.results / "one", made, "same-name")
    second = store.create_run(place.results / "two", made, "same-name")
    with (
        driven(traced(first), place.root) as one,
        driven(traced(second), place.root) as two,
    ):
        assert one.finish() == ExitCode.OK, one.output
        assert two.finish() == ExitCode.OK, two.output
    assert measured_ids(first) == measured_ids(second) == planned_ids(first)


def test_a_database_that_a_killed_run_left_on_a_given_server_is_dropped(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(16) as given:
        monkeypatch.setenv("THE_SECRET", given.password)
        asked = {
            "target": "server",
            "dsn": given.dsn(dbname="postgres"),
            "password_env": "THE_SECRET",
        }
        run_dir = place.new_run(plan_of(suite_of({"given": asked}, warm_up="1s")))
        before = given.databases()
        watch = place.watch(run_dir)
        with driven(command("resume", run_dir), place.root) as run:
            run.wait_for_process(run_dir.name, "log_reader")
            kill(run, watch)
        assert len(given.databases() - before) == 1
        next_command()
        assert given.databases() == before
        assert watch.left() == []
        finish(place, run_dir)
        assert given.databases() == before
    assert measured_ids(run_dir) == planned_ids(run_dir)


FULL = """
set -e
mount -t tmpfs -o size=1084k tmpfs "$RESULTS"
cp -r "$KEPT/." "$RESULTS"
set +e
"$PYTHON" -m groundspeed.cli.main resume "$RESULTS/$RUN"
echo "code $?"
mkdir "$KEPT/first"
cp -r "$RESULTS/$RUN/." "$KEPT/first"
mount -o remount,size=16m "$RESULTS"
"$PYTHON" -m groundspeed.cli.main resume "$RESULTS/$RUN"
echo "code $?"
mkdir "$KEPT/second"
cp -r "$RESULTS/$RUN/." "$KEPT/second"
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a small file system")
def test_a_disk_that_fills_while_recording_costs_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The results are on a small file system in a mount namespace of the process."""
    made = plan_of(suite_of({"a": embedded("/dev/shm")}, repeats=6, workloads=("select-only",)))
    run_dir = place.new_run(made)
    kept = place.root / "kept"
    place.results.rename(kept)
    place.results.mkdir()
    for name, value in {
        "RESULTS": place.results,
        "KEPT": kept,
        "RUN": run_dir.name,
        "PYTHON": sys.executable,
    }.items():
        monkeypatch.setenv(name, str(value))
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", FULL],
        capture_output=True,
        text=True,
        check=False,
        env=small_runs.variables(),
        cwd=place.root,
    )
    output = done.stdout + done.stderr
    if "mount:" in output or "unshare:" in output:
        pytest.skip(f"no private mounts here: {output.strip()}")
    assert "Traceback" not in output
    assert [line for line in done.stdout.splitlines() if line.startswith("code")] == [
        f"code {int(ExitCode.TARGET)}",
        f"code {int(ExitCode.OK)}",
    ], output
    assert "the disk is full" in output
    before = measured_ids(kept / "first")
    assert 0 < before.total() < 6
    raw = {p.name.removesuffix(".1.stdout.txt") for p in (kept / "first" / "raw").glob("*.stdout*")}
    assert raw == set(before)
    after = store.read_run(kept / "second")
    assert after.cautions == ()
    assert measured_ids(kept / "second") == planned_ids(kept / "second")
    assert {r.attempt for r in after.records} == {1}
    assert place.watch(run_dir).left() == []
