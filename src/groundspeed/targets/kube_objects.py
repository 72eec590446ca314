"""The objects that a server in a cluster consists of: made, taken over, taken down and removed.

Nothing is touched that does not carry the label of the run, and nothing is deleted but the very
object that was looked at (by its uid).
"""

from __future__ import annotations

import select
import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming, servers
from groundspeed.manifests.naming import Ref, ref_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.manifests.naming import Object
    from groundspeed.plan import EnvironmentPlan
    from groundspeed.targets.kube_access import ClusterAccess

_GONE_LIMIT_S = 300.0
_WIPE_LIMIT_S = 120.0
_LOOK_AGAIN_S = 0.5
_CLAIM = ("v1", "PersistentVolumeClaim")


class ServerObjects:
    """What is made in the cluster for one environment."""

    def __init__(
        self, environment: EnvironmentPlan, access: ClusterAccess, tell: Callable[[str], None]
    ) -> None:
        """Ask nothing yet."""
        self._environment = environment
        self._with = access
        self._api = access.api
        self._tell = tell
        self.main = servers.main_ref(
            environment, run_id=access.run_id, namespace=access.api.namespace
        )

    def provide(self) -> bool:
        """Make what is not there yet; tells whether the server itself was.

        Raises TargetError where something of that name is there that is not this server.
        """
        self._wait_for_those_that_go()
        self._with.own(self._refs())
        was_there = False
        for asked in self._objects():
            found = self._api.get(self._ref(asked))
            if found is not None:
                self._refuse_foreign(found, asked)
                was_there = was_there or self._ref(asked) == self.main
                continue
            self._api.apply(asked)
        return was_there

    def _objects(self) -> tuple[Object, ...]:
        return servers.server_objects(
            self._environment,
            run_id=self._with.run_id,
            owner=self._with.owner,
            credentials=self._with.credentials,
        )

    def _refs(self) -> list[Ref]:
        """List all that comes to be, also the claims that a StatefulSet makes and leaves."""
        found = []
        for asked in self._objects():
            ref = self._ref(asked)
            found.append(ref)
            found += [
                Ref(
                    api_version="v1",
                    kind="PersistentVolumeClaim",
                    name=f"{template['metadata']['name']}-{ref.name}-0",
                    namespace=ref.namespace,
                )
                for template in asked.get("spec", {}).get("volumeClaimTemplates", [])
            ]
        return found

    def _ref(self, asked: Object) -> Ref:
        return msgspec.structs.replace(ref_of(asked), namespace=self._api.namespace)

    def _refuse_foreign(self, found: Object, asked: Object) -> None:
        what = f"{asked['kind']} {asked['metadata']['name']}"
        if not self._is_ours(found):
            raise TargetError(
                f"{self._environment.name}: {what} is there and does not belong to this run",
                "delete it, if nobody needs it, or use another namespace",
            )
        key = naming.SPEC_HASH_ANNOTATION
        wanted = asked["metadata"].get("annotations", {}).get(key)
        if wanted is not None and found["metadata"].get("annotations", {}).get(key) != wanted:
            raise TargetError(
                f"{self._environment.name}: {what} of this run was made for something else",
                "an earlier groundspeed asked for it otherwise: groundspeed clean the run",
            )

    def _is_ours(self, found: Object) -> bool:
        run = naming.label_value(self._with.run_id)
        return bool(found["metadata"].get("labels", {}).get(naming.RUN_LABEL) == run)

    def _claims(self) -> list[Object]:
        selector = servers.claims_selector(self._environment, run_id=self._with.run_id)
        return self._api.list(*_CLAIM, labels=selector)

    def _pods(self) -> list[Object]:
        labels = servers.pod_labels(self._environment, run_id=self._with.run_id)
        return self._api.list("v1", "Pod", labels=labels)

    def _wait_for_those_that_go(self) -> None:
        """Let what is being deleted go first: it would take what is made now along."""

        def going() -> list[Object]:
            refs = [self._ref(asked) for asked in self._objects()]
            found = [one for one in map(self._api.get, refs) if one is not None]
            return [one for one in (*found, *self._claims()) if _is_going(one)]

        self._wait_until_none(going, _GONE_LIMIT_S)

    def _wait_until_none(self, left: Callable[[], list[Object]], limit_s: float) -> None:
        deadline_s = time.monotonic() + limit_s
        while found := left():
            if time.monotonic() >= deadline_s:
                names = ", ".join(f"{one['kind']} {one['metadata']['name']}" for one in found)
                raise TargetError(
                    f"{self._environment.name}: still there after {limit_s:g} s: {names}",
                    "groundspeed clean removes it later; finalizers tell what holds it",
                )
            # Pods, claims, a Service and a Cluster: a watch of each would be four connections.
            select.select([], [], [], _LOOK_AGAIN_S)

    def scale(self, replicas: int) -> None:
        """Take the server down (0) or up (1); its volumes stay."""
        ref, change = servers.scaled(
            self._environment,
            run_id=self._with.run_id,
            namespace=self._api.namespace,
            replicas=replicas,
        )
        self._api.patch(ref, change)

    def note_prepared(self, scale: int) -> None:
        """Say on the server with which scale its database was filled."""
        annotations = {naming.PREPARED_ANNOTATION: str(scale)}
        self._api.patch(self.main, {"metadata": {"annotations": annotations}})

    def prepared_scale(self) -> int | None:
        """Read the scale that the database was filled with; None where it was not."""
        meta = (self._api.get(self.main) or {}).get("metadata", {})
        told = meta.get("annotations", {}).get(naming.PREPARED_ANNOTATION, "")
        return int(told) if told.isdigit() else None

    def is_there(self) -> bool:
        """Tell whether anything of the server is there."""
        return self._api.get(self.main) is not None or bool(self._claims())

    def remove(self) -> None:
        """Delete the server and its claims, and wait until they are gone. Raises TargetError."""
        self._wipe()
        for asked in reversed(self._objects()):
            ref = self._ref(asked)
            self._delete(ref, self._api.get(ref))
        for claim in self._claims():
            self._delete(self._ref(claim), claim)
        self._wait_until_none(self._left, _GONE_LIMIT_S)
        self._with.disown(self._refs())

    def _left(self) -> list[Object]:
        main = self._api.get(self.main)
        ours = [main] if main is not None and self._is_ours(main) else []
        return [*ours, *self._pods(), *self._claims()]

    def _delete(self, ref: Ref, found: Object | None) -> None:
        if found is None or _is_going(found) or not self._is_ours(found):
            return
        try:
            self._api.delete(ref, uid=found["metadata"]["uid"])
        except KubeError as error:
            # Another one has its name by now.
            if error.status != 409:  # noqa: PLR2004 - HTTP
                raise

    def _wipe(self) -> None:
        """Remove the data from volumes that keep them; what cannot be wiped is told."""
        command = servers.wipe_command(self._environment, run_id=self._with.run_id)
        if not command:
            return
        running = [p for p in self._pods() if p.get("status", {}).get("phase") == "Running"]
        if not running and self._claims():
            self._tell(f"{self._environment.name}: no pod runs, its data stay on the volume")
        for pod in running:
            name = pod["metadata"]["name"]
            try:
                ran = self._api.execute(name, servers.CONTAINER, command, limit_s=_WIPE_LIMIT_S)
            except KubeError as error:
                # The server does not survive it, and its container may be gone before the answer.
                self._tell(f"{self._environment.name}: data may stay: {error.message}")
                continue
            if ran.returncode != 0:
                said = ran.stderr.decode(errors="replace").strip().rpartition("\n")[2]
                self._tell(f"{self._environment.name}: data may stay on the volume: {said}")


def _is_going(found: Object) -> bool:
    return "deletionTimestamp" in found["metadata"]
