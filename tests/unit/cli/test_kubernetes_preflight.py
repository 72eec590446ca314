from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from groundspeed.cli import (
    kubernetes_preflight,
    kubernetes_rights,
    kubernetes_submitting,
    suite_packing,
)
from groundspeed.cli.kubernetes_runs import ClusterRun
from groundspeed.cli.kubernetes_submitting import Shipped
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import caller_rights, runner
from groundspeed.manifests.runner import RunnerOptions
from tests.unit.cli.cluster import SUITE

if TYPE_CHECKING:
    from groundspeed import plan as plans
    from tests.kube_server import KubeServer
    from tests.kube_store import Object
    from tests.unit.cli.cluster import Cluster

RBAC = "rbac.authorization.k8s.io"


def suite(**environment: object) -> str:
    asked = {"target": "kubernetes", **environment}
    return yaml.safe_dump(
        {"suite": "small", "environments": {"one": asked}, "workloads": ["select-only"]}
    )


def look(server: KubeServer, text: str = SUITE, **options: str) -> list[tuple[str, str]]:
    """List what is missing, as pairs of message and hint."""
    Path("checked.yaml").write_text(text)
    packed = suite_packing.pack("checked.yaml", ())
    asked = RunnerOptions(image="groundspeed:1", namespace="bench", **options)
    run = ClusterRun(run_id="r-1", context="lab", namespace="bench", options=asked)
    shipped = Shipped(files=packed.files, arguments=packed.arguments)
    try:
        kubernetes_submitting.check(server.client(), packed.plan, run, shipped)
    except TargetError as error:
        return [(error.message, error.hint), *error.further]
    finally:
        assert server.writes == []
    return []


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_nothing_is_missing_where_all_is_there(cluster: Cluster) -> None:
    assert look(cluster.server) == []


def test_a_cluster_that_is_not_reached_is_told_alone(cluster: Cluster) -> None:
    api = cluster.server.client()
    cluster.server.fail_next("GET", "/version", drop=True, times=99)
    with pytest.raises(KubeError) as caught:
        kubernetes_preflight.check(api, _plan(), RunnerOptions(image="x"), (), ())
    assert caught.value.status is None
    assert caught.value.further == ()


def _plan() -> plans.Plan:
    Path("s.yaml").write_text(SUITE)
    return suite_packing.pack("s.yaml", ()).plan


def test_a_namespace_that_is_not_there_is_told_alone(cluster: Cluster) -> None:
    cluster.server.remove("Namespace", "bench")
    assert look(cluster.server) == [
        (
            "there is no namespace bench",
            "kubectl create namespace bench, or name another one with --namespace",
        )
    ]


def test_namespaces_need_not_be_readable(cluster: Cluster) -> None:
    cluster.server.deny("get", "namespaces")
    assert look(cluster.server) == []


def test_rights_that_are_missing_are_told_by_kind(cluster: Cluster) -> None:
    cluster.server.deny("create", "secrets")
    cluster.server.deny("*", "roles", group=RBAC)
    cluster.server.deny("create", "pods/exec")
    found = look(cluster.server)
    assert [message for message, _ in found] == [
        "you may not create pods/exec in namespace bench",
        "you may not create secrets in namespace bench",
        f"you may not create, patch, delete roles.{RBAC} in namespace bench",
    ]
    assert {hint for _, hint in found} == {
        "groundspeed k8s rights prints what is needed; who runs the cluster can apply it"
    }


def test_with_an_account_of_its_own_no_rights_on_rights_are_needed(cluster: Cluster) -> None:
    for resource in ("roles", "rolebindings"):
        cluster.server.deny("*", resource, group=RBAC)
    cluster.server.deny("*", "serviceaccounts")
    assert look(cluster.server, service_account="benches") == []


def test_classes_of_the_run_take_rights_in_the_whole_cluster(cluster: Cluster) -> None:
    storage = {"gp3": {"iops": 4000}, "size": "10GiB"}
    driver = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIDriver",
        "metadata": {"name": "ebs.csi.aws.com"},
    }
    text = suite(cluster="postgres", storage=storage)
    [(message, _)] = look(cluster.server, text)
    assert message == "the storage driver ebs.csi.aws.com is not installed in this cluster"
    cluster.server.put(driver)
    assert look(cluster.server, text) == []
    cluster.server.deny("create", "storageclasses", group="storage.k8s.io")
    [(message, _)] = look(cluster.server, text)
    assert message == (
        "you may not create storageclasses.storage.k8s.io, which belong to the whole cluster"
    )


