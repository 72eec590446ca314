"""Whole runs of Redis by the command: from a preset to a report, and after a kill."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.errors import ExitCode, TargetError
from groundspeed.record import Measured
from groundspeed.targets import emulation
from tests import leftovers
from tests.interrupted.driving import command, driven, wait_until_gone

if TYPE_CHECKING:
    from pathlib import Path

    from tests.small_runs import Place

PLAIN = """\
suite: plain
engine: redis
environments:
  none: {{target: embedded, storage: {{directory: {0}}}}}
  log: {{target: embedded, storage: {{directory: {0}}}, options: {{persistence: aof always}}}}
workloads:
  - {{name: set, load: {{test: set, payload: 100B, keyspace: 1000}}}}
clients: [4]
measure: {{duration: 1s, warm_up: 200ms, repeats: 2}}
"""


def run_of(place: Place) -> Path:
    (run_dir,) = [path for path in (place.root / "runs").iterdir() if path.is_dir()]
    return run_dir


def test_a_preset_runs_to_its_report(place: Place) -> None:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)
    less = ("--set", "measure={duration: 1s, warm_up: 200ms, repeats: 1}")
    with driven(command("run", "redis-quick", "--yes", *less), place.root) as run:
        assert run.finish() == ExitCode.OK, run.output
    run_dir = run_of(place)
    records = store.read_run(run_dir).records
    assert len(records) == 6
    for record in records:
        assert isinstance(record.outcome, Measured), record.outcome
        assert record.outcome.histogram.count == record.outcome.transaction_count
        assert record.provenance.tool == "redis-benchmark"
        assert record.provenance.server is not None
        assert record.provenance.server.version.startswith(("Redis", "Valkey"))
    with driven(command("report", run_dir), place.root) as text:
        assert text.finish() == ExitCode.OK
    assert "aof-always (emulated)" in text.output
    assert "pgbench" not in text.output
    with driven(command("report", run_dir, "--format", "json"), place.root) as data:
        assert data.finish() == ExitCode.OK
    found = json.loads(data.output)
    assert len(found["cells"]) == 6
    assert leftovers.processes_of(run_dir.name) == []


def test_a_killed_run_goes_on_and_leaves_nothing(place: Place) -> None:
    suite = place.root / "plain.yaml"
    suite.write_text(PLAIN.format(place.storage))
    with driven(command("run", suite, "--yes"), place.root) as run:
        run.wait_for("[1/4]")
        run_dir = run_of(place)
        watch = place.watch(run_dir)
        tool = run.wait_for_process(run_dir.name, "redis-benchmark")
        run.process.send_signal(signal.SIGSTOP)
        watch.look()
        run.process.kill()
        run.process.wait()
        wait_until_gone(tool)
    assert watch.processes
    with driven(command("resume", run_dir), place.root) as resumed:
        assert resumed.finish() == ExitCode.OK, resumed.output
    assert watch.left() == []
    measured = [r for r in store.read_run(run_dir).records if isinstance(r.outcome, Measured)]
    assert sorted(r.trial.trial_id for r in measured) == sorted(
        t.trial_id for t in store.read_plan(run_dir).trials
    )
