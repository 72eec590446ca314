from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.cli import kubernetes_runs
from groundspeed.cli.kubernetes_options import Connection
from groundspeed.cli.kubernetes_runs import ClusterRun
from groundspeed.errors import StoreError
from groundspeed.manifests import naming, runner

if TYPE_CHECKING:
    from tests.unit.cli.cluster import Cluster
    from tests.unit.cli.conftest import Groundspeed

DETACHED = ("--on", "kubernetes", "--yes", "--detach")


@pytest.fixture
def run_id(groundspeed: Groundspeed, cluster: Cluster) -> str:
    """A run that was submitted; nothing of it was measured."""
    assert groundspeed("run", "s.yaml", *DETACHED).code == 0
    return cluster.run_id


def test_a_run_that_has_ended_is_reported(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    done = groundspeed("attach", run_id, "--json")
    assert (done.code, done.errors) == (0, [])
    assert json.loads(done.out)["measured_count"] == 12
    assert "[12/12]" in done.err


def test_a_job_that_the_cluster_removed_leaves_its_results(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    cluster.server.remove("Job", naming.run_name(run_id))
    done = groundspeed("attach", run_id)
    assert (done.code, done.errors) == (0, [])
    assert "select-only: two is faster than one" in done.out


def test_a_job_that_is_gone_before_its_end_can_be_made_again(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure(cluster.begin(), 5)
    cluster.server.remove("Job", naming.run_name(run_id))
    done = groundspeed("attach", run_id)
    assert done.code == 4
    run_dir = f"runs/{run_id}"
    assert done.errors == [
        f"error: the Job of run {run_id} is not in namespace bench",
        f"hint: groundspeed resume {run_dir} makes it again, if the rest of the run is there",
        f"error: 5 of 12 trials are measured and kept in {run_dir}",
        f"hint: groundspeed report {run_dir} shows them",
    ]
    assert len(store.read_run(Path("runs", run_id)).records) == 5


def test_a_run_that_nobody_knows_is_told(groundspeed: Groundspeed, cluster: Cluster) -> None:
    done = groundspeed("attach", "20260131-120000-mine")
    assert done.code == 4
    assert done.errors == [
        "error: there is no run 20260131-120000-mine in namespace bench",
        "hint: groundspeed clean --list shows the runs of a namespace",
    ]
    done = groundspeed("collect", "20260131-120000-mine")
    assert done.code == 4
    assert "are not in namespace bench any more" in done.errors[0]
    assert cluster.server.writes == []


def test_from_another_machine_it_takes_the_namespace(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    shutil.rmtree("runs")
    done = groundspeed("attach", run_id, "--context", "lab", "-n", "bench", "--out", "other")
    assert (done.code, done.errors) == (0, [])
    run_dir = Path("other", run_id)
    assert store.read_plan(run_dir).source == "/suite/suite.yaml"
    assert len(store.read_run(run_dir).records) == 12
    # And from then on it does not.
    assert groundspeed("collect", str(run_dir)).code == 0


def test_collect_brings_what_there_is_of_a_run_that_goes_on(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    pod = cluster.begin()
    cluster.measure(pod, 3)
    done = groundspeed("collect", run_id)
    assert (done.code, done.errors) == (0, [])
    assert done.out == f"3 of 12 trials are measured; groundspeed report runs/{run_id} shows them\n"
    cluster.measure(pod, 4)
    assert "7 of 12 trials are measured" in groundspeed("collect", run_id).out
    # Through its runner: no other pod was made.
    assert not [w for w in cluster.server.writes if "collector" in w]
    assert groundspeed("report", run_id).code == 0


def test_collect_says_when_there_is_nothing(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    done = groundspeed("collect", run_id)
    assert done.code == 4
    assert done.errors[0] == f"error: run {run_id} has no results yet"
    assert cluster.pods() == []


def test_a_claim_that_no_pod_ever_used_holds_nothing(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    claim = runner.results_name(run_id)
    cluster.server.change("PersistentVolumeClaim", claim, {"status": {"phase": "Pending"}})
    done = groundspeed("collect", run_id)
    assert done.code == 4
    assert "its volume was never used" in done.errors[0]
    # It would wait for ever: nobody provisions for a pod that only reads.
    assert not [w for w in cluster.server.writes if "collector" in w]


def test_a_collector_that_was_left_is_replaced(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    name = runner.collector_name(run_id)
    left = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": naming.labels(run_id, "collector")},
        "spec": {"containers": [{"name": "collector", "image": "x"}]},
        "status": {"phase": "Failed", "reason": "DeadlineExceeded"},
    }
    cluster.server.put(left)
    done = groundspeed("collect", run_id)
    assert (done.code, done.errors) == (0, [])
    assert cluster.server.object("Pod", name) is None


def test_an_image_without_the_other_end_is_told(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure(cluster.begin(), 1)
    cluster.server.on_exec(
        lambda *_: ("sh", "-c", "echo \"error: no such command 'send-results'\" >&2; exit 2")
    )
    done = groundspeed("collect", run_id)
    assert done.code == 4
    assert done.errors[0].endswith("sends no results: no such command 'send-results'")
    assert done.errors[1] == "hint: the image of the runner may be older than this groundspeed"


def test_what_is_remembered_gives_way_to_what_is_typed(tmp_path: Path) -> None:
    run = ClusterRun(run_id="r", context="lab", namespace="bench")
    run_dir = tmp_path / "r"
    run_dir.mkdir()
    kubernetes_runs.write(run_dir, run)
    assert kubernetes_runs.find("r", Connection(), tmp_path).run == run
    typed = Connection(context="prod", namespace="other")
    found = kubernetes_runs.find(str(run_dir), typed, Path("runs")).run
    assert (found.context, found.namespace) == ("prod", "other")


@pytest.mark.parametrize("text", ["{", '{"format": 1}', '{"format": 9, "run_id": "r"}'])
def test_a_damaged_note_is_told(text: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.json").write_text(text)
    with pytest.raises(StoreError, match=r"cluster\.json"):
        kubernetes_runs.read(tmp_path)
