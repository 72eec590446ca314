"""Objects through the real client: read, listed, applied, changed, made and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.kube.api import KubeError
from groundspeed.manifests.naming import Ref
from tests.kube_server import KubeServer
from tests.unit.kube.made import config_map, config_map_ref

if TYPE_CHECKING:
    from groundspeed.kube.client import Client


def test_it_tells_the_version_and_the_namespace(api: Client) -> None:
    assert api.server_version() == "1.34.4"
    assert api.namespace == "bench"
    assert api.cluster == "context lab"


def test_what_is_not_there_is_none(api: Client) -> None:
    assert api.get(config_map_ref()) is None
    assert api.get(Ref(api_version="example.org/v1", kind="Thing", name="one")) is None
    assert api.list("example.org/v1", "Thing") == []
    assert api.delete(config_map_ref()) is False
    assert api.delete(Ref(api_version="example.org/v1", kind="Thing", name="one")) is False


def test_applied_twice_it_is_there_once(api: Client) -> None:
    first = api.apply(config_map(a="1"))
    second = api.apply(config_map(a="1"))
    assert first["metadata"]["uid"] == second["metadata"]["uid"]
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]
    assert api.get(config_map_ref())["data"] == {"a": "1"}


def test_a_field_that_is_applied_no_more_goes(api: Client) -> None:
    api.apply(config_map(a="1", b="2"))
    assert api.apply(config_map(a="1"))["data"] == {"a": "1"}


def test_what_was_read_can_be_applied_again(api: Client) -> None:
    found = api.apply(config_map(a="1"))
    del found["metadata"]["resourceVersion"]
    assert api.apply(found)["data"] == {"a": "1"}


def test_a_dry_run_leaves_nothing(api: Client, server: KubeServer) -> None:
    assert api.apply(config_map(a="1"), dry_run=True)["data"] == {"a": "1"}
    assert server.objects() == []
    assert server.writes == []


def test_a_conflict_names_field_and_owner(api: Client, server: KubeServer) -> None:
    server.store.apply(
        server.place("ConfigMap", "one"), config_map(a="1"), "helm", force=False, dry_run=False
    )
    with pytest.raises(KubeError) as caught:
        api.apply(config_map(a="2"))
    assert caught.value.status == 409
    assert (
        caught.value.message == ".data.a of ConfigMap/one was set by helm, and is not taken from it"
    )


def test_a_patch_is_another_owner_than_apply(api: Client) -> None:
    api.apply(config_map(a="1"))
    api.patch(config_map_ref(), {"data": {"b": "2"}})
    assert api.apply(config_map(a="3"))["data"] == {"a": "3", "b": "2"}
    with pytest.raises(KubeError) as caught:
        api.apply(config_map(a="1", b="3"))
    assert caught.value.status == 409


def test_a_patch_removes_with_none(api: Client) -> None:
    api.apply(config_map(a="1", b="2"))
    assert api.patch(config_map_ref(), {"data": {"a": None}})["data"] == {"b": "2"}


def test_a_patch_of_an_old_version_is_refused(api: Client) -> None:
    old = api.apply(config_map(a="1"))["metadata"]["resourceVersion"]
    api.patch(config_map_ref(), {"data": {"a": "2"}})
    with pytest.raises(KubeError) as caught:
        api.patch(config_map_ref(), {"metadata": {"resourceVersion": old}, "data": {"a": "3"}})
    assert caught.value.status == 409
    assert "was changed by another" in caught.value.message


def test_status_is_written_through_its_subresource(api: Client, server: KubeServer) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one"},
        "spec": {},
        "status": {"phase": "Running"},
    }
    assert "status" not in api.create(pod)
    ref = Ref(api_version="v1", kind="Pod", name="one")
    api.patch(ref, {"status": {"phase": "Running"}}, subresource="status")
    assert server.object("Pod", "one")["status"] == {"phase": "Running"}


def test_creating_what_is_there_is_refused(api: Client) -> None:
    api.create(config_map())
    with pytest.raises(KubeError) as caught:
        api.create(config_map())
    assert caught.value.status == 409
    assert caught.value.message == "there is a ConfigMap/one in namespace bench already"


def test_another_object_of_that_name_is_not_deleted(api: Client) -> None:
    uid = api.create(config_map())["metadata"]["uid"]
    with pytest.raises(KubeError) as caught:
        api.delete(config_map_ref(), uid="another")
    assert caught.value.status == 409
    assert api.delete(config_map_ref(), uid=uid) is True


def test_what_belongs_to_an_object_goes_with_it(api: Client, server: KubeServer) -> None:
    uid = api.create(config_map())["metadata"]["uid"]
    owned = config_map("two")
    owned["metadata"]["ownerReferences"] = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "one", "uid": uid}
    ]
    api.create(owned)
    api.delete(config_map_ref(), propagation="Foreground", grace_s=0)
    assert server.objects() == []
    asked = next(each for each in server.requests if each.method == "DELETE")
    assert asked.body == {"propagationPolicy": "Foreground", "gracePeriodSeconds": 0}


def test_a_finalizer_keeps_it_until_it_is_taken_away(api: Client, server: KubeServer) -> None:
    held = config_map()
    held["metadata"]["finalizers"] = ["example.org/hold"]
    api.create(held)
    assert api.delete(config_map_ref())
    assert server.object("ConfigMap", "one")["metadata"]["deletionTimestamp"]
    api.patch(config_map_ref(), {"metadata": {"finalizers": None}})
    assert server.objects() == []


def test_lists_are_read_page_by_page_and_say_what_they_hold(
    api: Client, server: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundspeed.kube.listing._PAGE", 2)
    for number in range(5):
        server.put(config_map(f"c{number}"))
    found = api.list("v1", "ConfigMap")
    assert [each["metadata"]["name"] for each in found] == [f"c{n}" for n in range(5)]
    assert {each["kind"] for each in found} == {"ConfigMap"}
    assert len([each for each in server.requests if "limit" in each.query]) == 3


def test_a_page_that_came_too_late_starts_the_list_again(
    api: Client, server: KubeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("groundspeed.kube.listing._PAGE", 2)
    for number in range(3):
        server.put(config_map(f"c{number}"))
    expired = {"kind": "Status", "reason": "Expired", "code": 410, "message": "too old"}
    server.fail_next("GET", "continue=", 410, body=expired)
    assert len(api.list("v1", "ConfigMap")) == 3


def test_lists_are_narrowed_by_labels_and_fields(api: Client, server: KubeServer) -> None:
    for name, colour in (("one", "red"), ("two", "blue")):
        labelled = config_map(name)
        labelled["metadata"]["labels"] = {"example/colour": colour}
        server.put(labelled)
    assert len(api.list("v1", "ConfigMap", labels={"example/colour": "red"})) == 1
    assert len(api.list("v1", "ConfigMap", fields={"metadata.name": "two"})) == 1
    assert api.list("v1", "ConfigMap", namespace="other") == []


def test_what_belongs_to_the_whole_cluster_has_no_namespace(
    api: Client, server: KubeServer
) -> None:
    made = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    assert "namespace" not in api.apply(made)["metadata"]
    assert len(api.list("storage.k8s.io/v1", "StorageClass", namespace="other")) == 1
    assert server.requests[-1].path == "/apis/storage.k8s.io/v1/storageclasses"


def test_rights_are_asked_for(api: Client, server: KubeServer) -> None:
    server.deny("create", "pods/exec")
    server.deny("*", "nodes")
    assert not api.may("create", "pods/exec")
    assert api.may("create", "pods")
    assert not api.may("get", "nodes", namespace="")
    assert server.requests[-1].body["spec"]["resourceAttributes"]["namespace"] == ""


def test_a_kind_that_comes_later_is_found(server: KubeServer, api: Client) -> None:
    assert not api.has_kind("postgresql.cnpg.io/v1", "Cluster")
    with KubeServer(cnpg=True) as other:
        server.kinds.append(other.kinds[-1])
    assert api.has_kind("postgresql.cnpg.io/v1", "Cluster")


def test_a_kind_is_asked_for_once(api: Client, server: KubeServer) -> None:
    api.list("v1", "Pod")
    api.list("v1", "ConfigMap")
    assert [each.path for each in server.requests].count("/api/v1") == 1


def test_a_kind_nobody_knows_cannot_be_applied(api: Client) -> None:
    thing = {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "one"}}
    with pytest.raises(KubeError) as caught:
        api.apply(thing)
    assert caught.value.message == (
        "the API server of context lab knows no Thing of example.org/v1"
    )


def test_a_path_is_read_as_it_is(api: Client, server: KubeServer) -> None:
    server.serve("/api/v1/nodes/node-1/proxy/metrics", "one 1\n")
    assert api.read("/api/v1/nodes/node-1/proxy/metrics") == b"one 1\n"
    with pytest.raises(KubeError) as caught:
        api.read("/api/v1/nodes/node-2/proxy/metrics")
    assert caught.value.status == 404
