"""The pods of one server in a cluster: waited for, told apart, and what became of them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError, UnavailableError
from groundspeed.manifests import servers, states
from groundspeed.plan import ClusterKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.states import Trouble
    from groundspeed.plan import EnvironmentPlan
    from groundspeed.targets.kube_access import ClusterAccess

# What stands in the way is looked for at least so often: claims and events have no watch here.
_LOOK_AGAIN_S = 2.0
# By which a pod is taken away, as events about it say.
_TAKEN = frozenset({"Evicted", "Preempted", "TaintManagerEviction", "NodeNotReady"})


class PodMark(msgspec.Struct, frozen=True, kw_only=True):
    """Which pod it is, and how often its server was started in it."""

    name: str
    uid: str
    restart_count: int


class ServerPods:
    """The pods of the server of one environment."""

    def __init__(self, environment: EnvironmentPlan, access: ClusterAccess) -> None:
        """Ask nothing yet."""
        self._environment = environment
        self._with = access
        self._api = access.api
        self._labels = servers.pod_labels(environment, run_id=access.run_id)
        self._primary = servers.primary_labels(environment, run_id=access.run_id)
        self._main = servers.main_ref(
            environment, run_id=access.run_id, namespace=access.api.namespace
        )

    def primary(self) -> Object | None:
        """Find the pod that takes writes, where it is not on its way out."""
        pods = self._api.list("v1", "Pod", labels=self._primary)
        return next((pod for pod in pods if _is_staying(pod)), None)

    def ready(self) -> Object | None:
        """Find the pod that takes writes, once the whole server is ready."""
        pod = self.primary()
        if pod is None or not states.is_ready(pod):
            return None
        return pod if self._has_all_instances() else None

    def _has_all_instances(self) -> bool:
        """Tell whether replicas are there too: one that is being copied takes time from others."""
        asked = self._environment.cluster
        if asked is None or asked.kind is not ClusterKind.CNPG:
            return True
        cluster = self._api.get(self._main)
        return cluster is not None and states.is_cluster_ready(cluster)

    def wait_until_ready(
        self, limit_s: float, tell: Callable[[str], None], nudge: Callable[[], object]
    ) -> Object:
        """Return the pod that takes writes, once the server is ready.

        What is waited for is told when it changes; `nudge` is called now and then. Raises
        UnavailableError where waiting does not help, and TargetError after `limit_s` with what
        stood in the way.
        """
        deadline_s = time.monotonic() + limit_s
        last = told = ""
        while True:
            seen = self._versions()
            if (pod := self.ready()) is not None:
                return pod
            nudge()
            trouble = self.trouble()
            if trouble is not None and trouble.is_final:
                raise UnavailableError(f"{self._environment.name}: {trouble.message}", trouble.hint)
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise self._late(trouble, limit_s)
            message = "" if trouble is None else trouble.message
            # What is gone at the next look was only a step on the way.
            if message and message == last != told:
                told = message
                tell(f"{self._environment.name}: waiting: {told}")
            last = message
            self._wait_for_change(seen, min(left_s, _LOOK_AGAIN_S))

    def wait_until_down(self, limit_s: float) -> None:
        """Return when no pod is left. Raises TargetError after `limit_s`."""
        deadline_s = time.monotonic() + limit_s
        while seen := self._versions():
            left_s = deadline_s - time.monotonic()
            if left_s <= 0:
                raise self._error(
                    f"its pod did not end within {limit_s:g} s",
                    "look at it with kubectl describe pod",
                )
            self._wait_for_change(seen, min(left_s, _LOOK_AGAIN_S))

    def _versions(self) -> dict[str, str]:
        return {
            pod["metadata"]["uid"]: pod["metadata"].get("resourceVersion", "")
            for pod in self._api.list("v1", "Pod", labels=self._labels)
        }

    def _wait_for_change(self, seen: dict[str, str], limit_s: float) -> None:
        """Wait until the pods are others than those that were seen, or the time is over."""
        for change in self._api.watch("v1", "Pod", labels=self._labels, limit_s=limit_s):
            meta = change.object["metadata"]
            known = seen.get(meta["uid"]) == meta.get("resourceVersion", "")
            if change.kind == "DELETED" or not known:
                return

    def _error(self, what: str, hint: str) -> TargetError:
        return TargetError(f"{self._environment.name}: {what}", hint)

    def _late(self, trouble: Trouble | None, limit_s: float) -> TargetError:
        if trouble is None:
            what, hint = "nothing tells why", f"kubectl describe {self._main.kind.lower()}"
        else:
            what, hint = trouble.message, trouble.hint
        return self._error(f"its server is not ready after {limit_s:g} s: {what}", hint)

    def trouble(self) -> Trouble | None:
        """Say what stands in the way of the server: what waiting does not help before the rest."""
        found = list(self._troubles())
        return next((one for one in found if one.is_final), found[0] if found else None)

    def _troubles(self) -> Iterator[Trouble]:
        selector = servers.claims_selector(self._environment, run_id=self._with.run_id)
        for claim in self._api.list("v1", "PersistentVolumeClaim", labels=selector):
            if (one := states.claim_trouble(claim, self._events(claim))) is not None:
                yield one
        for pod in self._api.list("v1", "Pod", labels=self._labels):
            if not states.is_ready(pod) and (
                (one := states.pod_trouble(pod, self._events(pod))) is not None
            ):
                yield one
        main = self._api.get(self._main)
        if main is not None and self._main.kind == "Cluster":
            if (one := states.cluster_trouble(main)) is not None:
                yield one
        elif main is not None and (refused := self._refused(main)) is not None:
            yield refused

    def _refused(self, main: Object) -> Trouble | None:
        """Say why a StatefulSet makes no pod: a quota, or what the namespace allows."""
        if self._api.list("v1", "Pod", labels=self._labels):
            return None
        failed = [e for e in self._events(main) if e.get("reason") == "FailedCreate"]
        if not failed:
            return None
        return states.Trouble(
            reason="refused",
            message=f"no pod may be made: {' '.join(failed[-1].get('message', '').split())}",
            hint="see the quota and the Pod Security of the namespace",
            is_final=False,
        )

    def _events(self, about: Object) -> Sequence[Object]:
        return self._api.list(
            "v1", "Event", fields={"involvedObject.uid": about["metadata"]["uid"]}
        )

    def mark(self) -> PodMark | None:
        """Tell which pod takes writes now; None where there is none."""
        pod = self.primary()
        return None if pod is None else mark_of(pod)

    def why_gone(self, before: PodMark) -> str | None:
        """Say what became of a pod and its server; None where nothing did."""
        pods = self._api.list("v1", "Pod", labels=self._labels)
        pod = next((one for one in pods if one["metadata"]["uid"] == before.uid), None)
        if pod is None or not _is_staying(pod):
            return self._why_taken(before, pod)
        if mark_of(pod).restart_count != before.restart_count or not _is_running(pod):
            ended = states.last_ending(pod)
            return "its container was started again" if ended is None else ended.message
        if pod["metadata"]["name"] not in {
            one["metadata"]["name"] for one in self._api.list("v1", "Pod", labels=self._primary)
        }:
            return "another instance became the primary"
        return None

    def _why_taken(self, before: PodMark, pod: Object | None) -> str:
        if pod is not None:
            taken = states.disruption(pod) or states.pod_trouble(pod, self._events(pod))
            if taken is not None:
                return taken.message
        events = self._api.list("v1", "Event", fields={"involvedObject.uid": before.uid})
        told = [event for event in events if event.get("reason") in _TAKEN]
        if told:
            words = " ".join(str(told[-1].get("message", "")).split()).rstrip(".")
            return f"its pod was taken away: {told[-1]['reason']}: {words}"
        return "its pod was deleted"


def mark_of(pod: Object) -> PodMark:
    """Tell which pod this is."""
    return PodMark(
        name=pod["metadata"]["name"],
        uid=pod["metadata"]["uid"],
        restart_count=int(_container_status(pod).get("restartCount") or 0),
    )


def _is_staying(pod: Object) -> bool:
    """Tell whether a pod is neither being deleted nor at its end."""
    ended = pod.get("status", {}).get("phase") in {"Failed", "Succeeded"}
    return not ended and "deletionTimestamp" not in pod["metadata"]


def _container_status(pod: Object) -> Object:
    found = pod.get("status", {}).get("containerStatuses") or []
    return next((one for one in found if one.get("name") == servers.CONTAINER), {})


def _is_running(pod: Object) -> bool:
    return "running" in (_container_status(pod).get("state") or {})