def test_a_missing_class_has_a_near_name(cluster: Cluster) -> None:
    text = suite(cluster="postgres", storage={"class": "fats", "size": "1GiB"})
    assert look(cluster.server, text, results_class="sloow") == [
        ("there is no storage class fats", "did you mean fast?"),
        ("there is no storage class sloow", "did you mean slow?"),
    ]


def test_classes_that_runs_brought_are_not_offered(cluster: Cluster) -> None:
    made = cluster.server.object("StorageClass", "fast")
    assert made is not None
    made["metadata"]["labels"] = {"groundspeed/run": "other"}
    cluster.server.put(made)
    text = suite(cluster="postgres", storage={"class": "fats", "size": "1GiB"})
    [(_, hint)] = look(cluster.server, text)
    assert hint == "there are slow, standard"


def test_cloudnativepg_has_to_be_there(cluster: Cluster) -> None:
    text = suite(cluster="cnpg", storage={"class": "fast", "size": "1GiB"})
    assert look(cluster.server, text) == [
        (
            "environment one: CloudNativePG is not installed in this cluster",
            "install its operator, or write cluster: postgres",
        )
    ]


def test_a_given_server_needs_its_service_and_its_secret(cluster: Cluster) -> None:
    text = suite(service={"name": "db.prod.svc", "secret": "login", "password_key": "word"})
    cluster.server.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}})
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "dbs"}}
    service["metadata"] = {"name": "dbs", "namespace": "prod"}
    cluster.server.put(service)
    assert look(cluster.server, text) == [
        ("environment one: there is no service db in namespace prod", "did you mean dbs?"),
        (
            "environment one: there is no secret login in namespace bench",
            "the runner reads its user and password from there: make it in this namespace",
        ),
    ]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"}}
    cluster.server.put({**secret, "data": {"username": "eA==", "password": "eA=="}})
    service["metadata"]["name"] = "db"
    cluster.server.put(service)
    assert look(cluster.server, text) == [
        (
            "environment one: secret login has no key word",
            "it has password, username: name others with user_key, password_key",
        )
    ]
    # Whoever may not read secrets is believed.
    cluster.server.deny("get", "secrets")
    assert look(cluster.server, text) == []


def test_a_node_and_its_huge_pages_have_to_be_there(cluster: Cluster) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "node-1"}},
        "status": {"allocatable": {"hugepages-2Mi": "512Mi"}},
    }
    cluster.server.put(node)
    resources = {"cpu": 1, "memory": "1GiB", "hugepages_2mi": "1GiB"}
    storage = {"local": {"node": "node-2", "path": "/data"}, "size": "1GiB"}
    text = suite(cluster="postgres", storage=storage, resources=resources)
    found = look(cluster.server, text)
    assert found[0] == ("environment one: there is no node node-2", "did you mean node-1?")
    assert "no node has 1.00 GiB, the most is 512 MiB" in found[1][0]
    cluster.server.deny("list", "nodes")
    assert look(cluster.server, text) == []


def test_the_api_server_judges_what_will_be_made(cluster: Cluster) -> None:
    refused = {
        "kind": "Status",
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": 'pods "x" is forbidden: violates PodSecurity "restricted:latest": no seccomp',
    }
    cluster.server.fail_next("PATCH", "/pods/", 403, body=refused, times=9)
    found = look(cluster.server)
    assert len(found) > 1
    assert all("Pod Security restricted:latest of namespace bench refuses" in m for m, _ in found)


def test_a_webhook_that_cannot_be_asked_is_no_complaint(cluster: Cluster) -> None:
    refused = {
        "kind": "Status",
        "status": "Failure",
        "code": 400,
        "reason": "BadRequest",
        "message": 'admission webhook "x.y" does not support dry run',
    }
    cluster.server.fail_next("PATCH", "/jobs/", 400, body=refused)
    assert look(cluster.server) == []


