"""Removes from a cluster exactly what one run made there, in an order by which nothing hangs.

It may be interrupted, and started again: what is gone is not asked for, and the anchor, which
knows what the run owns, is the last to go.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from groundspeed.cli.kubernetes_owned import NOT_ALLOWED, STEPS, Owner, written_down
from groundspeed.cli.kubernetes_pods import is_running
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.kube.waiting import wait_gone
from groundspeed.manifests import runner, servers
from groundspeed.plan import VolumeKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.cli.kubernetes_owned import Owned
    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object, Ref
    from groundspeed.plan import EnvironmentPlan, Plan

# A runner has a minute to end in order; servers and volumes take what they take.
_STOP_LIMIT_S = 180.0
_GONE_LIMIT_S = 300.0
_WIPE_LIMIT_S = 120.0
_CONFLICT = 409
# Gone once all that belongs to them is; of others nothing has to be waited for.
_WITH_OTHERS = frozenset({"Job", "StatefulSet", "Cluster"})


class Cleaner:
    """Removes one run. `tell` gets a line for what people should know."""

    def __init__(
        self, api: Api, run: ClusterRun, anchor: Object | None, *, tell: Callable[[str], None]
    ) -> None:
        self._api = api
        self._run = run
        self._owner = Owner(api, run, written_down(anchor))
        self._had_anchor = anchor is not None
        self._tell = tell
        self._refused: list[tuple[str, str]] = []
        self._removed: set[Ref] = set()

    @property
    def removed(self) -> Counter[str]:
        """How many objects went so far, by kind."""
        return Counter(ref.kind for ref in self._removed)

    def stop(self) -> None:
        """End the runner and its load generators, and wait until they are gone.

        The runner removes its servers then, if it can. Raises KubeError, TargetError.
        """
        self._remove_kinds(STEPS[0], limit_s=_STOP_LIMIT_S)
        self._raise_refused()

    def wipe(self, plan: Plan) -> None:
        """Remove servers whose volumes stay, and their data before; says where data stay.

        Each one right after its data: what still runs may write a file again.
        """
        for environment in plan.environments:
            if environment.cluster is None:
                continue
            command = servers.wipe_command(environment, run_id=self._run.run_id)
            if not command or not self._has_claims(environment):
                continue
            reason = self._wipe(environment, command)
            self._delete_server(environment)
            if reason is not None:
                where = _places(environment)
                self._tell(f"what {environment.name} wrote stays on {where}: {reason}")

    def _delete_server(self, environment: EnvironmentPlan) -> None:
        ref = servers.main_ref(environment, run_id=self._run.run_id, namespace=self._run.namespace)
        for owned in self._owner.of_name(ref):
            self._delete(owned)

    def _has_claims(self, environment: EnvironmentPlan) -> bool:
        """Tell whether there is anything to wipe: a server that was removed in order left none."""
        wanted = servers.claims_selector(environment, run_id=self._run.run_id)
        try:
            found = self._api.list(
                "v1", "PersistentVolumeClaim", namespace=self._run.namespace, labels=wanted
            )
        except KubeError as error:
            if error.status != NOT_ALLOWED:
                raise
            return True
        return bool(found)

    def _wipe(self, environment: EnvironmentPlan, command: tuple[str, ...]) -> str | None:
        """Wipe in each pod of a server; gives the reason where it failed."""
        wanted = servers.pod_labels(environment, run_id=self._run.run_id)
        try:
            found = self._api.list("v1", "Pod", namespace=self._run.namespace, labels=wanted)
            names = [pod["metadata"]["name"] for pod in found if is_running(pod)]
            for name in names:
                ran = self._api.execute(name, servers.CONTAINER, command, limit_s=_WIPE_LIMIT_S)
                if ran.returncode:
                    return ran.stderr.decode(errors="replace").strip() or "it could not be removed"
        except KubeError as error:
            return error.message
        return None if names else "its server does not run"

    def remove(self, *, keep_results: bool) -> None:
        """Remove all else, and wait until it is gone. Raises KubeError, TargetError.

        With `keep_results` the claim with the results stays, and nothing else.
        """
        results = runner.results_name(self._run.run_id)
        kept = {("PersistentVolumeClaim", results)} if keep_results else set()
        # Twice: what belonged to the anchor and may not be listed, the cluster removes by itself.
        for kinds in (*STEPS, *STEPS):
            if kinds is STEPS[-1]:
                # Last, and not before all else: it knows what there is.
                self._raise_refused()
            self._remove_kinds(kinds, kept=kept)
        self._raise_refused()
        for unseen in self._owner.unseen:
            # All but claims belongs to the anchor, and goes with it.
            if self._had_anchor and unseen.kind != "PersistentVolumeClaim":
                continue
            self._tell(f"whether a {unseen.kind} is left nobody knows: {unseen.reason}")

    def _remove_kinds(
        self,
        kinds: tuple[tuple[str, str], ...],
        *,
        kept: set[tuple[str, str]] | None = None,
        limit_s: float = _GONE_LIMIT_S,
    ) -> None:
        gone = []
        for api_version, kind in kinds:
            for owned in self._owner.of_kind(api_version, kind):
                if (owned.ref.kind, owned.ref.name) in (kept or ()):
                    continue
                if self._delete(owned) and owned.uid is not None:
                    gone.append(owned.ref)
        wait_gone(self._api, gone, limit_s=limit_s)

    def _delete(self, owned: Owned) -> bool:
        try:
            how = "Foreground" if owned.ref.kind in _WITH_OTHERS else "Background"
            was_there = self._api.delete(owned.ref, uid=owned.uid, propagation=how)
        except KubeError as error:
            if error.status == _CONFLICT:
                # Another one has its name by now, made since it was listed.
                return False
            self._refused.append((error.message, error.hint))
            return False
        if was_there:
            self._removed.add(owned.ref)
        return was_there

    def _raise_refused(self) -> None:
        if self._refused:
            first, *further = dict.fromkeys(self._refused)
            raise TargetError(*first, further=tuple(further))


def _places(environment: EnvironmentPlan) -> str:
    cluster = environment.cluster
    volumes = () if cluster is None else (cluster.volume, cluster.wal_volume)
    named = {
        VolumeKind.LOCAL: "{0.path} of node {0.node}",
        VolumeKind.CLASS: "volumes of class {0.class_name}, unless those go with their claims",
    }
    return " and ".join(
        named[volume.kind].format(volume)
        for volume in volumes
        if volume is not None and volume.kind in named
    )
