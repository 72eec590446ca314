"""Makes targets of PostgreSQL; `targets.engines.Maker` in its terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import installation, places
from groundspeed.targets.generators import GeneratorLoader
from groundspeed.targets.kube_server import KubernetesTarget
from groundspeed.targets.kube_service import ServiceTarget
from groundspeed.targets.loading import LocalLoader
from groundspeed.targets.local import EmbeddedTarget
from groundspeed.targets.server import ServerTarget

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.plan import EnvironmentPlan
    from groundspeed.ports import Target
    from groundspeed.storage.placement import Placement
    from groundspeed.targets.emulation import EmulatedDevice
    from groundspeed.targets.engines import Second
    from groundspeed.targets.installation import Installation
    from groundspeed.targets.kube_access import ClusterAccess
    from groundspeed.targets.loading import Loader
    from groundspeed.targets.local import Surroundings


class PostgresMaker:
    """Implements `targets.engines.Maker`; copies an installation that is out of reach once."""

    def __init__(self, surroundings: Surroundings) -> None:
        """Make nothing yet."""
        self._with = surroundings
        self._reachable: dict[str, Installation] = {}

    def server_program(self, environment: EnvironmentPlan) -> Path:
        """Find postgres of the version asked for."""
        return self._programs(environment).program("postgres")

    def embedded(
        self,
        environment: EnvironmentPlan,
        place: Placement,
        device: EmulatedDevice | None,
        second: Second | None,
    ) -> EmbeddedTarget:
        """Make the target of a cluster of our own; replicas are refused with the suite."""
        del second
        return EmbeddedTarget(environment, place, self._programs(environment), self._with, device)

    def given(self, environment: EnvironmentPlan, password: str | None) -> ServerTarget:
        """Make the target of a given server."""
        programs = installation.newest(for_dsn=environment.dsn or "")
        return ServerTarget(
            environment,
            password,
            LocalLoader(programs, self._with.run_id),
            run_id=self._with.run_id,
            lease=self._with.lease,
        )

    def in_cluster(self, environment: EnvironmentPlan, access: ClusterAccess) -> Target:
        """Make the target of a server in a cluster, whoever makes that one."""
        asked = environment.cluster
        service = None if asked is None else asked.service
        dsn = "" if service is None else f"sslmode={service.sslmode}"
        loader = self._loader(installation.newest(for_dsn=dsn), access)
        lease, tell = self._with.lease, self._with.tell
        if service is not None:
            return ServiceTarget(environment, service, access, loader, lease=lease, tell=tell)
        is_warm = self._with.is_warm
        return KubernetesTarget(
            environment, access, loader, lease=lease, tell=tell, is_warm=is_warm
        )

    def _loader(self, programs: Installation, access: ClusterAccess) -> Loader:
        local = LocalLoader(programs, self._with.run_id)
        if access.generator_job is None:
            return local
        return GeneratorLoader(
            local,
            api=access.api,
            run_id=access.run_id,
            job=access.generator_job,
            count=access.generator_count,
            tell=self._with.tell,
        )

    def _programs(self, environment: EnvironmentPlan) -> Installation:
        if environment.version is None:
            raise TargetError(
                f"{environment.name}: no PostgreSQL version", "make the plan again from its suite"
            )
        found = installation.find(environment.version, environment.bin_dir)
        key = str(found.bin_dir)
        if key not in self._reachable:
            self._reachable[key] = places.reachable_programs(
                found, self._with.run_id, self._with.account, self._with.lease
            )
        return self._reachable[key]