def test_pods_are_judged_and_nothing_is_made(cluster: Cluster) -> None:
    look(cluster.server)
    asked = [r for r in cluster.server.requests if r.method == "PATCH"]
    assert all("dryRun=All" in str(r.query) or r.query.get("dryRun") == "All" for r in asked)
    kinds = [r.body["kind"] for r in asked]
    # Of the runner and of both servers.
    assert kinds.count("Pod") == 3
    assert "StatefulSet" not in kinds


def test_evidence_is_taken_where_it_may_be_given(cluster: Cluster) -> None:
    api, plan = cluster.server.client(), _plan()
    options = RunnerOptions(image="x", namespace="bench")

    def decided(*, asked: bool | None) -> bool:
        return kubernetes_submitting.with_evidence(
            api, plan, "r-1", options, asked=asked
        ).cluster_evidence

    assert decided(asked=None)
    assert not decided(asked=False)
    cluster.server.deny("create", "clusterrolebindings", group=RBAC)
    assert not decided(asked=None)
    # What is asked for is not dropped: its lack is told with all else.
    assert decided(asked=True)


def test_evidence_that_is_not_ours_to_give_is_left_out(cluster: Cluster) -> None:
    refused = {
        "kind": "Status",
        "status": "Failure",
        "code": 403,
        "reason": "Forbidden",
        "message": 'clusterroles.rbac.authorization.k8s.io "x" is forbidden: user "tester" is'
        " attempting to grant RBAC permissions not currently held",
    }
    cluster.server.fail_next("PATCH", "/clusterroles/", 403, body=refused)
    options = RunnerOptions(image="x", namespace="bench")
    api = cluster.server.client()
    found = kubernetes_submitting.with_evidence(api, _plan(), "r-1", options, asked=None)
    assert not found.cluster_evidence


class Allowed:
    """An API server that answers by rules alone."""

    namespace = "bench"

    def __init__(self, *rules: Object) -> None:
        self._rules = rules

    def may(
        self, verb: str, resource: str, *, group: str = "", namespace: str | None = None
    ) -> bool:
        del namespace
        return any(
            group in rule["apiGroups"] and resource in rule["resources"] and verb in rule["verbs"]
            for rule in self._rules
        )


def test_the_rights_that_are_printed_are_all_that_is_asked_for() -> None:
    storage = {"gp3": {"iops": 4000}, "size": "10GiB"}
    Path("s.yaml").write_text(suite(cluster="postgres", storage=storage))
    packed = suite_packing.pack("s.yaml", ())
    options = RunnerOptions(image="x", namespace="bench", cluster_evidence=True)
    anchor = runner.anchor(
        packed.plan, run_id="r-1", options=options, suite_files=packed.files, overrides=()
    )
    made = runner.run_objects(packed.plan, run_id="r-1", options=options, owner=None)
    rules = (
        *caller_rights.caller_rules(),
        *caller_rights.access_rules(),
        *caller_rights.cluster_rules(),
        *caller_rights.given_evidence_rules(),
    )
    assert kubernetes_rights.missing(Allowed(*rules), (anchor, *made)) == []


def test_a_volume_whose_claim_is_gone_can_be_taken_again(cluster: Cluster) -> None:
    storage = {"local": {"node": "node-1", "path": "/data"}, "size": "1GiB"}
    Path("s.yaml").write_text(suite(cluster="postgres", storage=storage))
    packed = suite_packing.pack("s.yaml", ())
    options = RunnerOptions(image="x", namespace="bench")
    run = ClusterRun(run_id="r-1", context="lab", namespace="bench", options=options)
    shipped = Shipped(files=packed.files, arguments=packed.arguments)
    api = cluster.server.client()
    assert kubernetes_submitting.submit(api, packed.plan, run, shipped)
    [volume] = cluster.server.objects("PersistentVolume")
    name = volume["metadata"]["name"]
    claimed = {"spec": {"claimRef": {"name": "data-0"}}, "status": {"phase": "Bound"}}
    cluster.server.change("PersistentVolume", name, claimed)
    assert not kubernetes_submitting.submit(api, packed.plan, run, shipped)
    assert "claimRef" in cluster.server.objects("PersistentVolume")[0]["spec"]
    cluster.server.change("PersistentVolume", name, {"status": {"phase": "Released"}})
    kubernetes_submitting.submit(api, packed.plan, run, shipped)
    assert "claimRef" not in cluster.server.objects("PersistentVolume")[0]["spec"]
