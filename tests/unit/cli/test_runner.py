"""What a pod of a run does before it measures anything: it knows what was asked, or refuses."""

from __future__ import annotations

import json
import os
import select
import signal
import threading
from typing import TYPE_CHECKING

import pytest

from groundspeed import __version__, store
from groundspeed.cli import suites
from groundspeed.cli.in_cluster import InCluster
from groundspeed.cli.main import HIDDEN, main
from groundspeed.cli.runner import Asked, Runner
from groundspeed.errors import ExitCode, GroundspeedError, SpecError, TargetError
from groundspeed.kube.api import KubeError
from groundspeed.plan.digest import digest
from tests.examples import make_measured, make_record
from tests.kube_runs import NAME, RUN_ID, put_anchor, suite_text
from tests.kube_server import KubeServer, ready_pod

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from groundspeed.plan import Plan
    from tests.kube_store import Object

ME = InCluster(pod="runner-1", namespace="bench", node="node-1", run_id=RUN_ID)


class Pod:
    """A pod of a run, with its suite and its results."""

    def __init__(self, kube: KubeServer, root: Path) -> None:
        self.kube = kube
        self.suite, self.results = root / "suite", root / "results"
        self.suite.mkdir()
        self.results.mkdir()
        self.write("suite.yaml", suite_text(repeats=2))

    def write(self, name: str, text: str) -> None:
        (self.suite / name).write_text(text)

    @property
    def plan(self) -> Plan:
        return suites.load(str(self.suite / "suite.yaml"), ())[1]

    @property
    def run_dir(self) -> Path:
        return self.results / RUN_ID

    def runner(self, *, digest_asked: str | None = None) -> Runner:
        asked = Asked(suite=self.suite, results=self.results, digest=digest_asked)
        return Runner(ME, self.kube.client(), asked, {})

    def refusal(self, **more: str) -> GroundspeedError:
        with pytest.raises(GroundspeedError) as caught:
            self.runner(digest_asked=more.get("digest")).run()
        return caught.value


@pytest.fixture
def kube() -> Iterator[KubeServer]:
    with KubeServer() as server:
        yield server


@pytest.fixture
def pod(kube: KubeServer, tmp_path: Path) -> Pod:
    put_anchor(kube)
    return Pod(kube, tmp_path)


def test_it_is_called_by_a_job_and_shown_to_nobody(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "runner" in HIDDEN
    assert main(["--help"]) == ExitCode.OK
    assert "runner" not in capsys.readouterr().out
    for name in ("POD_NAME", "POD_NAMESPACE", "GROUNDSPEED_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    assert main(["runner"]) == ExitCode.USAGE
    assert "this is no pod of a run" in capsys.readouterr().err


def test_without_an_anchor_there_is_no_run(kube: KubeServer, tmp_path: Path) -> None:
    error = Pod(kube, tmp_path).refusal()
    assert isinstance(error, TargetError)
    assert error.message == f"there is no ConfigMap {NAME} of this run"


def test_a_plan_that_is_not_the_callers_is_refused(pod: Pod) -> None:
    error = pod.refusal(digest="0" * 64)
    assert isinstance(error, SpecError)
    assert error.message == (
        f"the plan of groundspeed {__version__} here is not that of the caller's (0.0.7)"
    )
    assert "--image" in error.hint
    pod.write("plan_digest", "1" * 64)
    assert pod.refusal().exit_code == ExitCode.SPEC
    assert list(pod.results.iterdir()) == []


def test_a_directory_with_another_plan_is_refused(pod: Pod) -> None:
    pod.write("suite.yaml", suite_text(repeats=3))
    store.create_run(pod.results, pod.plan, RUN_ID)
    pod.write("suite.yaml", suite_text(repeats=2))
    error = pod.refusal()
    assert error.exit_code == ExitCode.SPEC
    assert "has another plan" in error.message


def test_the_plan_is_written_once_and_whole(pod: Pod) -> None:
    pod.write("plan_digest", f"{digest(pod.plan)}\n")
    # A process that died in between left its directory without a plan.
    (pod.run_dir / "raw").mkdir(parents=True)
    assert "no password for the server" in pod.refusal().message
    assert store.read_plan(pod.run_dir) == pod.plan
    written = (pod.run_dir / store.PLAN_FILE).stat().st_mtime_ns
    assert "no password for the server" in pod.refusal().message
    assert (pod.run_dir / store.PLAN_FILE).stat().st_mtime_ns == written


def test_arguments_of_the_caller_count(pod: Pod) -> None:
    pod.write("arguments", json.dumps(["measure.repeats=1"]))
    assert "no password" in pod.refusal().message
    assert len(store.read_plan(pod.run_dir).trials) == 2


def test_the_log_says_where_it_stands(pod: Pod, capsys: pytest.CaptureFixture[str]) -> None:
    pod.refusal()
    assert f"begins run {RUN_ID} in pod runner-1" in capsys.readouterr().err
    kept = store.RunStore(pod.run_dir)
    for trial in pod.plan.trials[:3]:
        kept.append(make_record(trial, make_measured(1000.0)))
    kept.close()
    pod.refusal()
    assert f"goes on with run {RUN_ID}: 3 of 4 trials are there" in capsys.readouterr().err


def test_the_lease_is_given_back(pod: Pod) -> None:
    pod.refusal()
    lease = pod.kube.object("Lease", NAME)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == ""
    assert lease["metadata"]["ownerReferences"][0]["name"] == NAME


def held(kube: KubeServer, holder: str) -> Object:
    return kube.put(
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": NAME},
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 3600},
        }
    )


def test_the_lease_of_a_dead_pod_is_taken(pod: Pod) -> None:
    held(pod.kube, "runner-0")
    assert "no password" in pod.refusal().message


def test_a_signal_is_heard_while_another_pod_is_at_work(pod: Pod) -> None:
    held(pod.kube, "runner-0")
    pod.kube.put(ready_pod("runner-0", container="runner"))
    heard = signal.getsignal(signal.SIGTERM)

    def send() -> None:
        while not any("leases" in r.path and "watch" in r.query for r in pod.kube.requests):
            select.select([], [], [], 0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        pod.runner().run()
    sender.join()
    # Whoever heard signals before does so again.
    assert signal.getsignal(signal.SIGTERM) is heard
    lease = pod.kube.object("Lease", NAME)
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "runner-0"


def test_who_may_not_read_its_own_anchor_says_so(pod: Pod) -> None:
    pod.kube.deny("get", "configmaps")
    error = pod.refusal()
    assert isinstance(error, KubeError)
    assert error.status == 403
    assert error.exit_code == ExitCode.TARGET
