"""A PostgreSQL that the run makes in a cluster: a StatefulSet of one pod, or a Cluster.

It outlives the process that made it where the run goes on in another one, which takes it over. A
pod that was deleted, evicted or started again in the middle of a trial has spoilt that trial.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import servers
from groundspeed.plan import ClusterKind
from groundspeed.ports import PodPlace
from groundspeed.targets import kube_volumes, rest, sql
from groundspeed.targets.kube_objects import ServerObjects
from groundspeed.targets.kube_pods import PodMark, ServerPods, mark_of
from groundspeed.targets.kube_target import ClusterTarget

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import EnvironmentPlan
    from groundspeed.ports import WatchPoints
    from groundspeed.record import Caution, StorageFacts
    from groundspeed.targets.kube_access import ClusterAccess
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.loading import Loader

# After the pod is ready: its address and its password are set a moment later.
_ANSWER_LIMIT_S = 60.0
_PREPARE_TRIES = 3


class KubernetesTarget(ClusterTarget):
    """Implements `ports.Target` for a server of our own in a cluster."""

    def __init__(  # noqa: PLR0913 - each names one independent circumstance
        self,
        environment: EnvironmentPlan,
        access: ClusterAccess,
        loader: Loader,
        *,
        lease: LeaseFile,
        tell: Callable[[str], None],
        is_warm: bool = False,
    ) -> None:
        """Prepare names; nothing is made yet. Raises TargetError without a password."""
        if access.login is None:
            raise TargetError(
                f"{environment.name}: no password for the server",
                f"make the Secret {access.credentials} with username and password",
            )
        super().__init__(
            environment,
            access,
            loader,
            access.login,
            lease=lease,
            tell=tell,
            # One maker's servers offer TLS and the other's do not: they are to be alike.
            sslmode="disable",
        )
        self._objects = ServerObjects(environment, access, tell)
        self._pods = ServerPods(environment, access)
        self._is_warm = is_warm
        self._pod: Object | None = None
        # Of the pod when its trial began; None while nothing is measured.
        self._mark: PodMark | None = None

    @property
    def _one_at_a_time(self) -> bool:
        cluster = self._environment.cluster
        return cluster is not None and cluster.one_at_a_time

    def provide(self) -> None:
        """Make the server or take it over, wait until it is ready, and make the database."""
        if self._objects.provide():
            self._tell(f"{self._environment.name}: takes over its server")
        self.start()
        self._refuse_another_version()
        self._loader.open(environment_slug=self._environment.slug, lease=self._lease)
        self.take_database()

    def _refuse_another_version(self) -> None:
        self.refuse_other_versions()
        version = sql.facts(self._maintenance).version_num // 10000
        asked = self._environment.version
        if asked is not None and version != asked:
            raise TargetError(
                f"{self._environment.name}: its image has PostgreSQL {version}, not {asked}",
                f"name an image of PostgreSQL {asked}, or write version: {version}",
            )

    def prepare(self, scale: int) -> None:
        """Fill the database, again where its pod was taken away meanwhile, and let it rest."""
        for tries_left in reversed(range(_PREPARE_TRIES)):
            mark = self._pods.mark()
            try:
                super().prepare(scale)
            except TargetError:
                why = None if mark is None else self._pods.why_gone(mark)
                if not tries_left or why is None:
                    raise
                self._tell(f"{self._environment.name}: {why}; its database is filled again")
                self.start()
                self.take_database()
            else:
                break
        self._objects.note_prepared(scale)
        self.stop()

    def was_prepared(self, scale: int) -> bool:
        """Tell whether an earlier process of the run filled the database, and it is whole."""
        return self._objects.prepared_scale() == scale and super().was_prepared(scale)

    def start(self) -> None:
        """Make sure that there is a server: it answers, or the next pod is waited for."""
        self._mark = self._started_at = None
        if self._one_at_a_time:
            self._objects.scale(1)
        if self._is_up():
            return
        self._pod = self._pods.wait_until_ready(
            self._with.ready_limit_s, self._tell, self._hurry_replicas
        )
        self.wait_until_it_answers(_ANSWER_LIMIT_S)

    def _is_up(self) -> bool:
        try:
            self._pod = self._pods.ready()
        except KubeError:
            # An API server that is away for a while harms no server; what tells one that was
            # started again from the other is asked over SQL.
            return sql.answers(self._maintenance)
        return self._pod is not None and sql.answers(self._maintenance)

    def _hurry_replicas(self) -> None:
        """Make a checkpoint, where replicas are copied: else each waits minutes for the next."""
        cluster = self._environment.cluster
        if cluster is None or cluster.kind is not ClusterKind.CNPG or cluster.instance_count == 1:
            return
        if sql.answers(self._maintenance):
            sql.checkpoint(self._maintenance)

    def stop(self) -> None:
        """Let it rest while others are measured; one at a time: take its pod down."""
        if self._one_at_a_time:
            self._mark = self._started_at = None
            self._objects.scale(0)
            self._pods.wait_until_down(self._with.ready_limit_s)
        elif self._is_warm:
            rest.settle(self._address, ())
        else:
            # Or its dirty pages are written while another one is measured.
            sql.checkpoint(self._address)

    def check(self) -> tuple[Caution, ...]:
        """Remember which pod it is, and make sure the dataset is whole."""
        try:
            self._pod = self._pods.primary()
            self._mark = None if self._pod is None else mark_of(self._pod)
        except KubeError:
            self._mark = None
        return super().check()

    def is_alive(self) -> bool:
        """Tell whether the server answers that did when the trial began, in the same pod."""
        return super().is_alive() and self._why_gone() is None

    def _why_gone(self) -> str | None:
        if self._mark is None:
            return None
        try:
            return self._pods.why_gone(self._mark)
        except KubeError:
            return None

    def why_dead(self) -> str:
        """Tell what became of its pod, or what stands in the way of the next one."""
        if (why := self._why_gone()) is not None:
            return why
        try:
            trouble = self._pods.trouble()
        except KubeError:
            trouble = None
        return super().why_dead() if trouble is None else trouble.message

    def watch_points(self) -> WatchPoints:
        """Tell where probes find it: over SQL, and its pod."""
        points = super().watch_points()
        if self._pod is None:
            return points
        meta = self._pod["metadata"]
        place = PodPlace(
            namespace=meta.get("namespace", self._with.api.namespace),
            name=meta["name"],
            container=servers.CONTAINER,
            uid=meta["uid"],
            claims=kube_volumes.claims_of(self._pod),
        )
        return msgspec.structs.replace(points, pod=place)

    def storage_facts(self) -> StorageFacts | None:
        """Tell where its files are, as far as that can be read."""
        return kube_volumes.storage_facts(self._environment, self._with, self._pod)

    def remove(self) -> None:
        """Remove the server with its volumes, unless the run goes on in another process."""
        self._loader.close(self._lease)
        if self._with.keep() or not self._objects.is_there():
            return
        if self._one_at_a_time:
            self._take_up_to_wipe()
        self._objects.remove()

    def _take_up_to_wipe(self) -> None:
        """Start the pod where only that one can remove what stays on its volume."""
        if servers.wipe_command(self._environment, run_id=self._with.run_id):
            try:
                self.start()
            except TargetError as error:
                self._tell(f"{self._environment.name}: {error.message}")
