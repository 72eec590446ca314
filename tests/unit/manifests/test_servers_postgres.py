from __future__ import annotations

import copy
from typing import Any

import pytest

from groundspeed.manifests import servers, servers_postgres
from tests.unit.manifests.schemas import complaints
from tests.unit.manifests.server_plans import (
    GP3,
    LOCAL,
    RUN_ID,
    environment,
    made,
    main_object,
    plan_of,
)

RESOURCES = {"cpu": 2, "memory": "4GiB"}


def pod_of(**asked: object) -> dict[str, Any]:
    found: dict[str, Any] = main_object(environment(**asked))["spec"]["template"]["spec"]
    return found


def containers(pod: dict[str, Any]) -> list[dict[str, Any]]:
    return [*pod["initContainers"], *pod["containers"]]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"wal_storage": GP3, "resources": {**RESOURCES, "hugepages_2mi": "1GiB"}},
        {
            "storage": LOCAL,
            "placement": {
                "apart": "zone",
                "node_selector": {"disk": "nvme"},
                "tolerations": [{"key": "db", "operator": "Exists", "tolerationSeconds": 5}],
            },
        },
    ],
)
def test_the_api_knows_every_field(asked: dict[str, Any]) -> None:
    for one in made(environment(**asked)):
        assert complaints(one) == []


def test_service_comes_first_and_selects_the_pod() -> None:
    service, server = made(environment())
    assert (service["kind"], server["kind"]) == ("Service", "StatefulSet")
    labels = server["spec"]["template"]["metadata"]["labels"]
    for chosen in (service["spec"]["selector"], server["spec"]["selector"]["matchLabels"]):
        assert chosen.items() <= labels.items()
    assert server["spec"]["serviceName"] == service["metadata"]["name"]


def test_quality_of_service_is_guaranteed() -> None:
    pod = pod_of(resources={**RESOURCES, "hugepages_2mi": "1GiB"})
    told = {"cpu": "2", "memory": str(4 * 1024**3), "hugepages-2Mi": str(1024**3)}
    for container in containers(pod):
        assert container["resources"] == {"requests": told, "limits": told}


def test_without_resources_there_are_no_limits() -> None:
    assert all("resources" not in container for container in containers(pod_of()))


def test_the_pod_is_restricted() -> None:
    pod = pod_of()
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in containers(pod):
        security = container["securityContext"]
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}
        assert security["readOnlyRootFilesystem"] is True
    assert all(volume.keys() <= {"name", "emptyDir", "secret"} for volume in pod["volumes"])


@pytest.mark.parametrize(
    ("asked", "user"),
    [({}, 999), ({"image": "mirror:5000/postgres:17-alpine3.22"}, 70), ({"user": 26}, 26)],
)
def test_the_user_is_the_one_of_the_image(asked: dict[str, Any], user: int) -> None:
    security = pod_of(**asked)["securityContext"]
    assert [security[key] for key in ("runAsUser", "runAsGroup", "fsGroup")] == [user] * 3


def test_the_password_is_a_reference_and_only_where_it_is_needed() -> None:
    pod = pod_of()
    assert "secretKeyRef" not in str(pod)
    (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]
    assert secret["secretName"] == "gs-run-credentials"
    preparing, serving = containers(pod)
    assert "credentials" in {mount["name"] for mount in preparing["volumeMounts"]}
    assert "credentials" not in {mount["name"] for mount in serving["volumeMounts"]}


def test_settings_are_arguments_and_the_last_of_one_name_counts() -> None:
    planned = plan_of(
        {"a": {"cluster": "postgres", "storage": GP3, "settings": {"Work_Mem": "8MB"}}},
        settings={"work_mem": "4MB", "fsync": False},
    ).environments[0]
    command = main_object(planned)["spec"]["template"]["spec"]["containers"][0]["command"]
    assert command[:2] == ["postgres", "-D"]
    assert "work_mem=8MB" in command
    assert "work_mem=4MB" not in command
    assert {"fsync=off", "listen_addresses=*", "huge_pages=off"} <= set(command)


def test_huge_pages_are_the_servers_choice_where_the_pod_has_some() -> None:
    pod = pod_of(resources={**RESOURCES, "hugepages_2mi": "1GiB"})
    assert "huge_pages" not in str(pod)


def test_an_old_initdb_gets_no_option_that_it_does_not_know() -> None:
    assert "--set=huge_pages=off" in pod_of()["initContainers"][0]["command"]
    assert "--set=huge_pages=off" not in pod_of(version=15)["initContainers"][0]["command"]


def test_the_log_lies_on_its_own_volume() -> None:
    planned = environment(wal_storage=LOCAL)
    server = main_object(planned)
    data, wal = server["spec"]["volumeClaimTemplates"]
    assert data["spec"]["storageClassName"] != wal["spec"]["storageClassName"]
    preparing = server["spec"]["template"]["spec"]["initContainers"][0]
    mounts = {mount["name"]: mount["mountPath"] for mount in preparing["volumeMounts"]}
    log = servers_postgres.log_directory(RUN_ID, "a")
    assert log.startswith(mounts["wal"] + "/")
    assert f"--waldir={log}" in preparing["command"]
    assert servers.data_directories(planned, run_id=RUN_ID)[1] == log


def test_data_of_two_runs_never_meet() -> None:
    other = servers_postgres.data_directory("20260131-120001-disks", "a")
    assert servers_postgres.data_directory(RUN_ID, "a") != other


def test_claims_carry_the_labels_by_which_they_are_found() -> None:
    planned = environment(wal_storage=GP3)
    wanted = servers.claims_selector(planned, run_id=RUN_ID)
    for claim in main_object(planned)["spec"]["volumeClaimTemplates"]:
        assert wanted.items() <= claim["metadata"]["labels"].items()


def test_shared_memory_is_half_of_the_pods() -> None:
    (shared,) = [v for v in pod_of(resources=RESOURCES)["volumes"] if v["name"] == "shared-memory"]
    assert shared["emptyDir"] == {"medium": "Memory", "sizeLimit": str(2 * 1024**3)}


def test_a_pod_that_leaves_is_stopped_fast_and_in_time() -> None:
    pod = pod_of()
    (serving,) = pod["containers"]
    assert serving["lifecycle"]["preStop"]["exec"]["command"][-1] == "kill -INT 1"
    assert pod["terminationGracePeriodSeconds"] >= 300


def test_environments_differ_in_what_their_requests_differ_in() -> None:
    one = {"cluster": "postgres", "storage": {"class": "slow", "size": "10GiB"}}
    other = {"cluster": "postgres", "storage": {"class": "fast", "size": "10GiB"}}
    plan = plan_of({"a-1": one, "b-2": other})
    texts = []
    for planned in plan.environments:
        objects = copy.deepcopy(made(planned))
        del objects[-1]["metadata"]["annotations"]["groundspeed/spec-hash"]
        texts.append(repr(objects).replace(planned.slug, "SLUG"))
    assert texts[0] != texts[1]
    assert texts[0].replace("'slow'", "'fast'") == texts[1]
