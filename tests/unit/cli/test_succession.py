"""Whether servers stay when a process of a run lets go of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from groundspeed import store
from groundspeed.cli.succession import Succession
from groundspeed.errors import TargetError, UnavailableError
from groundspeed.record import Failed
from groundspeed.store import RunStore
from tests.examples import make_measured, make_record
from tests.kube_runs import NAME, RUN_ID, planned, put_anchor, suite_text
from tests.kube_server import KubeServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.record import Outcome


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer() as server:
        put_anchor(server)
        yield server


def _fail(kind: type[TargetError]) -> None:
    raise kind("the server is gone", "see its log")


class Runs:
    """A run of two trials, and its records."""

    def __init__(self, kube: KubeServer, results: Path) -> None:
        self.plan = planned(suite_text())
        self.run_dir = store.create_run(results, self.plan, RUN_ID)
        self.succession = Succession(kube.client(), RUN_ID, self.plan, self.run_dir)

    def keep(self, *outcomes: Outcome) -> None:
        kept = RunStore(self.run_dir)
        for trial, outcome in zip(self.plan.trials, outcomes, strict=False):
            kept.append(make_record(trial, outcome))
        kept.close()

    def goes_on_after_an_error(self, kind: type[TargetError] = TargetError) -> bool:
        # As servers are let go of: while the error is on its way.
        try:
            _fail(kind)
        except TargetError:
            return self.succession.goes_on()
        return False


@pytest.fixture
def run(kube: KubeServer, tmp_path: Path) -> Runs:
    return Runs(kube, tmp_path)


DONE = make_measured(1000.0)
LOST = Failed(reason="its pod was deleted", retryable=True)


def test_at_its_end_a_run_does_not_go_on(run: Runs) -> None:
    run.keep(DONE, DONE)
    assert not run.succession.goes_on()
    run.succession.interrupted()
    assert not run.succession.goes_on()


def test_trials_that_may_go_well_are_tried_again_while_there_are_passes(run: Runs) -> None:
    run.keep(DONE, LOST)
    run.succession.further_pass_count = 1
    assert run.succession.goes_on()
    run.succession.further_pass_count = 0
    assert not run.succession.goes_on()


def test_what_would_fail_again_is_not_tried_again(run: Runs) -> None:
    run.keep(DONE, Failed(reason="no such table", retryable=False))
    run.succession.further_pass_count = 2
    assert not run.succession.goes_on()


def test_an_interrupted_run_goes_on_in_the_next_pod(run: Runs) -> None:
    run.keep(DONE)
    run.succession.interrupted()
    assert run.succession.goes_on()


def test_where_waiting_does_not_help_no_pod_follows(run: Runs) -> None:
    assert run.goes_on_after_an_error()
    assert not run.goes_on_after_an_error(UnavailableError)


def test_after_an_error_it_goes_on_as_often_as_the_job_tries(kube: KubeServer, run: Runs) -> None:
    assert run.goes_on_after_an_error()
    kube.change("Job", NAME, {"status": {"failed": 5}})
    assert run.goes_on_after_an_error()
    kube.change("Job", NAME, {"status": {"failed": 6}})
    assert not run.goes_on_after_an_error()
    # An end in order is no failure.
    run.succession.interrupted()
    assert run.goes_on_after_an_error()


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("Job", {"status": {"conditions": [{"type": "FailureTarget", "status": "True"}]}}),
        ("Job", {"status": {"conditions": [{"type": "Failed", "status": "True"}]}}),
        ("Job", {"metadata": {"finalizers": ["x/y"], "deletionTimestamp": "2026-01-31T12:00:00Z"}}),
        (
            "ConfigMap",
            {"metadata": {"finalizers": ["x/y"], "deletionTimestamp": "2026-01-31T12:00:00Z"}},
        ),
    ],
)
def test_a_run_that_is_given_up_leaves_nothing(
    kube: KubeServer, run: Runs, kind: str, change: dict[str, Any]
) -> None:
    run.succession.interrupted()
    kube.change(kind, NAME, change)
    assert not run.succession.goes_on()


@pytest.mark.parametrize("kind", ["Job", "ConfigMap"])
def test_a_run_that_was_deleted_leaves_nothing(kube: KubeServer, run: Runs, kind: str) -> None:
    run.succession.interrupted()
    kube.remove(kind, NAME)
    assert not run.succession.goes_on()


def test_a_condition_that_does_not_hold_is_none(kube: KubeServer, run: Runs) -> None:
    run.succession.interrupted()
    conditions = [{"type": "Suspended", "status": "True"}, {"type": "Failed", "status": "False"}]
    kube.change("Job", NAME, {"status": {"conditions": conditions}})
    assert run.succession.goes_on()


def test_who_may_not_ask_leaves_it_all(kube: KubeServer, run: Runs) -> None:
    run.succession.interrupted()
    kube.deny("get", "jobs", group="batch")
    assert run.succession.goes_on()


def test_what_another_pod_took_is_its_own(kube: KubeServer, run: Runs) -> None:
    run.keep(DONE, DONE)
    kube.remove("Job", NAME)
    run.succession.is_lease_lost = True
    assert run.succession.goes_on()
