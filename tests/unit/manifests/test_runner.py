from __future__ import annotations

import json
from typing import TYPE_CHECKING

import msgspec
import pytest
import yaml

from groundspeed.manifests import naming, runner
from groundspeed.manifests.naming import ref_of
from groundspeed.manifests.yaml_text import documents
from groundspeed.plan.digest import digest
from tests.unit.manifests.run_plans import (
    APART,
    CNPG,
    GIVEN,
    LOCAL,
    OPTIONS,
    RUN_ID,
    STATEFUL_SET,
    plan_of,
)

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object
    from groundspeed.plan import Plan

NAME = naming.run_name(RUN_ID)
OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": NAME, "uid": "1234"}
CLAIM = "PersistentVolumeClaim"
ALL = (STATEFUL_SET, LOCAL, CNPG, GIVEN)


def made(plan: Plan, owner: dict[str, str] | None = OWNER, **changes: object) -> list[Object]:
    options = msgspec.structs.replace(OPTIONS, **{"cluster_evidence": True, **changes})
    return list(runner.run_objects(plan, run_id=RUN_ID, options=options, owner=owner))


def of_kind(objects: list[Object], kind: str) -> Object:
    [found] = [one for one in objects if one["kind"] == kind]
    return found


def job_of(plan: Plan, **changes: object) -> Object:
    return of_kind(made(plan, **changes), "Job")


def pod_of(plan: Plan, **changes: object) -> Object:
    found: Object = job_of(plan, **changes)["spec"]["template"]["spec"]
    return found


def anchor_of(plan: Plan) -> Object:
    return runner.anchor(
        plan,
        run_id=RUN_ID,
        options=OPTIONS,
        suite_files={"suite.yaml": "suite: both\n", "mine.sql": "SELECT 1;\n"},
        overrides=("scale=2",),
    )


def test_all_comes_in_an_order_in_which_nothing_is_missing() -> None:
    kinds = [one["kind"] for one in made(plan_of(LOCAL))]
    assert kinds == [
        "ServiceAccount",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRoleBinding",
        "StorageClass",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "Job",
    ]


def test_every_object_is_found_by_the_run() -> None:
    for one in (*made(plan_of(*ALL)), anchor_of(plan_of(*ALL))):
        assert one["metadata"]["labels"][naming.RUN_LABEL] == RUN_ID
        # Of the whole cluster or of the namespace, and never without one where there is one.
        alone = {"ClusterRole", "ClusterRoleBinding", "StorageClass", "PersistentVolume"}
        assert ("namespace" in one["metadata"]) == (one["kind"] not in alone)


def test_what_has_no_owner_is_written_down() -> None:
    plan = plan_of(*ALL)
    options = runner.RunnerOptions(image="i", namespace="bench", cluster_evidence=True)
    anchor = runner.anchor(plan, run_id=RUN_ID, options=options, suite_files={}, overrides=())
    owned = {(ref["kind"], ref["name"]) for ref in json.loads(anchor["data"]["owned"])}
    for one in made(plan):
        ref = ref_of(one)
        owners = one["metadata"].get("ownerReferences")
        assert (owners is None) == ((ref.kind, ref.name) in owned)
        assert owners in (None, [OWNER])


def test_results_outlive_what_the_run_hangs_on() -> None:
    claim = of_kind(made(plan_of(STATEFUL_SET), results_bytes=5, results_class="slow"), CLAIM)
    assert claim["metadata"]["name"] == f"{NAME}-results"
    assert "ownerReferences" not in claim["metadata"]
    assert claim["spec"]["storageClassName"] == "slow"
    assert claim["spec"]["resources"] == {"requests": {"storage": "5"}}
    assert "storageClassName" not in of_kind(made(plan_of(STATEFUL_SET)), CLAIM)["spec"]


def test_without_an_owner_and_a_namespace_none_is_named() -> None:
    objects = made(plan_of(*ALL), None, namespace=None, cluster_evidence=False)
    for one in objects:
        assert {"namespace", "ownerReferences"} & set(one["metadata"]) == set()
    assert of_kind(objects, "RoleBinding")["subjects"] == [{"kind": "ServiceAccount", "name": NAME}]


