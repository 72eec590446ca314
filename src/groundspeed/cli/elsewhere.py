"""What of a plan this machine cannot measure, because it belongs into a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import SpecError
from groundspeed.plan import TargetKind

if TYPE_CHECKING:
    from groundspeed.plan import Plan

HINT = "add --on kubernetes to groundspeed run"


def in_cluster_only(plan: Plan) -> tuple[str, ...]:
    """Say what of a plan only a runner in a cluster can measure, a line each."""
    found = [
        f"environment {environment.name} is in Kubernetes"
        for environment in plan.environments
        if environment.kind is TargetKind.KUBERNETES
    ]
    if plan.generator_count > 1:
        found.append(f"{plan.generator_count} generators are pods in Kubernetes")
    return tuple(found)


def refuse_elsewhere(plan: Plan, suite: str) -> None:
    """Raise SpecError for a plan that this machine cannot measure."""
    complaints = tuple((f"{suite}: {line}", HINT) for line in in_cluster_only(plan))
    if complaints:
        raise SpecError(*complaints[0], further=complaints[1:])
