"""The Job of the runner: one pod at a time, again after a failure that trying again may cure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from groundspeed.errors import ExitCode
from groundspeed.manifests import naming
from groundspeed.manifests.runner_options import makes_servers
from groundspeed.manifests.runner_pod import (
    RESULTS,
    SUITE,
    apart_from_servers,
    container,
    meta,
    pod_spec,
    results_name,
    template,
)
from groundspeed.plan import ClusterKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner_options import RunnerOptions
    from groundspeed.plan import Plan

CONTAINER = "runner"
RUN_ID_VARIABLE = "GROUNDSPEED_RUN_ID"
SERVER_PASSWORD_VARIABLE = "GROUNDSPEED_SERVER_PASSWORD"  # noqa: S105 - the name of a variable
GRACE_S = 60
# Unreached servers and full nodes come and go; six times, ten seconds to six minutes apart.
_BACKOFF_LIMIT = 6
# An estimate is rough, and a run that goes on measures some trials twice.
_DEADLINE_RATIO, _DEADLINE_MORE_S = 3, 3600
# Wrong as asked, or at its end: another pod would find the same.
_FINAL = (
    ExitCode.USAGE,
    ExitCode.SPEC,
    ExitCode.TRIALS_FAILED,
    ExitCode.CONFOUNDED,
    ExitCode.UNAVAILABLE,
)
# As a shell tells SIGTERM: it came before groundspeed could take it.
_TERMINATED = 128 + 15


def credentials_name(run_id: str) -> str:
    """Name the Secret with the password of the servers that a run makes."""
    return f"{naming.run_name(run_id)}-credentials"


def user_variable(environment_slug: str) -> str:
    """Name the variable with the user of a given server."""
    return f"GROUNDSPEED_USER_{_variable(environment_slug)}"


def password_variable(environment_slug: str) -> str:
    """Name the variable with the password of a given server."""
    return f"GROUNDSPEED_PASSWORD_{_variable(environment_slug)}"


def _variable(slug: str) -> str:
    return slug.upper().replace("-", "_")


def deadline_s(plan: Plan) -> int:
    """Seconds after which the cluster ends the Job, whatever it does."""
    return math.ceil(plan.estimate.wall_s * _DEADLINE_RATIO) + _DEADLINE_MORE_S


def failure_policy(container_name: str, final: Sequence[int]) -> Object:
    """Say which endings are for good, which count as failures, and which do not.

    An eviction is nobody's failure, nor is an end in order on request.
    """
    ended = sorted({int(ExitCode.INTERRUPTED), _TERMINATED})
    rules: list[Object] = []
    if final:
        rules.append({"action": "FailJob", **_exit_codes(container_name, final)})
    disruption = [{"type": "DisruptionTarget", "status": "True"}]
    rules.append({"action": "Ignore", "onPodConditions": disruption})
    rules.append({"action": "Ignore", **_exit_codes(container_name, ended)})
    return {"rules": rules}


def _exit_codes(container_name: str, codes: Sequence[int]) -> Object:
    values = [int(code) for code in codes]
    found = {"containerName": container_name, "operator": "In", "values": values}
    return {"onExitCodes": found}


def runner_job(
    plan: Plan, *, run_id: str, options: RunnerOptions, owner: Mapping[str, Any] | None
) -> Object:
    """Make the Job of the runner. A second pod never starts beside the first one."""
    name = naming.run_name(run_id)
    runner = container(
        CONTAINER,
        ("groundspeed", "runner"),
        options=options,
        env=(_value(RUN_ID_VARIABLE, run_id), *_secrets(plan, run_id)),
        mounts=(
            {"name": "suite", "mountPath": SUITE, "readOnly": True},
            {"name": "results", "mountPath": RESULTS},
        ),
    )
    spec = pod_spec(
        runner,
        volumes=(
            {"name": "suite", "configMap": {"name": name}},
            {"name": "results", "persistentVolumeClaim": {"claimName": results_name(run_id)}},
        ),
        account=options.service_account or name,
        grace_s=GRACE_S,
        affinity=apart_from_servers(plan, run_id),
    )
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(
            name, naming.labels(run_id, "runner"), namespace=options.namespace, owner=owner
        ),
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "backoffLimit": _BACKOFF_LIMIT,
            # Two pods that write one run would be worse than none for a while.
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": failure_policy(CONTAINER, _FINAL),
            "activeDeadlineSeconds": deadline_s(plan),
            "ttlSecondsAfterFinished": options.ttl_s,
            "template": template(run_id, "runner", spec),
        },
    }


def _secrets(plan: Plan, run_id: str) -> list[Object]:
    found = []
    if makes_servers(plan):
        found.append(_secret(SERVER_PASSWORD_VARIABLE, credentials_name(run_id), "password"))
    for environment in plan.environments:
        cluster = environment.cluster
        if cluster is None or cluster.kind is not ClusterKind.SERVICE or cluster.service is None:
            continue
        given, slug = cluster.service, environment.slug
        found.append(_secret(user_variable(slug), given.secret, given.user_key))
        found.append(_secret(password_variable(slug), given.secret, given.password_key))
    return found


def _value(name: str, value: str) -> Object:
    return {"name": name, "value": value}


def _secret(name: str, secret: str, key: str) -> Object:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