def test_the_anchor_has_all_that_the_pod_needs() -> None:
    plan = plan_of(STATEFUL_SET)
    anchor = anchor_of(plan)
    data = anchor["data"]
    assert data["suite.yaml"] == "suite: both\n"
    assert data["mine.sql"] == "SELECT 1;\n"
    assert json.loads(data["arguments"]) == ["scale=2"]
    assert data["plan_digest"] == digest(plan)
    assert anchor["metadata"]["annotations"] == {"groundspeed/version": "0.1.0"}
    assert runner.options_of(anchor) == OPTIONS
    # As another process reads it back.
    assert runner.options_of(yaml.safe_load(documents([anchor]))) == OPTIONS


def test_an_owner_is_told_by_its_uid() -> None:
    anchor = anchor_of(plan_of(STATEFUL_SET))
    anchor["metadata"]["uid"] = "1234"
    assert runner.owner_reference(anchor) == OWNER


def test_passwords_come_by_name_only() -> None:
    pod = pod_of(plan_of(STATEFUL_SET, GIVEN))
    secrets = {
        one["name"]: one["valueFrom"]["secretKeyRef"]
        for one in pod["containers"][0]["env"]
        if "secretKeyRef" in one.get("valueFrom", {})
    }
    assert secrets == {
        "GROUNDSPEED_SERVER_PASSWORD": {"name": f"{NAME}-credentials", "key": "password"},
        "GROUNDSPEED_USER_A_2": {"name": "app", "key": "user"},
        "GROUNDSPEED_PASSWORD_A_2": {"name": "app", "key": "pw"},
    }
    assert runner.user_variable("a-2") == "GROUNDSPEED_USER_A_2"
    assert runner.password_variable("a-2") == "GROUNDSPEED_PASSWORD_A_2"
    # Where no server is made there is no Secret of ours to wait for.
    given = pod_of(plan_of(GIVEN))["containers"][0]["env"]
    assert "GROUNDSPEED_SERVER_PASSWORD" not in [one["name"] for one in given]


