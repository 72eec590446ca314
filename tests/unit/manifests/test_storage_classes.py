from __future__ import annotations

from typing import Any

import pytest

from groundspeed.manifests import naming, storage_classes
from tests.unit.manifests.schemas import complaints
from tests.unit.manifests.server_plans import GP3, LOCAL, RUN_ID, environment, made, plan_of

LONGHORN = {
    "longhorn": {"replicas": 2, "disk_tags": ["nvme", "shared"], "node_tags": ["db"]},
    "size": "40GiB",
}
WEKA = {"weka": {"filesystem": "fast"}, "size": "40GiB"}
CLASS = {"class": "fast", "size": "1GiB"}
LOCAL_PATH = {"local_path": True, "size": "1GiB"}


def on(*storages: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"e-{number}": {"cluster": "postgres", "storage": storage}
        for number, storage in enumerate(storages)
    }


def objects(*storages: dict[str, Any]) -> tuple[naming.Object, ...]:
    return storage_classes.storage_objects(plan_of(on(*storages)), run_id=RUN_ID)


@pytest.mark.parametrize(
    ("storage", "provisioner", "binding"),
    [
        (GP3, "ebs.csi.aws.com", "WaitForFirstConsumer"),
        (LONGHORN, "driver.longhorn.io", "WaitForFirstConsumer"),
        (WEKA, "csi.weka.io", "Immediate"),
    ],
)
def test_classes_of_drivers(storage: dict[str, Any], provisioner: str, binding: str) -> None:
    (made_class,) = objects(storage)
    assert complaints(made_class) == []
    assert made_class["provisioner"] == provisioner
    assert made_class["volumeBindingMode"] == binding
    assert made_class["reclaimPolicy"] == "Delete"
    assert all(isinstance(value, str) for value in made_class["parameters"].values())


def test_parameters_of_gp3() -> None:
    (made_class,) = objects(GP3)
    assert made_class["parameters"] == {"type": "gp3", "iops": "16000", "throughput": "1000"}


def volume_of(parameters: dict[str, str]) -> dict[str, Any]:
    """Make what Longhorn makes of the parameters of its class."""

    def tags(key: str) -> list[str]:
        return parameters.get(key, "").split(",") if parameters.get(key) else []

    return {
        "apiVersion": "longhorn.io/v1beta2",
        "kind": "Volume",
        "metadata": {"name": "pvc-1"},
        "spec": {
            "numberOfReplicas": int(parameters["numberOfReplicas"]),
            "staleReplicaTimeout": int(parameters["staleReplicaTimeout"]),
            "dataLocality": parameters["dataLocality"],
            "diskSelector": tags("diskSelector"),
            "nodeSelector": tags("nodeSelector"),
        },
    }


@pytest.mark.parametrize("locality", ["disabled", "best-effort", "strict-local"])
def test_longhorns_schema_takes_the_parameters(locality: str) -> None:
    asked = {"replicas": 1, "disk_tags": ["nvme"], "data_locality": locality}
    (made_class,) = objects({"longhorn": asked, "size": "1GiB"})
    volume = volume_of(made_class["parameters"])
    assert complaints(volume) == []
    assert volume["spec"]["diskSelector"] == ["nvme"]


def test_tags_of_longhorn_are_lists() -> None:
    volume = volume_of(objects(LONGHORN)[0]["parameters"])
    assert volume["spec"]["diskSelector"] == ["nvme", "shared"]
    assert volume["spec"]["nodeSelector"] == ["db"]
    assert complaints(volume) == []


def test_a_directory_is_a_volume_with_a_class_of_its_own() -> None:
    made_class, volume = objects(LOCAL)
    assert complaints(made_class) == complaints(volume) == []
    assert volume["spec"]["storageClassName"] == made_class["metadata"]["name"]
    assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    assert volume["spec"]["capacity"] == {"storage": str(10 * 1024**3)}
    (term,) = volume["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["n1"]
    assert made_class["volumeBindingMode"] == "WaitForFirstConsumer"


def test_environments_on_the_same_class_share_it() -> None:
    (first,) = objects(GP3, GP3)
    other = {"gp3": {"iops": 3000}, "size": "100GiB"}
    same, another = objects(GP3, other)
    assert same == first
    assert another["metadata"]["name"] != first["metadata"]["name"]


def test_data_and_log_in_directories_are_two_volumes() -> None:
    log = {"local": {"node": "n1", "path": "/mnt/log"}, "size": "1GiB"}
    asked = {"a": {"cluster": "postgres", "storage": LOCAL, "wal_storage": log}}
    plan = plan_of(asked)
    names = [one["metadata"]["name"] for one in storage_classes.storage_objects(plan, run_id="r")]
    assert len(set(names)) == 2
    (server,) = [one for one in made(plan.environments[0]) if one["kind"] == "StatefulSet"]
    asked_names = {c["spec"]["storageClassName"] for c in server["spec"]["volumeClaimTemplates"]}
    found = storage_classes.storage_objects(plan, run_id=RUN_ID)
    assert asked_names == {one["metadata"]["name"] for one in found}


def test_classes_that_must_be_there() -> None:
    plan = plan_of(on(GP3, CLASS, LOCAL_PATH, CLASS))
    assert storage_classes.classes_needed(plan) == ("fast", "local-path")
    assert storage_classes.provisioners_needed(plan) == ("ebs.csi.aws.com",)
    assert len(storage_classes.storage_objects(plan, run_id=RUN_ID)) == 1


def test_a_given_server_brings_no_storage() -> None:
    plan = plan_of({"a": {"service": {"name": "db", "secret": "app"}}})
    assert storage_classes.storage_objects(plan, run_id=RUN_ID) == ()
    assert storage_classes.classes_needed(plan) == ()


def test_names_fit_and_tell_runs_apart() -> None:
    planned = environment(storage=LOCAL)
    volume = planned.cluster.volume if planned.cluster else None
    assert volume is not None

    def name(run_id: str) -> str:
        return storage_classes.class_name(volume, run_id=run_id, environment_slug="x" * 80)

    assert len(name("r" * 200)) <= 63
    assert name("one") != name("two")


def test_labels_say_whose_they_are() -> None:
    for one in objects(GP3, LOCAL):
        assert one["metadata"]["labels"][naming.RUN_LABEL] == RUN_ID
        assert one["metadata"]["labels"][naming.ROLE_LABEL] == "storage"
