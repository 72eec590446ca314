"""The Job of the load generators: pods that wait until the runner starts a load in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from groundspeed.manifests import naming
from groundspeed.manifests.placing import HOSTNAME
from groundspeed.manifests.runner_job import RUN_ID_VARIABLE, deadline_s, failure_policy
from groundspeed.manifests.runner_pod import (
    apart_from_servers,
    container,
    meta,
    pod_spec,
    template,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner_options import RunnerOptions
    from groundspeed.plan import Plan

GENERATOR_CONTAINER = "generator"
# They hold nothing that has to be put away.
_GRACE_S = 10
# For each of them: one that is lost costs a trial, and is made again. Not as backoffLimitPerIndex:
# with that a failed pod stays until its successor is there (seen with Kubernetes 1.34), and a
# namespace that is deleted, in which none can be made, would wait for it for ever.
_BACKOFF_LIMIT_EACH = 6


def generator_name(run_id: str) -> str:
    """Name the Job of the load generators."""
    return f"{naming.run_name(run_id)}-load"


def generator_labels(run_id: str) -> dict[str, str]:
    """Labels that find the pods of the load generators."""
    return {naming.RUN_LABEL: naming.label_value(run_id), naming.ROLE_LABEL: "generator"}


def generator_job(
    plan: Plan, *, run_id: str, options: RunnerOptions, owner: Mapping[str, Any] | None
) -> Object:
    """Make as many pods as the plan has generators, each with a number of its own.

    They get no credentials and no access to the API server: what they need comes with each load.
    """
    waiting = container(
        GENERATOR_CONTAINER,
        ("groundspeed", "generator", "--wait"),
        options=options,
        env=({"name": RUN_ID_VARIABLE, "value": run_id},),
    )
    spec = pod_spec(waiting, grace_s=_GRACE_S, affinity=apart_from_servers(plan, run_id))
    spec["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": HOSTNAME,
            # Better together on one node than not at all: the report says where they were.
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": generator_labels(run_id)},
        }
    ]
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(
            generator_name(run_id),
            naming.labels(run_id, "generator"),
            namespace=options.namespace,
            owner=owner,
        ),
        "spec": {
            "completionMode": "Indexed",
            "completions": plan.generator_count,
            "parallelism": plan.generator_count,
            "backoffLimit": _BACKOFF_LIMIT_EACH * plan.generator_count,
            # Never two of one number.
            "podReplacementPolicy": "Failed",
            "podFailurePolicy": failure_policy(GENERATOR_CONTAINER, ()),
            "activeDeadlineSeconds": deadline_s(plan),
            "ttlSecondsAfterFinished": options.ttl_s,
            "template": template(run_id, "generator", spec),
        },
    }
