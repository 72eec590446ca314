from __future__ import annotations

from typing import Any

import pytest

from groundspeed.manifests import naming, servers
from tests.unit.manifests.schemas import complaints
from tests.unit.manifests.server_plans import GP3, LOCAL, RUN_ID, environment, made, plan_of

RESOURCES = {"cpu": 1.5, "memory": "4GiB"}


def cluster_of(**asked: object) -> dict[str, Any]:
    (found,) = made(environment("cnpg", **asked))
    return found


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"instances": 3, "wal_storage": GP3, "resources": {**RESOURCES, "hugepages_2mi": "1GiB"}},
        {
            "storage": LOCAL,
            "image": "mirror:5000/postgres:17",
            "pull_policy": "Never",
            "user": 26,
            "settings": {"archive_mode": False, "shared_preload_libraries": "a, b"},
            "placement": {
                "apart": "node",
                "node_selector": {"disk": "nvme"},
                "tolerations": [{"key": "db", "operator": "Exists", "tolerationSeconds": 5}],
            },
        },
    ],
)
def test_the_operators_schema_knows_every_field(asked: dict[str, Any]) -> None:
    assert complaints(cluster_of(**asked)) == []


def test_image_is_the_operators_where_none_is_asked() -> None:
    assert "imageName" not in cluster_of()["spec"]
    assert cluster_of(image="p:17")["spec"]["imageName"] == "p:17"
    assert "postgresUID" not in cluster_of()["spec"]


def test_the_superuser_is_the_one_of_the_secret() -> None:
    spec = cluster_of()["spec"]
    assert spec["enableSuperuserAccess"] is True
    assert spec["superuserSecret"] == {"name": "gs-run-credentials"}


def test_requests_are_limits() -> None:
    found = cluster_of(resources=RESOURCES)["spec"]["resources"]
    assert found["requests"] == found["limits"] == {"cpu": "1500m", "memory": str(4 * 1024**3)}


def test_settings_are_parameters_by_names_in_lower_case() -> None:
    settings = {"Work_Mem": "8MB", "max_connections": 200, "fsync": True}
    parameters = cluster_of(settings=settings)["spec"]["postgresql"]["parameters"]
    wanted = {"work_mem": "8MB", "max_connections": "200", "fsync": "on", "huge_pages": "off"}
    assert parameters == wanted


def test_libraries_and_archiving_are_said_where_a_cluster_has_them() -> None:
    libraries = {"shared_preload_libraries": "auto_explain, pg_prewarm"}
    found = cluster_of(settings={"archive_mode": False, **libraries})
    told = found["spec"]["postgresql"]
    assert told["shared_preload_libraries"] == ["auto_explain", "pg_prewarm"]
    assert told["parameters"].keys() == {"huge_pages"}
    assert found["metadata"]["annotations"]["cnpg.io/skipWalArchiving"] == "enabled"
    assert "cnpg.io/skipWalArchiving" not in cluster_of()["metadata"]["annotations"]


def test_volumes_have_their_classes_and_sizes() -> None:
    spec = cluster_of(storage={"class": "fast", "size": "1GiB"}, wal_storage=GP3)["spec"]
    assert spec["storage"]["storageClass"] == "fast"
    assert spec["storage"]["size"] == str(1024**3)
    assert spec["walStorage"]["storageClass"].startswith("gs-")


def test_pods_and_claims_inherit_what_they_are_found_by() -> None:
    labels = cluster_of()["spec"]["inheritedMetadata"]["labels"]
    assert labels == servers.claims_selector(environment("cnpg"), run_id=RUN_ID)
    # The operator has its own of these on every pod.
    assert not any(key.startswith("app.kubernetes.io") for key in labels)


def test_instances_may_share_a_node_but_not_with_others_of_the_run() -> None:
    affinity = cluster_of(instances=2, placement={"apart": "node"})["spec"]["affinity"]
    assert affinity["podAntiAffinityType"] == "preferred"
    (term,) = affinity["additionalPodAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    (own,) = [
        one
        for one in term["labelSelector"]["matchExpressions"]
        if one["key"] == naming.ENVIRONMENT_LABEL
    ]
    assert own == {"key": naming.ENVIRONMENT_LABEL, "operator": "NotIn", "values": ["a"]}


def test_clusters_differ_in_what_their_requests_differ_in() -> None:
    one = {"cluster": "cnpg", "storage": {"class": "slow", "size": "10GiB"}}
    other = {"cluster": "cnpg", "storage": {"class": "fast", "size": "10GiB"}}
    texts = []
    for planned in plan_of({"a-1": one, "b-2": other}).environments:
        (found,) = made(planned)
        del found["metadata"]["annotations"]["groundspeed/spec-hash"]
        texts.append(repr(found).replace(planned.slug, "SLUG"))
    assert texts[0].replace("'slow'", "'fast'") == texts[1]
