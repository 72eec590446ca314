"""Trials on a real server with a real probe process: what is seen, and that it never costs one."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.cli import session
from groundspeed.record import Measured
from groundspeed.targets.local import EmbeddedTarget
from tests import leftovers, small_runs
from tests.interrupted.driving import driven, traced, wait_until_gone
from tests.small_runs import embedded, needs, plan_of, suite_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.ports import Target
    from groundspeed.record import Evidence, Record
    from tests.server.given import Given
    from tests.small_runs import Place


def probes_below(pid: int) -> list[int]:
    """The probe processes that a process has started."""
    return [
        child
        for child in leftovers.children_of(pid)
        if b"groundspeed.probes.watcher" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def evidence_of(record: Record) -> Evidence:
    assert isinstance(record.outcome, Measured), record.outcome
    assert record.evidence is not None
    return record.evidence


def codes(record: Record) -> set[str]:
    return {caution.code for caution in record.cautions}


@pytest.mark.parametrize("version", [15, 16, 18])
def test_a_trial_is_watched_while_it_is_measured(place: Place, version: int) -> None:
    needs(version)
    made = plan_of(
        suite_of({"a": embedded(place.storage)}, version=version, duration="3s", repeats=2)
    )
    run_dir = place.new_run(made)
    session.run_plan(made, run_dir, passwords={}, listener=small_runs.Listening())
    run = store.read_run(run_dir)
    assert run.cautions == ()
    for record in run.records:
        seen = evidence_of(record)
        assert 3.0 <= seen.elapsed_s < record.elapsed_s
        assert {cost.probe for cost in seen.costs} >= {"machine", "database", "probe process"}
        # A disk that is an overlay or several has no counters, wherever these tests run.
        missed = [c.message for c in record.cautions if c.code == "absent-probes"]
        assert all(message.startswith("not seen: disk (") for message in missed)
        # What is counted is the measured load and not the warm-up.
        assert isinstance(record.outcome, Measured)
        assert seen.postgres is not None
        assert seen.postgres.database is not None
        commits = seen.postgres.database.commit_count
        assert commits == pytest.approx(record.outcome.transaction_count, rel=0.1, abs=200)
        assert seen.host is not None
        assert seen.host.cpu.server_cpu_count
        assert seen.host.cpu.load_cpu_count
        due_count = int(seen.elapsed_s * 10)
        assert due_count / 2 < seen.activity_sample_count <= due_count
        series = run.series[record.trial.trial_id]
        seconds = series.column("second_index")
        assert seconds == tuple(range(len(seconds)))
        assert len(seconds) >= 3
        assert {"cpu_server_count", "wait_lock_count", "wal_bytes_per_s"} <= set(series.columns)
    assert probes_below(os.getpid()) == []


def test_the_level_says_what_is_watched(place: Place) -> None:
    memory = {"a": embedded("/dev/shm")}
    off = place.measure(plan_of(suite_of(memory, probes="off")))
    assert [record.evidence for record in off] == [None]
    (light,) = place.measure(plan_of(suite_of(memory, probes="light", duration="2s")))
    seen = evidence_of(light)
    assert (seen.waits, seen.wait_source, seen.activity_sample_count) == ((), None, 0)
    assert seen.host is not None
    assert seen.postgres is not None


def test_a_given_server_is_watched_over_sql(place: Place, given: Given) -> None:
    environments = {"g": {"target": "server", "dsn": given.dsn(dbname="postgres")}}
    made = plan_of(suite_of(environments, duration="2s"))
    (record,) = place.measure(made, passwords={"g": given.password})
    seen = evidence_of(record)
    assert "absent-probes" not in codes(record)
    assert {"server-processes", "control-group", "disk"} <= {a.what for a in seen.absent}
    assert seen.postgres is not None
    assert seen.host is not None
    assert seen.host.cpu.server_cpu_count is None
    assert seen.host.cpu.load_cpu_count


def once(act: Callable[[], None]) -> Callable[[], None]:
    left = [act]

    def call() -> None:
        if left:
            left.pop()()

    return call


def test_a_probe_process_that_is_killed_costs_a_caution_and_no_trial(place: Place) -> None:
    made = plan_of(suite_of({"a": embedded("/dev/shm")}, duration="3s", repeats=2))

    def kill() -> None:
        (probe,) = probes_below(os.getpid())
        os.kill(probe, signal.SIGKILL)

    def hooks(_: dict[str, Target]) -> dict[str, Callable[[], None]]:
        return {"progress": once(kill)}

    first, second = small_runs.run_with_targets(place, made, hooks)
    assert isinstance(first.outcome, Measured)
    (message,) = [c.message for c in first.cautions if c.code == "absent-probes"]
    assert message == "not seen: probes (the probe process was killed by signal 9)"
    assert "absent-probes" not in codes(second)
    assert evidence_of(second).activity_sample_count


def test_a_probe_process_dies_with_a_groundspeed_that_is_killed(place: Place) -> None:
    made = plan_of(suite_of({"a": embedded(place.storage)}, duration="30s"))
    run_dir = place.new_run(made)
    watch = place.watch(run_dir)
    with driven(traced(run_dir), place.root) as run:
        run.wait_for("phase measure")
        run.wait_for("progress")
        (probe,) = probes_below(run.pid)
        watch.look()
        run.process.kill()
        run.process.wait()
    wait_until_gone(probe)
    assert session.sweep() == ()
    assert watch.left() == []


def test_probes_are_told_where_the_server_really_is(place: Place) -> None:
    wal = place.root / "wal"
    wal.mkdir()
    made = plan_of(suite_of({"a": embedded(place.storage, wal_directory=wal)}))
    seen: list[tuple[EmbeddedTarget, Path, Path]] = []

    def hooks(targets: dict[str, Target]) -> dict[str, Callable[[], None]]:
        def look() -> None:
            (target,) = targets.values()
            assert isinstance(target, EmbeddedTarget)
            points = target.watch_points()
            assert points.server_pid == target._server.pid
            assert points.data_directory is not None
            assert points.wal_directory is not None
            seen.append((target, Path(points.data_directory), Path(points.wal_directory)))
            assert (Path(points.data_directory) / "PG_VERSION").is_file()

        return {"warm up": look}

    small_runs.run_with_targets(place, made, hooks)
    ((target, data, log),) = seen
    assert data == target.data_directory.resolve()
    assert log.is_relative_to(wal)


def test_no_password_is_in_what_is_kept(place: Place) -> None:
    passwords: list[str] = []

    def hooks(targets: dict[str, Target]) -> dict[str, Callable[[], None]]:
        def look() -> None:
            (target,) = targets.values()
            password = target.watch_points().password
            assert password is not None
            passwords.append(password)

        return {"warm up": look}

    small_runs.run_with_targets(place, plan_of(suite_of({"a": embedded("/dev/shm")})), hooks)
    kept = b"".join(path.read_bytes() for path in place.results.rglob("*") if path.is_file())
    assert len(passwords) == 1
    assert passwords[0].encode() not in kept
