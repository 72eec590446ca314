from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest

from groundspeed import plan as plans
from groundspeed import spec, store
from groundspeed.cli.main import main
from tests.examples import make_measured, make_record
from tests.kube_server import KubeServer
from tests.unit.cli.cluster import SUITE, Cluster

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.record import Outcome

SMALL_SUITE = """\
suite: small
environments:
  one: {target: embedded, storage: {directory: ./one}}
  two: {target: embedded, storage: {directory: ./two}}
workloads: [select-only]
clients: [1]
scale: 1
measure: {duration: 1s, warm_up: 0s, repeats: 6}
"""


# No disk is as fast as this device, so its trials are skipped and no server is started.
TOO_FAST = """\
      emulate:
        profile: too-fast
        about: faster than anything
        device: {read: 0.01us, write: 0.01us, sync: 0.01us, parallel: 1}
        request_size: 128KiB
        figures: [{what: all, standing: assumed, source: a test, date: 2026-01}]
"""


class Done(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith(("error: ", "hint: "))]


class Groundspeed(Protocol):
    def __call__(self, *arguments: str) -> Done: ...


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """A cluster that the kubeconfig names, and a suite for it as s.yaml."""
    with KubeServer() as server:
        monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig()))
        results = tmp_path / "claim"
        results.mkdir()
        (tmp_path / "s.yaml").write_text(SUITE)
        played = Cluster(server, results)
        yield played
        played.close()


@pytest.fixture
def groundspeed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Groundspeed:
    """Run a command in an empty directory, as the entry point does."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> Done:
        code = main(arguments)
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


def small_plan(text: str = SMALL_SUITE) -> plans.Plan:
    return plans.make_plan(
        spec.load_suite(text, source="small.yaml"),
        source="small.yaml",
        rng=random.Random(1),
        groundspeed_version="0.1.0",
        scripts={},
    )


def write_run(
    results_dir: Path,
    run_id: str,
    outcomes: list[Outcome] | None = None,
    *,
    first_number: int = 0,
) -> Path:
    """Make a run directory whose first trials came to `outcomes`; all measured without them.

    `first_number` sets when it started: runs with the same records are taken for one.
    """
    plan = small_plan()
    run_dir = store.create_run(results_dir, plan, run_id)
    kept = store.RunStore(run_dir)
    if outcomes is None:
        speeds = {"one": 1000.0, "two": 2000.0}
        outcomes = [
            make_measured(speeds[trial.cell.environment] + number)
            for number, trial in enumerate(plan.trials)
        ]
    pairs = zip(plan.trials, outcomes, strict=False)
    for number, (trial, outcome) in enumerate(pairs, start=first_number):
        kept.append(make_record(trial, outcome, number=number))
    kept.close()
    return run_dir
