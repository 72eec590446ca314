from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed.cli.kubernetes_following import Follower, JobState, Pace, Seen
from groundspeed.cli.kubernetes_log import REPLACED
from groundspeed.cli.kubernetes_runs import ClusterRun
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming, runner

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kube_store import Object
    from tests.unit.cli.cluster import Cluster
    from tests.unit.cli.conftest import Groundspeed

QUICK = Pace(look_s=0.0, pull_s=0.0, pause_s=0.05, patience_s=0.0)


class Following:
    """A follower, and what it told and pulled; `when` does something once a line was told."""

    def __init__(self, cluster: Cluster, pace: Pace = QUICK) -> None:
        run = ClusterRun(run_id=cluster.run_id, context="lab", namespace="bench")
        self.lines: list[str] = []
        self.pulled: list[str] = []
        self._when: dict[str, Callable[[], object]] = {}
        self._follower = Follower(
            cluster.server.client(),
            run,
            tell=self._tell,
            pull=self._pull,
            pace=pace,
        )
        self.pull: Callable[[], object] = lambda: None

    def when(self, text: str, do: Callable[[], object]) -> None:
        self._when[text] = do

    def follow(self) -> Seen:
        return self._follower.follow()

    def _tell(self, line: str) -> None:
        self.lines.append(line)
        for text in list(self._when):
            if text in line:
                self._when.pop(text)()

    def _pull(self, pod: str) -> None:
        self.pulled.append(pod)
        self.pull()


@pytest.fixture
def submitted(groundspeed: Groundspeed, cluster: Cluster) -> Cluster:
    code = groundspeed("run", "s.yaml", "--on", "kubernetes", "--yes", "--detach").code
    assert code == 0
    return cluster


def test_what_happens_is_told_in_order(submitted: Cluster) -> None:
    following = Following(submitted)

    def begin() -> None:
        pod = submitted.begin()
        submitted.say(pod, "one: setting up", "[1/2] one")
        following.when("[1/2] one", lambda: submitted.say(pod, "[2/2] two"))
        following.when("[2/2] two", lambda: submitted.end(pod, condition="Complete"))

    following.when("waiting for the pod", begin)
    seen = following.follow()
    assert (seen.state, seen.code) == (JobState.COMPLETE, 0)
    assert following.lines[0] == "waiting for the pod of the runner"
    assert "the runner is up on node node-1" in following.lines
    said = [line for line in following.lines if "runner" not in line]
    assert said == ["one: setting up", "[1/2] one", "[2/2] two"]
    assert seen.last_lines[-1] == "[2/2] two"


def test_it_pulls_after_trials_and_not_for_every_line(submitted: Cluster) -> None:
    following = Following(submitted)
    pod = submitted.begin()
    # A run may have much already when somebody comes to follow it.
    reasons = iter((("setting up",), None))

    def pull() -> None:
        lines = next(reasons)
        if lines is None:
            submitted.end(pod, condition="Complete")
        else:
            submitted.say(pod, *lines)

    following.pull = pull
    following.when("setting up", lambda: submitted.say(pod, "still setting up"))
    following.when("still", lambda: submitted.say(pod, "[1/1] one"))
    following.follow()
    assert following.pulled == [pod, pod]


def test_a_pull_that_fails_is_told_once_and_ends_nothing(submitted: Cluster) -> None:
    following = Following(submitted)

    def fail() -> None:
        raise TargetError("no room in the pod", "make some")

    following.pull = fail
    pod = submitted.begin()
    submitted.say(pod, "[1/3] one")
    told = "results do not come at the moment: no room in the pod"
    following.when(told, lambda: submitted.say(pod, "[2/3] one", "[3/3] one"))
    following.when("[3/3]", lambda: submitted.end(pod, condition="Complete"))
    assert following.follow().state is JobState.COMPLETE
    assert following.lines.count(told) == 1


def test_another_pod_is_told_before_its_first_line(submitted: Cluster) -> None:
    following = Following(submitted)
    first = submitted.begin()
    submitted.say(first, "a")

    def replace() -> None:
        submitted.end(first, 130)
        second = submitted.begin(node="node-2")
        submitted.say(second, "b")
        following.when("b", lambda: submitted.end(second, condition="Complete"))

    following.when("a", replace)
    following.follow()
    said = [line for line in following.lines if line in {"a", "b", REPLACED}]
    assert said == ["a", REPLACED, "b"]