def test_the_pod_knows_its_run_and_itself() -> None:
    env = {one["name"]: one for one in pod_of(plan_of(STATEFUL_SET))["containers"][0]["env"]}
    assert env["GROUNDSPEED_RUN_ID"]["value"] == RUN_ID
    assert env["POD_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert env["POD_NAMESPACE"]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.namespace"
    assert env["NODE_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"


def test_what_is_written_goes_to_a_volume() -> None:
    pod = pod_of(plan_of(STATEFUL_SET), memory_bytes=1000)
    [container] = pod["containers"]
    mounts = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
    volumes = {one["name"]: one for one in pod["volumes"]}
    assert set(mounts) == {"/tmp", "/dev/shm", "/suite", "/results"}
    assert set(mounts.values()) == set(volumes)
    places = {one["name"]: one.get("value") for one in container["env"]}
    assert places["HOME"] == places["TMPDIR"] == "/tmp"
    assert places["GROUNDSPEED_STATE_DIR"].startswith("/tmp/")
    # Transaction logs are memory of the pod: half of it at most, the rest is for programs.
    shared = volumes[mounts["/dev/shm"]]["emptyDir"]
    assert shared == {"medium": "Memory", "sizeLimit": "500"}
    assert volumes["results"]["persistentVolumeClaim"]["claimName"] == f"{NAME}-results"
    assert volumes["suite"]["configMap"]["name"] == NAME


def test_requests_are_limits_so_that_cores_can_be_pinned() -> None:
    resources = pod_of(plan_of(STATEFUL_SET), cpu_count=1.5)["containers"][0]["resources"]
    assert resources["requests"] == resources["limits"] == {"cpu": "1500m", "memory": str(1024**3)}


def rule_for(job: Object, code: int) -> str:
    """The first rule that fits counts, as the Job's controller has it."""
    for rule in job["spec"]["podFailurePolicy"]["rules"]:
        codes = rule.get("onExitCodes")
        if codes and code in codes["values"]:
            assert codes["operator"] == "In"
            assert codes["containerName"] == "runner"
            return str(rule["action"])
    return "Count"


@pytest.mark.parametrize(
    ("code", "action"),
    [
        (1, "Count"),
        (2, "FailJob"),
        (3, "FailJob"),
        (4, "Count"),
        (5, "FailJob"),
        (8, "FailJob"),
        (130, "Ignore"),
        (137, "Count"),
        (143, "Ignore"),
    ],
)
def test_an_ending_is_tried_again_where_that_may_help(code: int, action: str) -> None:
    assert rule_for(job_of(plan_of(STATEFUL_SET)), code) == action


def test_an_eviction_is_no_failure() -> None:
    rules = job_of(plan_of(STATEFUL_SET))["spec"]["podFailurePolicy"]["rules"]
    conditions = [{"type": "DisruptionTarget", "status": "True"}]
    assert {"action": "Ignore", "onPodConditions": conditions} in rules


def test_the_job_ends_some_time_and_goes_away() -> None:
    plan = plan_of(STATEFUL_SET)
    spec = job_of(plan, ttl_s=5)["spec"]
    assert spec["activeDeadlineSeconds"] >= 3 * plan.estimate.wall_s + 3600
    assert isinstance(spec["activeDeadlineSeconds"], int)
    assert spec["ttlSecondsAfterFinished"] == 5
    assert spec["backoffLimit"] == 6


def test_there_is_never_a_second_pod_beside_the_first() -> None:
    spec = job_of(plan_of(STATEFUL_SET))["spec"]
    assert spec["podReplacementPolicy"] == "Failed"
    assert (spec["completions"], spec["parallelism"]) == (1, 1)
    assert spec["template"]["spec"]["restartPolicy"] == "Never"


def test_nobody_moves_the_pod_to_save_a_node() -> None:
    metadata = job_of(plan_of(STATEFUL_SET))["spec"]["template"]["metadata"]
    assert metadata["annotations"]["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
    assert metadata["labels"][naming.ROLE_LABEL] == "runner"


def test_the_load_stays_away_from_servers_that_asked_for_it() -> None:
    assert "affinity" not in pod_of(plan_of(STATEFUL_SET, GIVEN))
    [term] = pod_of(plan_of(STATEFUL_SET, APART))["affinity"]["podAntiAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "topology.kubernetes.io/zone"
    wanted = {one["key"]: one["values"] for one in term["labelSelector"]["matchExpressions"]}
    assert wanted == {
        naming.RUN_LABEL: [RUN_ID],
        naming.ROLE_LABEL: ["server"],
        naming.ENVIRONMENT_LABEL: ["a-2"],
    }


def test_generators_are_as_many_as_asked_and_know_nothing() -> None:
    plan = plan_of(APART, generators=3)
    job = runner.generator_job(plan, run_id=RUN_ID, options=OPTIONS, owner=OWNER)
    spec = job["spec"]
    assert job["metadata"]["name"] == runner.generator_name(RUN_ID) == f"{NAME}-load"
    assert job["metadata"]["ownerReferences"] == [OWNER]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    assert container["command"] == ["groundspeed", "generator", "--wait"]
    assert container["name"] == runner.GENERATOR_CONTAINER
    assert not [one for one in container["env"] if "secretKeyRef" in one.get("valueFrom", {})]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    labels = runner.generator_labels(RUN_ID)
    assert labels.items() <= spec["template"]["metadata"]["labels"].items()
    [spread] = pod["topologySpreadConstraints"]
    assert spread["whenUnsatisfiable"] == "ScheduleAnyway"
    assert spread["labelSelector"]["matchLabels"] == labels
    assert "affinity" in pod


def test_the_collector_only_reads_and_ends() -> None:
    pod = runner.collector_pod(RUN_ID, options=OPTIONS, owner=OWNER)
    assert pod["metadata"]["name"] == runner.collector_name(RUN_ID)
    assert pod["metadata"]["labels"][naming.ROLE_LABEL] == "collector"
    spec = pod["spec"]
    assert spec["activeDeadlineSeconds"] == 3600
    [mount] = [m for m in spec["containers"][0]["volumeMounts"] if m["name"] == "results"]
    assert mount == {"name": "results", "mountPath": "/results", "readOnly": True}
    assert spec["automountServiceAccountToken"] is False


def test_a_server_is_made_or_not() -> None:
    assert runner.makes_servers(plan_of(GIVEN, STATEFUL_SET))
    assert runner.makes_servers(plan_of(CNPG))
    assert not runner.makes_servers(plan_of(GIVEN))


def test_the_same_gives_the_same_text() -> None:
    plan = plan_of(*ALL)
    assert documents(made(plan)) == documents(made(plan))
