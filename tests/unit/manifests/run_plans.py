"""Plans of runs in a cluster, small and with each kind of server."""

from __future__ import annotations

import random

from groundspeed import plan as plans
from groundspeed import spec
from groundspeed.manifests.runner import RunnerOptions

RUN_ID = "20260131-120000-both"
OPTIONS = RunnerOptions(image="groundspeed:1", namespace="bench")
STATEFUL_SET = "{target: kubernetes, cluster: postgres, storage: {class: fast, size: 1GiB}}"
APART = (
    "{target: kubernetes, cluster: postgres, storage: {class: fast, size: 1GiB},"
    " placement: {apart: zone}}"
)
LOCAL = (
    "{target: kubernetes, cluster: postgres, storage: {local: {node: n1, path: /disk}, size: 1GiB}}"
)
CNPG = "{target: kubernetes, cluster: cnpg, storage: {longhorn: {replicas: 2}, size: 1GiB}}"
GIVEN = "{target: kubernetes, service: {name: db, secret: app, user_key: user, password_key: pw}}"


def plan_of(*environments: str, generators: int = 1) -> plans.Plan:
    """Make the plan of environments, which are called a-1, a-2 and so on."""
    named = "\n".join(f"  a-{number}: {text}" for number, text in enumerate(environments, start=1))
    text = f"""\
suite: both
environments:
{named}
workloads: [select-only]
clients: [4]
generators: {generators}
scale: 1
measure: {{duration: 60s, warm_up: 0s, repeats: 6}}
"""
    return plans.make_plan(
        spec.load_suite(text, source="both.yaml"),
        source="both.yaml",
        rng=random.Random(1),
        groundspeed_version="0.1.0",
        scripts={},
    )
