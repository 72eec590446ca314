"""Makes the targets of a run: where the files of each environment go, and who makes its servers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.plan import TargetKind
from groundspeed.storage.placement import Unavailable, placement
from groundspeed.targets import emulation_checks, engines, leases, process
from groundspeed.targets.emulation import EmulatedDevice
from groundspeed.targets.engines import Second

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.ports import Target
    from groundspeed.storage.placement import Machine, Placement
    from groundspeed.targets.kube_access import ClusterAccess
    from groundspeed.targets.local import Surroundings
    from groundspeed.targets.process import Account

_ELSEWHERE = frozenset({TargetKind.SERVER, TargetKind.KUBERNETES})


def account_for(environments: Sequence[EnvironmentPlan]) -> Account | None:
    """Whom servers of our own run as; nobody is looked for where there are none here."""
    if all(environment.kind in _ELSEWHERE for environment in environments):
        return None
    return process.unprivileged_account()


class Outfit:
    """The targets of some environments of a plan, and why others have none."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        plan: Plan,
        environments: Sequence[EnvironmentPlan],
        surroundings: Surroundings,
        passwords: Mapping[str, str],
        machine: Machine,
        *,
        loses_power: bool = False,
        cluster: ClusterAccess | None = None,
    ) -> None:
        """Make them; nothing is started yet. Raises TargetError.

        Emulated devices can lose their power where that is asked for, which costs writes time.
        `cluster` is that of environments in Kubernetes.
        """
        self._loses_power = loses_power
        self._maker = engines.maker(plan.engine, surroundings)
        self._with = surroundings
        self._machine = machine
        self._drain = plan.drain
        self._cluster = cluster
        self.targets: dict[str, Target] = {}
        self.unavailable: dict[str, str] = {}
        for environment in environments:
            if environment.kind is TargetKind.SERVER:
                password = passwords.get(environment.name)
                self.targets[environment.name] = self._maker.given(environment, password)
            elif environment.kind is TargetKind.KUBERNETES:
                self.targets[environment.name] = self._in_cluster(environment)
            else:
                self._embed(environment)

    def others_in_cluster(self, plan: Plan) -> tuple[Target, ...]:
        """Make targets of those in Kubernetes that are not wanted any more, to be removed."""
        return tuple(
            self._in_cluster(environment)
            for environment in plan.environments
            if environment.kind is TargetKind.KUBERNETES and environment.name not in self.targets
        )

    def _in_cluster(self, environment: EnvironmentPlan) -> Target:
        if self._cluster is None:
            raise TargetError(
                f"environment {environment.name} is in Kubernetes, this process is not",
                "groundspeed run SUITE --on kubernetes measures it",
            )
        return self._maker.in_cluster(environment, self._cluster)

    def _embed(self, environment: EnvironmentPlan) -> None:
        places_asked = [
            placement(one, self._machine) for one in (environment, environment.replica) if one
        ]
        reasons = [place.reason for place in places_asked if isinstance(place, Unavailable)]
        if reasons:
            self.unavailable[environment.name] = reasons[0]
            return
        found = [place for place in places_asked if not isinstance(place, Unavailable)]
        program = self._maker.server_program(environment)
        try:
            device = self._device(environment, found[0], program)
            second = self._second(environment, found, program)
        except TargetError as error:
            # Of this one only: the others are measured, and the report says why it was not.
            self.unavailable[environment.name] = f"{error.message}; {error.hint}"
            return
        self.targets[environment.name] = self._maker.embedded(environment, found[0], device, second)

    def _second(
        self, environment: EnvironmentPlan, found: list[Placement], program: Path
    ) -> Second | None:
        if environment.replica is None:
            return None
        device = self._device(environment.replica, found[1], program)
        return Second(placement=found[1], device=device)

    def _device(
        self, environment: EnvironmentPlan, place: Placement, program: Path
    ) -> EmulatedDevice | None:
        if place.emulation is None:
            return None
        account = self._with.account
        return EmulatedDevice(
            place.emulation,
            f"{leases.OWNED_NAME}{self._with.run_id}-{environment.slug}",
            account=account,
            lease=self._with.lease,
            drain=self._drain,
            loses_power=self._loses_power,
            doubts=emulation_checks.doubts_here(
                place.emulation, directories(place), program, account
            ),
        )


def directories(place: Placement) -> list[Path]:
    """Where the files of a placement really lie."""
    named = [place.directory, *([place.wal_directory] if place.wal_directory else [])]
    return [Path(name) for name in named]
