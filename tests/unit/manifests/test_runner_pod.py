"""The restricted profile of Pod Security, rule by rule, for every pod of ours.

https://kubernetes.io/docs/concepts/security/pod-security-standards, as of 1.34.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.manifests import runner
from groundspeed.manifests.collector import shell_pod
from groundspeed.manifests.runner_pod import USER
from tests.unit.manifests.run_plans import APART, GIVEN, OPTIONS, RUN_ID, STATEFUL_SET, plan_of

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object

PLAN = plan_of(STATEFUL_SET, APART, GIVEN, generators=2)
JOB = runner.run_objects(PLAN, run_id=RUN_ID, options=OPTIONS, owner=None)[-1]
GENERATORS = runner.generator_job(PLAN, run_id=RUN_ID, options=OPTIONS, owner=None)
PODS = {
    "runner": JOB["spec"]["template"]["spec"],
    "generator": GENERATORS["spec"]["template"]["spec"],
    "collector": runner.collector_pod(RUN_ID, options=OPTIONS, owner=None)["spec"],
    "shell": shell_pod("shell", options=OPTIONS)["spec"],
}
ALLOWED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}

pytestmark = pytest.mark.parametrize("pod", PODS.values(), ids=PODS)


def containers(pod: Object) -> list[Object]:
    return [
        each
        for key in ("containers", "initContainers", "ephemeralContainers")
        for each in pod.get(key, ())
    ]


def test_it_is_not_root(pod: Object) -> None:
    security = pod["securityContext"]
    assert security["runAsNonRoot"] is True
    assert security["runAsUser"] == security["runAsGroup"] == USER > 0
    for each in containers(pod):
        assert {"runAsNonRoot", "runAsUser", "runAsGroup"} & set(each["securityContext"]) == set()


def test_it_gets_no_more_rights_than_it_began_with(pod: Object) -> None:
    for each in containers(pod):
        assert each["securityContext"]["allowPrivilegeEscalation"] is False
        assert "privileged" not in each["securityContext"]
        assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_system_calls_are_filtered(pod: Object) -> None:
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert all("seccompProfile" not in each["securityContext"] for each in containers(pod))


def test_volumes_are_of_allowed_kinds(pod: Object) -> None:
    for volume in pod["volumes"]:
        [kind] = set(volume) - {"name"}
        assert kind in ALLOWED_VOLUMES


def test_nothing_of_the_host_is_shared(pod: Object) -> None:
    assert {"hostNetwork", "hostPID", "hostIPC", "hostUsers"} & set(pod) == set()
    assert all("ports" not in each for each in containers(pod))


def test_defaults_of_the_container_runtime_are_kept(pod: Object) -> None:
    assert {"sysctls", "seLinuxOptions", "windowsOptions", "appArmorProfile"}.isdisjoint(
        pod["securityContext"]
    )
    for each in containers(pod):
        assert "procMount" not in each["securityContext"]


def test_the_root_is_read_only(pod: Object) -> None:
    # No rule of the profile, but of ours.
    assert all(
        each["securityContext"]["readOnlyRootFilesystem"] is True for each in containers(pod)
    )


def test_services_of_the_namespace_are_no_variables(pod: Object) -> None:
    assert pod["enableServiceLinks"] is False
