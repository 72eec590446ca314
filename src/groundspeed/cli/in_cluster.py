"""What a process knows of itself in a pod of a run, by its environment alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.manifests import runner
from groundspeed.ports import PodPlace
from groundspeed.targets.kube_access import ServerLogin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.plan import EnvironmentPlan, Plan

POD, NAMESPACE, NODE = "POD_NAME", "POD_NAMESPACE", "NODE_NAME"
# Of servers that a run makes, with either maker.
SUPERUSER = "postgres"


class InCluster(msgspec.Struct, frozen=True, kw_only=True):
    """The pod that this process is in, and the run that the pod is for."""

    pod: str
    namespace: str
    node: str
    run_id: str

    @property
    def place(self) -> PodPlace:
        """The container of the runner, as probes ask for it."""
        return PodPlace(namespace=self.namespace, name=self.pod, container=runner.CONTAINER)


def here(variables: Mapping[str, str]) -> InCluster | None:
    """Read it from environment variables; None outside a pod of a run. Raises TargetError.

    A pod that has only some of them was made by somebody else, and that is told.
    """
    names = {name: variables.get(name, "") for name in (POD, NAMESPACE, runner.RUN_ID_VARIABLE)}
    missing = [name for name, value in names.items() if not value]
    if len(missing) == len(names):
        return None
    if missing:
        raise TargetError(
            f"{', '.join(missing)} is not set in this pod",
            "groundspeed k8s render prints a Job that sets it",
        )
    return InCluster(
        pod=names[POD],
        namespace=names[NAMESPACE],
        node=variables.get(NODE, ""),
        run_id=names[runner.RUN_ID_VARIABLE],
    )


def server_login(variables: Mapping[str, str]) -> ServerLogin | None:
    """Read the login of servers that the run makes; None where it makes none."""
    password = variables.get(runner.SERVER_PASSWORD_VARIABLE)
    return None if password is None else ServerLogin(user=SUPERUSER, password=password)


def given_logins(plan: Plan, variables: Mapping[str, str]) -> dict[str, ServerLogin]:
    """Read the logins of given servers, by the slug of the environment; those that are there."""
    found = {e.slug: _given(e, variables) for e in plan.environments}
    return {slug: login for slug, login in found.items() if login is not None}


def _given(environment: EnvironmentPlan, variables: Mapping[str, str]) -> ServerLogin | None:
    user = variables.get(runner.user_variable(environment.slug))
    password = variables.get(runner.password_variable(environment.slug))
    return None if user is None else ServerLogin(user=user, password=password)
