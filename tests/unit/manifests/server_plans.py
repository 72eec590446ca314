"""Environments in a cluster, as suites ask for them, made into plans."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import yaml

from groundspeed import spec
from groundspeed.manifests import servers
from groundspeed.plan import make_plan

if TYPE_CHECKING:
    from groundspeed.manifests.naming import Object
    from groundspeed.plan import EnvironmentPlan, Plan

RUN_ID = "20260131-120000-disks"
GP3 = {"gp3": {"iops": 16000, "throughput": 1000}, "size": "100GiB"}
LOCAL = {"local": {"node": "n1", "path": "/mnt/disk"}, "size": "10GiB"}


def plan_of(environments: dict[str, dict[str, Any]], **postgres: object) -> Plan:
    text = yaml.safe_dump(
        {
            "suite": "disks",
            "postgres": {"version": 17, **postgres},
            "environments": {
                name: {"target": "kubernetes", **asked} for name, asked in environments.items()
            },
            "workloads": ["select-only"],
        }
    )
    return make_plan(
        spec.load_suite(text, source="disks.yaml"),
        source="disks.yaml",
        rng=random.Random(1),
        groundspeed_version="0",
        scripts={},
    )


def environment(cluster: str = "postgres", **asked: object) -> EnvironmentPlan:
    """Plan one environment, on gp3 where nothing else is asked."""
    whole = {"cluster": cluster, "storage": GP3, **asked}
    return plan_of({"a": whole}).environments[0]


def made(planned: EnvironmentPlan) -> tuple[Object, ...]:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gs-run", "uid": "u-1"}
    return servers.server_objects(
        planned, run_id=RUN_ID, owner=owner, credentials="gs-run-credentials"
    )


def main_object(planned: EnvironmentPlan) -> Object:
    """Take the StatefulSet or the Cluster."""
    return made(planned)[-1]
