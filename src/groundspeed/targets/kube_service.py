"""A given PostgreSQL in a cluster, by its Service: the run has a database of its own in it.

No right at the API server is needed: the login comes from a Secret that the pod names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.targets import sql
from groundspeed.targets.kube_target import ClusterTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.plan import EnvironmentPlan, ServiceRequest
    from groundspeed.record import StorageFacts
    from groundspeed.targets.kube_access import ClusterAccess
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.loading import Loader

_FAILOVER_LIMIT_S = 120.0


class ServiceTarget(ClusterTarget):
    """Implements `ports.Target` for a server in a cluster that somebody else owns."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        environment: EnvironmentPlan,
        service: ServiceRequest,
        access: ClusterAccess,
        loader: Loader,
        *,
        lease: LeaseFile,
        tell: Callable[[str], None],
    ) -> None:
        """Prepare names; nothing is connected yet. Raises TargetError without a login."""
        login = access.logins.get(environment.slug)
        if login is None:
            raise TargetError(
                f"{environment.name}: no user and password of the secret {service.secret}",
                f"make it with the keys {service.user_key} and {service.password_key}",
            )
        super().__init__(
            environment,
            access,
            loader,
            login,
            lease=lease,
            tell=tell,
            database=service.database,
            sslmode=service.sslmode,
        )

    def provide(self) -> None:
        """Check the version and make the database, or take it over."""
        self.refuse_other_versions()
        self._loader.open(environment_slug=self._environment.slug, lease=self._lease)
        self.take_database()

    def start(self) -> None:
        """Wait until it answers: its owner may have another one take over."""
        self._started_at = None
        self.wait_until_it_answers(_FAILOVER_LIMIT_S)

    def storage_facts(self) -> StorageFacts | None:
        """Nothing is known of a given server's storage over SQL."""
        return None

    def remove(self) -> None:
        """Drop the database, unless the run goes on in another process."""
        self._loader.close(self._lease)
        if self._with.keep():
            return
        comment = f"groundspeed run {self._with.run_id}"
        sql.drop_database(self._maintenance, self._database, comment)
