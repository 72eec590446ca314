from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.cli import kubernetes_running
from groundspeed.manifests import naming, runner, servers

if TYPE_CHECKING:
    from tests.kube_server import KubeServer
    from tests.kube_store import Object
    from tests.unit.cli.cluster import Cluster
    from tests.unit.cli.conftest import Groundspeed

# What is made, in order.
MADE = (
    "configmaps", "secrets", "serviceaccounts", "roles", "rolebindings", "clusterroles",
    "clusterrolebindings", "persistentvolumeclaims", "jobs",
)  # fmt: skip
DETACHED = ("--on", "kubernetes", "--yes", "--detach")


@pytest.fixture
def run_id(groundspeed: Groundspeed, cluster: Cluster) -> str:
    """A run that was submitted; nothing of it was measured."""
    assert groundspeed("run", "s.yaml", *DETACHED).code == 0
    return cluster.run_id


def make_servers(cluster: Cluster) -> None:
    """What the runner and the controllers make of the servers of a run."""
    owner = runner.owner_reference(cluster.anchor)
    for environment in cluster.plan().environments:
        made = servers.server_objects(
            environment,
            run_id=cluster.run_id,
            owner=owner,
            credentials=runner.credentials_name(cluster.run_id),
        )
        for obj in made:
            cluster.server.put(obj)
        name = naming.server_name(cluster.run_id, environment.slug)
        labels = servers.claims_selector(environment, run_id=cluster.run_id)
        cluster.server.put(claim(f"data-{name}-0", labels))


def claim(name: str, labels: dict[str, str]) -> Object:
    meta = {"name": name, "labels": labels}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta}


def ours(server: KubeServer) -> list[str]:
    return sorted(
        f"{obj['kind']}/{obj['metadata']['name']}"
        for obj in server.objects()
        if naming.RUN_LABEL in obj["metadata"].get("labels", {})
    )


