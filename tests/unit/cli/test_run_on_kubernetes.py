from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.cli import kubernetes_running, kubernetes_runs
from groundspeed.manifests import naming
from groundspeed.plan.digest import digest
from groundspeed.record import Failed
from tests.examples import make_measured
from tests.unit.cli.cluster import SUITE, storage_class

if TYPE_CHECKING:
    from tests.unit.cli.cluster import Cluster
    from tests.unit.cli.conftest import Groundspeed

ON = ("--on", "kubernetes", "--yes")
DETACHED = (*ON, "--detach")


def the_run() -> Path:
    [run_dir] = Path("runs").iterdir()
    return run_dir


def test_a_suite_becomes_a_job_and_its_results_a_report(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    cluster.at_job = cluster.measure_all
    done = groundspeed("run", "s.yaml", *ON)
    assert (done.code, done.errors) == (0, [])
    assert "select-only: two is faster than one" in done.out
    assert f"run:    {the_run()}\n" in done.out
    assert (the_run() / "report.html").is_file()
    assert len(store.read_run(the_run()).records) == 12
    assert store.read_plan(the_run()).source == str(Path("s.yaml").absolute())
    assert "context lab, namespace bench: run " in done.err
    assert [line for line in done.err.splitlines() if line.startswith("[")] == [
        f"[{number:>2}/12] {trial.trial_id}"
        for number, trial in enumerate(store.read_plan(the_run()).trials, start=1)
    ]
    # What it was pulled through is gone, what the run made is there.
    assert [pod["metadata"]["labels"][naming.ROLE_LABEL] for pod in cluster.pods()] == ["runner"]


def test_everything_is_written_down_before_it_is_made(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    done = groundspeed("run", "s.yaml", *DETACHED)
    assert done.code == 0
    name = naming.run_name(cluster.run_id)
    kinds = [write.split("/")[0] for write in cluster.server.writes]
    assert kinds[:2] == ["create ConfigMap", "create Secret"]
    assert cluster.server.writes[-1] == f"create Job/{name}"
    owned = json.loads(cluster.anchor["data"]["owned"])
    assert {ref["kind"] for ref in owned} == {
        "ClusterRole", "ClusterRoleBinding", "PersistentVolumeClaim",
    }  # fmt: skip
    uid = cluster.anchor["metadata"]["uid"]
    for obj in cluster.server.objects():
        meta = obj["metadata"]
        if naming.RUN_LABEL not in meta.get("labels", {}) or obj["kind"] == "ConfigMap":
            continue
        owners = [owner["uid"] for owner in meta.get("ownerReferences", ())]
        assert (owners == [uid]) != (obj["kind"] in {ref["kind"] for ref in owned}), obj["kind"]


def test_a_password_is_made_up_and_nowhere_here(groundspeed: Groundspeed, cluster: Cluster) -> None:
    done = groundspeed("run", "s.yaml", *DETACHED)
    [secret] = cluster.server.objects("Secret")
    password = secret["stringData"]["password"]
    assert len(password) == 32
    assert password not in done.out + done.err
    everything = [path.read_text() for path in the_run().rglob("*") if path.is_file()]
    assert not any(password in text for text in everything)


def test_the_pod_makes_the_same_plan(groundspeed: Groundspeed, cluster: Cluster) -> None:
    Path("sub").mkdir()
    Path("sub/x.sql").write_text("SELECT 1;\n")
    workload = "  - {name: mine, script: sub/x.sql}"
    text = SUITE.replace("workloads: [select-only]", f"workloads:\n{workload}\n  - tpcb-like")
    Path("s.yaml").write_text(text)
    groundspeed("run", "s.yaml", "--set", "measure.repeats=7", *DETACHED)
    assert cluster.anchor["data"]["suite.yaml"] == text
    assert cluster.anchor["data"]["x.sql"] == "SELECT 1;\n"
    here = store.read_plan(the_run())
    assert digest(cluster.plan()) == digest(here) == cluster.anchor["data"]["plan_digest"]
    assert {trial.cell.workload for trial in here.trials} == {"mine", "tpcb-like"}


def test_detached_it_says_how_to_go_on(groundspeed: Groundspeed, cluster: Cluster) -> None:
    done = groundspeed("run", "s.yaml", *DETACHED)
    name = cluster.run_id
    assert f"follow it:          groundspeed attach {name}\n" in done.err
    assert f"results so far:     groundspeed collect {name}\n" in done.err
    assert f"stop and remove it: groundspeed clean --run {name}\n" in done.err
    run = kubernetes_runs.read(the_run())
    assert run is not None
    assert (run.run_id, run.context, run.namespace) == (name, "lab", "bench")


def test_generators_are_pods(groundspeed: Groundspeed, cluster: Cluster) -> None:
    done = groundspeed("run", "s.yaml", "--set", "clients=[4]", "--generators", "3", *DETACHED)
    assert done.code == 0
    assert store.read_plan(the_run()).generator_count == 3
    assert cluster.plan().generator_count == 3


def test_trials_that_failed_end_it_as_a_local_run(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    def at_job() -> None:
        pod = cluster.begin()
        failed = Failed(reason="the server was killed", retryable=True)
        cluster.measure(pod, 12, [make_measured(9.0)] * 11 + [failed])
        cluster.end(pod, 5, condition="Failed")

    cluster.at_job = at_job
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 5
    assert done.errors == [
        "error: 1 of 12 trials failed: the server was killed",
        f"hint: try them again with: groundspeed resume {the_run()}",
    ]


def test_a_job_that_failed_keeps_what_it_measured(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    def at_job() -> None:
        pod = cluster.begin()
        cluster.measure(pod, 5)
        cluster.say(pod, "error: the results volume is full", "hint: ask for more")
        cluster.end(pod, 4, condition="Failed")

    cluster.at_job = at_job
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 4
    assert done.errors[2:] == [
        "error: the runner failed: the results volume is full",
        "hint: ask for more",
        f"error: 5 of 12 trials are measured and kept in {the_run()}",
        f"hint: groundspeed resume {the_run()} goes on with the others",
    ]
    assert len(store.read_run(the_run()).records) == 5


def test_a_job_that_had_no_time_is_told(groundspeed: Groundspeed, cluster: Cluster) -> None:
    def at_job() -> None:
        pod = cluster.begin()
        cluster.end(pod, 130)
        cluster.end_job("Failed", reason="DeadlineExceeded", message="longer than deadline")

    cluster.at_job = at_job
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 4
    assert "deadline" in done.errors[0] or "time" in done.errors[0]


def test_another_pod_goes_on(groundspeed: Groundspeed, cluster: Cluster) -> None:
    def at_job() -> None:
        first = cluster.begin()
        cluster.measure(first, 4)
        cluster.wait_until_pulled(first)
        cluster.end(first, 130)
        second = cluster.begin(node="node-2")
        cluster.measure(second, 8)
        cluster.end(second, condition="Complete")

    cluster.at_job = at_job
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 0
    assert done.err.count("the runner pod was replaced, the run goes on") == 1
    assert done.err.count("[ 4/12]") == done.err.count("[ 5/12]") == 1
    assert len(store.read_run(the_run()).records) == 12


def test_ctrl_c_leaves_the_run_alone(
    groundspeed: Groundspeed, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("groundspeed.cli.kubernetes_attaching.Follower.follow", interrupted)
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 130
    assert f"detached: run {cluster.run_id} goes on in namespace bench\n" in done.err
    assert f"groundspeed attach {cluster.run_id}\n" in done.err
    assert cluster.server.object("Job", naming.run_name(cluster.run_id)) is not None


def test_a_submission_that_broke_can_be_done_again(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    cluster.server.fail_next("POST", "/jobs", 403, body=FORBIDDEN)
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 4
    run_dir = the_run()
    assert f"hint: groundspeed resume {run_dir} tries again" in done.errors[-1]
    assert cluster.server.objects("Job") == []
    [secret] = cluster.server.objects("Secret")
    cluster.at_job = cluster.measure_all
    done = groundspeed("resume", str(run_dir))
    assert (done.code, done.errors) == (0, [])
    assert cluster.server.objects("Secret") == [secret]
    assert len(store.read_run(run_dir).records) == 12


FORBIDDEN = {
    "kind": "Status",
    "status": "Failure",
    "reason": "Forbidden",
    "code": 403,
    "message": "jobs.batch is forbidden: exceeded quota: small, requested: pods=1, used: pods=9",
}


def test_resume_makes_another_job_of_one_that_ended(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    def at_job() -> None:
        pod = cluster.begin()
        cluster.measure(pod, 3)
        cluster.end(pod, 4, condition="Failed")

    cluster.at_job = at_job
    assert groundspeed("run", "s.yaml", *ON).code == 4
    cluster.at_job = cluster.measure_all
    done = groundspeed("resume", str(the_run()))
    assert (done.code, done.errors) == (0, [])
    assert f"run {cluster.run_id} goes on" in done.err
    assert cluster.server.writes.count(f"create Job/{naming.run_name(cluster.run_id)}") == 2
    assert len(store.read_run(the_run()).records) == 12


def test_resume_follows_a_job_that_is_at_work(groundspeed: Groundspeed, cluster: Cluster) -> None:
    groundspeed("run", "s.yaml", *DETACHED)
    cluster.measure_all()
    cluster.server.change("Job", naming.run_name(cluster.run_id), {"status": {"conditions": []}})
    cluster.end_job("Complete")
    before = list(cluster.server.writes)
    assert groundspeed("attach", cluster.run_id).code == 0
    assert not [w for w in cluster.server.writes[len(before) :] if "Job" in w]


def test_resume_of_a_run_that_was_cleaned_says_so(
    groundspeed: Groundspeed, cluster: Cluster
) -> None:
    groundspeed("run", "s.yaml", *DETACHED)
    run_id = cluster.run_id
    assert groundspeed("clean", "--run", run_id).code == 0
    done = groundspeed("resume", f"runs/{run_id}")
    assert done.code == 4
    assert done.errors[0] == f"error: run {run_id} is not in namespace bench any more"


def test_another_thing_of_that_name_is_not_touched(
    groundspeed: Groundspeed, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes_running, "new_run_id", lambda *_: "20260131-120000-small")
    monkeypatch.setattr(kubernetes_running.secrets, "token_hex", lambda _: "0000")
    name = naming.run_name("20260131-120000-small-0000")
    cluster.server.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    done = groundspeed("run", "s.yaml", *DETACHED)
    assert done.code == 4
    assert done.errors[0] == f"error: ConfigMap {name} in namespace bench is not of this run"
    assert cluster.server.objects("Job") == []


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--detach",), "--detach is for a run in a cluster alone", "add --on kubernetes"),
        (("--image", "x"), "--image is for a run in a cluster alone", "add --on kubernetes"),
        ((), "s.yaml: environment one is in Kubernetes", "add --on kubernetes to groundspeed run"),
    ],
)
def test_without_on_kubernetes_it_is_refused(
    arguments: tuple[str, ...], message: str, hint: str, groundspeed: Groundspeed
) -> None:
    Path("s.yaml").write_text(SUITE)
    done = groundspeed("run", "s.yaml", "--yes", *arguments)
    assert done.errors[:2] == [f"error: {message}", f"hint: {hint}"]
    assert not Path("runs").exists()


def test_plan_and_doctor_know_where_it_belongs(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(SUITE)
    done = groundspeed("plan", "s.yaml")
    assert done.code == 0
    assert "'host=SERVER user=postgres dbname=groundspeed'" in done.out
    done = groundspeed("doctor", "s.yaml")
    assert done.code == 4
    assert done.errors[0] == (
        "error: s.yaml cannot run here: suite: environment one is in Kubernetes"
    )


def test_what_is_missing_is_said_at_once(groundspeed: Groundspeed, cluster: Cluster) -> None:
    cluster.server.remove("StorageClass", "fast")
    cluster.server.remove("StorageClass", "standard")
    cluster.server.put(storage_class("faster"))
    done = groundspeed("run", "s.yaml", *ON)
    assert done.code == 4
    assert done.errors == [
        "error: there is no storage class fast",
        "hint: did you mean faster?",
        "error: no storage class is the default here, so nothing says where results are kept",
        "hint: name one with --results-class: faster, slow",
    ]
    assert cluster.server.writes == []
    assert not Path("runs").exists()
