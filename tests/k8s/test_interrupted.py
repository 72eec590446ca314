"""Pods that go in the middle of a trial: nothing is lost, nothing is measured twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from groundspeed.record import Failed

if TYPE_CHECKING:
    from tests.k8s.lab import Lab


def records_at_hand(lab: Lab) -> int:
    lab.groundspeed("collect", lab.run_id())
    return len(lab.records())


@pytest.mark.parametrize("grace", ["--grace-period=30", "--grace-period=0"])
def test_the_runner_goes_and_another_goes_on(lab: Lab, grace: str) -> None:
    suite = lab.suite("runner-goes", duration="6s", repeats=3)
    assert lab.groundspeed("run", suite, *lab.run_options(), "--detach").returncode == 0
    lab.wait("two trials", lambda: records_at_hand(lab) >= 2)
    before = lab.records()
    lab.wait_for_load()
    first = lab.pod("runner")["metadata"]["name"]
    forced = ["--force"] if grace.endswith("=0") else []
    lab.kubectl("delete", "pod", first, grace, *forced, "--wait=false")
    done = lab.groundspeed("attach", lab.run_id())
    assert done.returncode == 0, done.stderr
    after = lab.records()
    assert after[: len(before)] == before
    times = Counter(record.trial.trial_id for record in lab.measured())
    assert set(times.values()) == {1}
    assert len(times) == 6
    assert lab.failed() == []
    assert lab.groundspeed("clean", "--run", lab.run_id()).returncode == 0
    assert lab.left() == set()


def test_a_server_goes_and_its_trial_is_measured_again(lab: Lab) -> None:
    suite = lab.suite("server-goes", duration="30s", repeats=1)
    assert lab.groundspeed("run", suite, *lab.run_options(), "--detach").returncode == 0
    environment = lab.wait_for_load()
    pod = lab.pod("server", environment=environment)["metadata"]["name"]
    lab.kubectl("delete", "pod", pod, "--wait=false")
    done = lab.groundspeed("attach", lab.run_id())
    assert done.returncode == 0, done.stderr
    (failed,) = lab.failed()
    assert isinstance(failed.outcome, Failed)
    assert failed.outcome.retryable
    assert failed.trial.cell.environment == environment
    assert "its pod was deleted" in failed.outcome.reason
    times = Counter(record.trial.trial_id for record in lab.measured())
    assert times[failed.trial.trial_id] == 1
    assert set(times.values()) == {1}
    assert len(times) == 2
    assert lab.groundspeed("clean", "--run", lab.run_id()).returncode == 0
    assert lab.left() == set()
