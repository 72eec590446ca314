"""What becomes of environments in Kubernetes in a plan: requests, times, and what differs."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
import yaml

from groundspeed import plan as plans
from groundspeed import spec
from groundspeed.analyse.guards import plan_differences
from groundspeed.analyse.guards.parity_facts import MACHINE, PATH, connection
from groundspeed.plan import ClusterKind, VolumeKind
from groundspeed.plan.digest import digest

FAST = {"storage": {"class": "fast", "size": "10GiB"}}


def pod(**more: object) -> dict[str, Any]:
    return {"target": "kubernetes", "cluster": "postgres", **FAST, **more}


def planned(
    environments: dict[str, Any], *, version: str = "0", source: str = "s", **suite: object
) -> plans.Plan:
    text = yaml.safe_dump(
        {
            "suite": "s",
            "postgres": {"version": 18, "settings": {"shared_buffers": "1GB"}},
            "environments": environments,
            "workloads": ["tpcb-like"],
            "measure": {"duration": "10s", "repeats": 2},
            **suite,
        },
        sort_keys=False,
    )
    return plans.make_plan(
        spec.load_suite(text, source="s.yaml"),
        source=source,
        rng=random.Random(1),
        groundspeed_version=version,
        scripts={},
    )


def requested(asked: dict[str, Any]) -> plans.ClusterRequest:
    found = planned({"a": asked}).environments[0]
    assert found.kind is plans.TargetKind.KUBERNETES
    assert found.cluster is not None
    return found.cluster


def volume(asked: dict[str, Any]) -> plans.VolumeRequest:
    found = requested(pod(storage={**asked, "size": "10GiB"})).volume
    assert found is not None
    return found


def messages(environments: dict[str, Any], **suite: object) -> list[str]:
    return [found.message for found in plan_differences(planned(environments, **suite))]


# -- requests


def test_a_server_of_ours_has_the_settings_of_the_suite_and_its_own() -> None:
    [made] = planned({"a": pod(version=17, settings={"jit": False})}).environments
    assert (made.version, made.storage, made.dsn) == (17, None, None)
    assert made.settings == (("shared_buffers", "1GB"), ("jit", "off"))
    assert made.cluster is not None
    assert made.cluster.kind is ClusterKind.POSTGRES
    assert made.cluster.image == "postgres:17"


def test_the_operator_chooses_its_image_unless_one_is_named() -> None:
    assert requested(pod(cluster="cnpg")).image is None
    assert requested(pod(cluster="cnpg", image="x/pg:18")).image == "x/pg:18"


def test_of_a_given_server_only_its_service_is_planned() -> None:
    given = {"name": "db.prod.svc", "secret": "login", "sslmode": "require", "port": 5433}
    [made] = planned({"a": {"target": "kubernetes", "service": given}}).environments
    assert (made.version, made.settings) == (None, ())
    assert made.cluster == plans.ClusterRequest(
        kind=ClusterKind.SERVICE,
        service=plans.ServiceRequest(
            host="db.prod.svc",
            port=5433,
            database="postgres",
            secret="login",
            user_key="username",
            password_key="password",
            sslmode="require",
        ),
    )


@pytest.mark.parametrize(
    ("asked", "kind", "label", "class_name"),
    [
        ({"class": "io2"}, VolumeKind.CLASS, "io2", "io2"),
        ({"local_path": True}, VolumeKind.LOCAL_PATH, "local-path", "local-path"),
        (
            {"gp3": {"iops": 16000, "throughput": 1000}},
            VolumeKind.GP3,
            "gp3 16,000 IOPS, 1,000 MiB/s",
            None,
        ),
        (
            {"longhorn": {"replicas": 2, "disk_tags": ["shared"]}},
            VolumeKind.LONGHORN,
            "longhorn 2r shared",
            None,
        ),
        ({"weka": {}}, VolumeKind.WEKA, "weka default", None),
        (
            {"local": {"node": "n1", "path": "/mnt/ssd"}},
            VolumeKind.LOCAL,
            "local /mnt/ssd on n1",
            None,
        ),
    ],
)
def test_a_volume_is_labelled_and_knows_its_class(
    asked: dict[str, Any], kind: VolumeKind, label: str, class_name: str | None
) -> None:
    found = volume(asked)
    assert (found.kind, found.label, found.class_name) == (kind, label, class_name)
    assert found.size_bytes == 10 * 1024**3


def test_classes_that_are_made_have_their_driver_and_its_parameters() -> None:
    gp3 = volume({"gp3": {"iops": 4000}})
    assert gp3.provisioner == "ebs.csi.aws.com"
    assert dict(gp3.parameters) == {"type": "gp3", "iops": "4000", "throughput": "125"}
    longhorn = volume({"longhorn": {"replicas": 1, "node_tags": ["a", "b"]}})
    assert dict(longhorn.parameters)["nodeSelector"] == "a,b"
    assert "diskSelector" not in dict(longhorn.parameters)
    weka = dict(volume({"weka": {"secret": "s", "secret_namespace": "ns"}}).parameters)
    assert weka["volumeType"] == "dir/v1"
    assert weka["csi.storage.k8s.io/provisioner-secret-name"] == "s"
    assert weka["csi.storage.k8s.io/node-publish-secret-namespace"] == "ns"


def test_resources_and_places_are_kept() -> None:
    asked = requested(
        pod(
            resources={"cpu": "2", "memory": "4GiB", "hugepages_2mi": "1GiB"},
            placement={"node_selector": {"disk": "nvme"}, "apart": "node"},
        )
    )
    assert asked.resources == plans.ResourceRequest(
        cpu_count=2.0, memory_bytes=4 * 1024**3, huge_pages_bytes=1024**3
    )
    assert asked.placement == plans.PlacementRequest(
        node_selector=(("disk", "nvme"),), apart="node"
    )


def test_a_plan_comes_back_from_its_file() -> None:
    made = planned(
        {
            "a": pod(placement={"tolerations": [{"key": "k", "tolerationSeconds": 3}]}),
            "b": {"target": "kubernetes", "service": {"name": "db", "secret": "x"}},
        }
    )
    assert plans.decode(plans.encode(made), source="plan.json") == made


# -- the digest


def test_a_digest_is_of_what_will_be_done() -> None:
    here = planned({"a": pod()}, version="1.0", source="/home/me/suite.yaml")
    there = planned({"a": pod()}, version="1.1", source="/suite/suite.yaml")
    assert digest(here) == digest(there)
    assert len(digest(here)) == 64
    assert digest(planned({"a": pod(version=17)})) != digest(here)


def test_a_digest_survives_the_file() -> None:
    made = planned({"a": pod()})
    assert digest(plans.decode(plans.encode(made), source="plan.json")) == digest(made)


# -- what it takes


def test_pods_take_longer_to_set_up_than_servers_here() -> None:
    def wall_s(asked: dict[str, Any], **suite: object) -> float:
        return planned({"a": asked}, **suite).estimate.wall_s

    here = wall_s({"target": "embedded", "storage": {"directory": "/a"}})
    given = wall_s({"target": "kubernetes", "service": {"name": "db", "secret": "x"}})
    plain, cluster = wall_s(pod()), wall_s(pod(cluster="cnpg"))
    assert here == given < plain < cluster < wall_s(pod(cluster="cnpg", instances=3))


def test_each_trial_of_one_at_a_time_starts_a_pod() -> None:
    calm = planned({"a": pod()}).estimate.wall_s
    alone = planned({"a": pod(one_at_a_time=True)})
    assert alone.estimate.wall_s - calm >= 5 * len(alone.trials)


def test_no_memory_of_this_machine_is_asked_for() -> None:
    large = pod(settings={"shared_buffers": "64GB", "max_wal_size": "64GB"})
    # What the load tool takes for its clients is all.
    assert planned({"a": large}).estimate.memory_bytes < 1024**3
    assert plans.warm_memory_bytes(planned({"a": large}).environments, 1) < 1024**3


# -- what differs


def test_two_that_differ_in_storage_alone_are_alike() -> None:
    other = pod(storage={"gp3": {}, "size": "10GiB"})
    assert messages({"a": pod(), "b": other}, vary="storage") == []
    [message] = messages({"a": pod(), "b": other}, vary="settings")
    assert message == (
        "a and b: storage fast and gp3 3,000 IOPS, 125 MiB/s, log on fast and gp3 3,000 IOPS,"
        " 125 MiB/s differ, where only settings may"
    )


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (pod(version=17), "PostgreSQL 18 and 17"),
        (pod(cluster="cnpg"), "server made by a StatefulSet and CloudNativePG"),
        (pod(image="mine:18"), "image postgres:18 and mine:18"),
        (pod(cluster="cnpg", instances=3), "instances 1 and 3"),
        (pod(one_at_a_time=True), "taken down meanwhile no and yes"),
        (pod(resources={"cpu": "2", "memory": "4GiB"}), "memory none and 4.00 GiB"),
        (pod(resources={"cpu": "500m", "memory": "4GiB"}), "CPU limit none and 0.5 cores"),
        (
            pod(resources={"cpu": "1", "memory": "1GiB", "hugepages_2mi": "1GiB"}),
            "huge pages of the pod none and 1.00 GiB",
        ),
        (pod(placement={"node_selector": {"disk": "ssd"}}), "node selector none and disk=ssd"),
        (pod(placement={"apart": "node"}), "apart from others no and node"),
        (pod(settings={"shared_buffers": "2GB"}), "shared_buffers 1GB and 2GB"),
    ],
)
def test_whatever_else_differs_is_named(second: dict[str, Any], told: str) -> None:
    [message] = messages({"a": pod(), "b": second}, vary="storage")
    assert told in message


@pytest.mark.parametrize(
    ("second", "told"),
    [
        (
            pod(storage={"class": "fast", "size": "20GiB"}),
            "volume size 10.0 GiB and 20.0 GiB differs",
        ),
        (
            pod(wal_storage={"class": "fast", "size": "1GiB"}),
            "log on fast and fast, a volume of its own of 1.00 GiB differs",
        ),
    ],
)
def test_sizes_and_volumes_for_the_log_belong_to_the_storage(
    second: dict[str, Any], told: str
) -> None:
    assert messages({"a": pod(), "b": second}, vary="storage") == []
    [message] = messages({"a": pod(), "b": second}, vary="memory")
    assert told in message


def test_of_a_given_server_only_the_way_to_it_is_known() -> None:
    service = {"target": "kubernetes", "service": {"name": "db", "secret": "x"}}
    assert messages({"a": pod(), "b": service}, vary="storage") == []
    strict = {
        "target": "kubernetes",
        "service": {"name": "db2", "secret": "x", "sslmode": "require"},
    }
    [message] = messages({"a": service, "b": strict}, vary="storage")
    assert "sslmode prefer and require differs" in message


def test_the_name_of_a_service_is_no_machine() -> None:
    assert connection("host=gs-1-a.ns.svc port=5432") == {PATH: "TCP over a network"}
    assert connection("host=gs-1-a.ns.svc.cluster.local") == {PATH: "TCP over a network"}
    assert connection("host=db.svcs.example")[MACHINE] == "db.svcs.example"


def test_generators_are_planned() -> None:
    assert planned({"a": pod()}).generator_count == 1
    made = planned({"a": pod()}, generators=3, clients=[6])
    assert made.generator_count == 3
    assert msgspec.json.decode(plans.encode(made))["generator_count"] == 3