def test_a_log_that_breaks_off_is_read_on(submitted: Cluster) -> None:
    following = Following(submitted)
    pod = submitted.begin()
    submitted.say(pod, "a")

    def break_off() -> None:
        # Its connection ends, as a proxy does it; then lines come that nobody listens for.
        submitted.server.end_log(pod, container=runner.CONTAINER)
        submitted.say(pod, "b", "c")
        following.when("c", lambda: submitted.end(pod, condition="Complete"))

    following.when("a", break_off)
    following.follow()
    assert [line for line in following.lines if line in {"a", "b", "c"}] == ["a", "b", "c"]


def test_an_api_server_that_is_away_is_asked_again(submitted: Cluster) -> None:
    following = Following(submitted)
    pod = submitted.begin()
    submitted.say(pod, "a")
    refused = {"kind": "Status", "code": 422, "message": "out of order", "reason": "Invalid"}
    following.when(
        "a", lambda: submitted.server.fail_next("GET", "/jobs/", 422, body=refused, times=3)
    )
    following.when(
        "the run goes on, asking again", lambda: submitted.end(pod, condition="Complete")
    )
    assert following.follow().state is JobState.COMPLETE
    assert sum("the run goes on, asking again" in line for line in following.lines) == 1


def test_whoever_may_not_look_is_told_at_once(submitted: Cluster) -> None:
    submitted.server.deny("get", "jobs", group="batch")
    with pytest.raises(KubeError) as caught:
        Following(submitted).follow()
    assert caught.value.status == 403


def pending(cluster: Cluster, *, reason: str, message: str) -> Object:
    state = {"waiting": {"reason": reason, "message": message}}
    waiting = {"name": runner.CONTAINER, "image": "nothing:1", "state": state}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{naming.run_name(cluster.run_id)}-0",
            "labels": naming.labels(cluster.run_id, "runner"),
            "creationTimestamp": "2026-01-31T11:00:00Z",
        },
        "spec": {"containers": [{"name": runner.CONTAINER, "image": "nothing:1"}]},
        "status": {"phase": "Pending", "containerStatuses": [waiting]},
    }


def test_a_pod_that_can_never_start_ends_the_waiting(submitted: Cluster) -> None:
    pod = pending(submitted, reason="InvalidImageName", message="not a name")
    submitted.server.put(pod)
    following = Following(submitted)
    with pytest.raises(TargetError) as caught:
        following.follow()
    assert "nothing:1" in caught.value.message
    [(_, hint)] = caught.value.further
    assert hint == f"groundspeed clean --run {submitted.run_id} removes it"


def test_what_keeps_a_pod_waiting_is_told_once(submitted: Cluster) -> None:
    pod = pending(submitted, reason="", message="")
    pod["status"] = {
        "phase": "Pending",
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": "0/3 nodes are available: 3 Insufficient cpu.",
            }
        ],
    }
    submitted.server.put(pod)
    following = Following(submitted)
    name = pod["metadata"]["name"]

    def change() -> None:
        # The same again, at another time.
        submitted.server.change("Pod", name, {"metadata": {"annotations": {"x": "y"}}})
        threading.Thread(target=submitted.measure_all).start()

    following.when("3 Insufficient cpu", change)
    assert following.follow().state is JobState.COMPLETE
    assert sum("3 Insufficient cpu" in line for line in following.lines) == 1


def test_a_claim_that_waits_is_told(submitted: Cluster) -> None:
    pod = pending(submitted, reason="ContainerCreating", message="")
    submitted.server.put(pod)
    name = runner.results_name(submitted.run_id)
    submitted.server.change("PersistentVolumeClaim", name, {"status": {"phase": "Pending"}})
    claim = submitted.server.object("PersistentVolumeClaim", name)
    assert claim is not None
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "PersistentVolumeClaim", "uid": claim["metadata"]["uid"]},
        "type": "Warning",
        "reason": "ProvisioningFailed",
        "message": "no space left on any disk",
        "lastTimestamp": "2026-01-31T12:00:00Z",
    }
    submitted.server.put(event)
    following = Following(submitted, Pace(look_s=0.0, pull_s=0.0, pause_s=0.05, patience_s=600))
    following.when("no space left", lambda: threading.Thread(target=submitted.measure_all).start())
    assert following.follow().state is JobState.COMPLETE
    assert sum("no space left on any disk" in line for line in following.lines) == 1
