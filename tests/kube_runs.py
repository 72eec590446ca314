"""Runs in a cluster that is played in this process: their plan, their anchor, and their targets."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import yaml

from groundspeed import plan as plans
from groundspeed import spec
from groundspeed.manifests import naming, runner
from groundspeed.targets.kube_access import ClusterAccess, Reached, ServerLogin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.kube.client import Client
    from groundspeed.manifests.naming import Object, Ref
    from groundspeed.plan import EnvironmentPlan, Plan
    from tests.kube_server import KubeServer

RUN_ID = "20260131-120000-small"
NAME = naming.run_name(RUN_ID)


def pod(**more: object) -> dict[str, Any]:
    """An environment of one pod; its image is nobody's."""
    storage = {"class": "fast", "size": "1GiB"}
    return {"target": "kubernetes", "cluster": "postgres", "storage": storage, **more}


def suite_text(
    environments: dict[str, Any] | None = None,
    *,
    repeats: int = 1,
    duration: str = "1s",
    **more: object,
) -> str:
    """Write a suite of short trials, alike in everything but the environment."""
    return yaml.safe_dump(
        {
            "suite": "small",
            "postgres": {"version": 16},
            "environments": environments or {"a": pod(), "b": pod()},
            "workloads": ["tpcb-like"],
            "clients": [2],
            "scale": 1,
            "measure": {
                "duration": duration,
                "warm_up": "200ms",
                "repeats": repeats,
                "probes": "off",
            },
            **more,
        },
        sort_keys=False,
    )


def planned(text: str) -> Plan:
    suite = spec.load_suite(text, source="small")
    return plans.make_plan(
        suite,
        source="small",
        rng=random.Random(suite.seed),
        groundspeed_version="0",
        scripts={},
    )


def put_anchor(kube: KubeServer, **data: str) -> Object:
    """Make the ConfigMap and the Job of the run, as its caller does."""
    labels = naming.labels(RUN_ID, "runner")
    kube.put(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": NAME, "labels": labels},
            "spec": {"backoffLimit": 6},
            "status": {},
        }
    )
    return kube.put(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": NAME,
                "labels": labels,
                "annotations": {runner.VERSION_ANNOTATION: "0.0.7"},
            },
            "data": data,
        }
    )


class Owned:
    """What was noted before it was made."""

    def __init__(self) -> None:
        self.noted: list[Ref] = []

    def own(self, refs: object) -> None:
        self.noted += refs  # type: ignore[arg-type] # a list of them

    def disown(self, refs: object) -> None:
        self.noted = [ref for ref in self.noted if ref not in list(refs)]  # type: ignore[call-overload]


def access(  # noqa: PLR0913 - each is one circumstance
    api: Client,
    anchor: Object,
    reach: Callable[[EnvironmentPlan], Reached],
    *,
    password: str | None = "secret",
    logins: Mapping[str, ServerLogin] | None = None,
    keep: Callable[[], bool] = lambda: False,
    owned: Owned | None = None,
    ready_limit_s: float = 20.0,
) -> ClusterAccess:
    noted = owned or Owned()
    return ClusterAccess(
        api=api,
        run_id=RUN_ID,
        token=anchor["metadata"]["uid"],
        owner=runner.owner_reference(anchor),
        credentials=runner.credentials_name(RUN_ID),
        login=None if password is None else ServerLogin(user="postgres", password=password),
        logins=logins or {},
        reach=reach,
        own=noted.own,
        disown=noted.disown,
        keep=keep,
        ready_limit_s=ready_limit_s,
    )