def test_nothing_is_left_of_a_run_and_all_of_others(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    make_servers(cluster)
    others = {
        **naming.labels("20260131-120000-other", "results"),
        naming.ENVIRONMENT_LABEL: "one",
    }
    cluster.server.put(claim("other", others))
    done = groundspeed("clean", "--run", run_id)
    assert (done.code, done.errors) == (0, [])
    assert ours(cluster.server) == ["PersistentVolumeClaim/other"]
    assert "2 StatefulSet" in done.out
    assert "3 PersistentVolumeClaim" in done.out
    assert f"nothing of run {run_id} is left in namespace bench\n" in done.out


def test_the_runner_ends_first_and_the_anchor_last(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    make_servers(cluster)
    before = len(cluster.server.writes)
    groundspeed("clean", "--run", run_id, "--discard")
    deleted = [w for w in cluster.server.writes[before:] if w.startswith("delete ")]
    name = naming.run_name(run_id)
    assert deleted[0] == f"delete Job/{name}"
    assert deleted[-1] == f"delete ConfigMap/{name}"


def test_results_are_brought_here_first(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    done = groundspeed("clean", "--run", run_id)
    assert done.code == 0
    assert len(store.read_run(Path("runs", run_id)).records) == 12
    assert ours(cluster.server) == []


def test_results_that_cannot_be_had_keep_everything(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    cluster.server.deny("create", "pods")
    before = ours(cluster.server)
    done = groundspeed("clean", "--run", run_id)
    assert done.code == 4
    assert f"error: the results of run {run_id} are not all here: tester may not" in done.err
    assert "--keep-results leaves them there, --discard gives them up" in done.err
    assert ours(cluster.server) == before
    done = groundspeed("clean", "--run", run_id, "--discard")
    assert (done.code, ours(cluster.server)) == (0, [])


def test_results_can_stay(groundspeed: Groundspeed, cluster: Cluster, run_id: str) -> None:
    cluster.measure_all()
    done = groundspeed("clean", "--run", run_id, "--keep-results")
    assert done.code == 0
    assert ours(cluster.server) == [f"PersistentVolumeClaim/{runner.results_name(run_id)}"]
    assert f"nothing but its results of run {run_id} is left in namespace bench\n" in done.out
    # And be had later, without anything else of the run.
    done = groundspeed("collect", run_id)
    assert (done.code, done.errors) == (0, [])
    assert len(store.read_run(Path("runs", run_id)).records) == 12
    assert groundspeed("clean", "--run", run_id).code == 0
    assert ours(cluster.server) == []


def test_it_works_without_a_local_directory(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.measure_all()
    make_servers(cluster)
    shutil.rmtree("runs")
    done = groundspeed("clean", "--run", run_id, "--context", "lab", "--namespace", "bench")
    assert (done.code, done.errors) == (0, [])
    assert ours(cluster.server) == []
    assert len(store.read_run(Path("runs", run_id)).records) == 12


def test_it_works_without_an_anchor(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    make_servers(cluster)
    for obj in cluster.server.objects():
        obj["metadata"].pop("ownerReferences", None)
        cluster.server.put(obj)
    cluster.server.remove("ConfigMap", naming.run_name(run_id))
    done = groundspeed("clean", "--run", run_id, "--discard")
    assert (done.code, done.errors) == (0, [])
    assert ours(cluster.server) == []


@pytest.mark.parametrize(("number", "resource"), tuple(enumerate(MADE)))
def test_a_submission_that_stopped_anywhere_is_removed(
    number: int,
    resource: str,
    groundspeed: Groundspeed,
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # It asks by dry runs of the same requests.
    monkeypatch.setattr(kubernetes_running, "check", lambda *_: None)
    for method in ("POST", "PATCH"):
        cluster.server.fail_next(method, rf"/{resource}([/?]|$)", 403)
    assert groundspeed("run", "s.yaml", "--cluster-evidence", *DETACHED).code == 4
    [run_dir] = Path("runs").iterdir()
    assert len(ours(cluster.server)) == number
    done = groundspeed("clean", "--run", str(run_dir))
    assert (done.code, done.errors) == (0, [])
    assert ours(cluster.server) == []


def test_an_object_of_the_whole_cluster_needs_our_label(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    [role] = cluster.server.objects("ClusterRole")
    role["metadata"]["labels"] = {}
    cluster.server.put(role)
    assert groundspeed("clean", "--run", run_id, "--discard").code == 0
    assert len(cluster.server.objects("ClusterRole")) == 1
    assert cluster.server.objects("ClusterRoleBinding") == []


def test_what_may_not_be_listed_goes_by_its_name(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    for verb in ("get", "list"):
        cluster.server.deny(verb, "secrets")
    cluster.server.deny("list", "clusterroles", group="rbac.authorization.k8s.io")
    done = groundspeed("clean", "--run", run_id, "--discard")
    assert (done.code, done.errors) == (0, [])
    assert ours(cluster.server) == []


def test_what_may_not_be_removed_is_named_and_the_anchor_stays(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.server.deny("delete", "clusterroles", group="rbac.authorization.k8s.io")
    done = groundspeed("clean", "--run", run_id, "--discard")
    assert done.code == 4
    assert done.errors[0] == (
        "error: tester may not delete clusterroles.rbac.authorization.k8s.io,"
        " which belong to the whole cluster"
    )
    assert len(cluster.server.objects("ClusterRole")) == 1
    assert cluster.anchor
    assert cluster.server.objects("ClusterRoleBinding") == []


def test_claims_that_nobody_may_list_are_named(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    cluster.server.deny("list", "persistentvolumeclaims")
    done = groundspeed("clean", "--run", run_id, "--discard")
    assert done.code == 0
    assert "whether a PersistentVolumeClaim is left nobody knows: tester may not list" in done.err


def test_twice_does_no_harm(groundspeed: Groundspeed, cluster: Cluster, run_id: str) -> None:
    assert groundspeed("clean", "--run", run_id).code == 0
    done = groundspeed("clean", "--run", run_id)
    assert (done.code, done.errors) == (0, [])
    assert "removed: nothing, there was nothing\n" in done.out
    assert ours(cluster.server) == []


def test_data_on_a_volume_that_stays_are_wiped(
    groundspeed: Groundspeed, cluster: Cluster, run_id: str
) -> None:
    make_servers(cluster)
    ran: list[tuple[str, ...]] = []
    one, two = cluster.plan().environments
    cluster.play_server(one, ran)
    done = groundspeed("clean", "--run", run_id, "--discard")
    assert done.code == 0
    assert ran == [servers.wipe_command(one, run_id=run_id)]
    assert (
        "what two wrote stays on volumes of class slow, unless those go with their claims:"
        " its server does not run\n"
    ) in done.err
    assert "what one wrote" not in done.err
    assert two.name == "two"


def test_runs_are_listed(groundspeed: Groundspeed, cluster: Cluster, run_id: str) -> None:
    done = groundspeed("clean", "--list")
    assert done.code == 0
    header, row = done.out.splitlines()
    assert header.split() == ["run", "job", "results", "objects"]
    assert row.split()[:3] == [run_id, "open", "there"]
    groundspeed("clean", "--run", run_id)
    done = groundspeed("clean", "--list")
    assert (done.code, done.out) == (0, "")
    assert "no runs in namespace bench" in done.err
    assert cluster.pods() == []


@pytest.mark.parametrize("arguments", [(), ("--run", "x", "--list")])
def test_a_run_or_a_list(arguments: tuple[str, ...], groundspeed: Groundspeed) -> None:
    done = groundspeed("clean", *arguments)
    assert done.code == 2
    assert done.errors[1] == "hint: name a run with --run, or --list what is there"


def test_a_run_of_this_machine_is_left_alone(
    groundspeed: Groundspeed, cluster: Cluster, tmp_path: Path
) -> None:
    run_dir = tmp_path / "runs" / "20260131-120000-small"
    run_dir.mkdir(parents=True)
    (run_dir / "plan.json").write_text("{}")
    done = groundspeed("clean", "--run", run_dir.name)
    assert done.code == 2
    assert "was measured on this machine, not in a cluster" in done.errors[0]
    assert cluster.server.requests == []
