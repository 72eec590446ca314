"""A Lease as a lock: one runner of a run at a time, also when the last one died without a word.

As in client-go, nobody's clock is trusted but our own: a lease has run out when it was not renewed
for its duration while we looked. Sooner only when the pod that holds it is gone, or has ended.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.kube.refusals import CONFLICT, NOT_ALLOWED, NOT_FOUND
from groundspeed.manifests.naming import Object, Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from groundspeed.kube.api import Api

DURATION_S = 30
# Renewed so often that one lost answer does no harm; given up before another one may take it.
_RENEW_EVERY_S = 8.0
_RETRY_EVERY_S = 2.0
_GIVE_UP_AFTER_S = 22.0
_LOOK_AGAIN_S = 5.0
_ENDED = ("Succeeded", "Failed")
_API_VERSION, _KIND = "coordination.k8s.io/v1", "Lease"


class RunLease:
    """The lease `name`, held by the pod `holder`.

    `owner` is the ownerReference it is made with. `lost` is called once, in another thread and with
    the reason, when it could not be renewed for so long that another one may hold it soon. Clocks
    are arguments: `now_s` is monotonic, `wall` is what is written for people.
    """

    def __init__(  # noqa: PLR0913 - what, whose, and the clocks
        self,
        api: Api,
        name: str,
        owner: Mapping[str, Any] | None,
        holder: str,
        *,
        labels: Mapping[str, str] | None = None,
        lost: Callable[[str], None] = lambda _: None,
        now_s: Callable[[], float] = time.monotonic,
        wall: Callable[[], datetime] = lambda: datetime.now(tz=UTC),
    ) -> None:
        self._api = api
        self._owner = owner
        self._holder = holder
        self._labels = dict(labels or {})
        self._lost = lost
        self._now_s = now_s
        self._wall = wall
        self._ref = Ref(api_version=_API_VERSION, kind=_KIND, name=name, namespace=api.namespace)
        self._seen: tuple[Any, float] | None = None
        self._held: Object | None = None
        self._renewed_s = 0.0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._threads: tuple[threading.Thread, ...] = ()

    @property
    def is_held(self) -> bool:
        """Whether we hold it, as far as we know."""
        return self._held is not None

    def acquire(self, limit_s: float) -> None:
        """Take it, and renew it from now on in a thread of its own.

        Waits while another one holds it. Raises TargetError when that is so after `limit_s`.
        """
        deadline_s = self._now_s() + limit_s
        while not self._try():
            left_s = deadline_s - self._now_s()
            if left_s <= 0:
                raise self._taken()
            self._wait_for_change(min(left_s, _LOOK_AGAIN_S))
        self._stop.clear()
        # Two of them: while one waits for an API server that does not answer, time goes by.
        self._threads = tuple(
            threading.Thread(target=loop, name="lease", daemon=True)
            for loop in (self._keep_renewing, self._keep_checking)
        )
        for thread in self._threads:
            thread.start()

    def release(self) -> None:
        """Give it back, so that a successor need not wait. Raises KubeError when that fails."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._threads = ()
        with self._lock:
            held, self._held = self._held, None
        if held is None:
            return
        try:
            self._write(held, {"holderIdentity": "", "leaseDurationSeconds": 1})
        except KubeError as error:
            # Gone with the run, or another one has it: it is not ours in either case.
            if error.status not in (CONFLICT, NOT_FOUND):
                raise

    def _try(self) -> bool:
        found = self._api.get(self._ref)
        began_s = self._now_s()
        try:
            if found is None:
                self._held = self._api.create(self._new())
            elif self._may_take(found):
                spec = found.get("spec") or {}
                further = {} if self._is_ours(found) else {"acquireTime": self._stamp()}
                count = int(spec.get("leaseTransitions") or 0) + len(further)
                self._held = self._write(
                    found, {**self._ours(), **further, "leaseTransitions": count}
                )
            else:
                return False
        except KubeError as error:
            # Another one was faster, or the answer was lost: what is written tells.
            if error.status not in (CONFLICT, None):
                raise
            return False
        self._renewed_s = began_s
        return True

    def _may_take(self, found: Object) -> bool:
        spec = found.get("spec") or {}
        holder = spec.get("holderIdentity")
        if not holder or holder == self._holder:
            return True
        said, since_s = found["metadata"]["resourceVersion"], self._now_s()
        if self._seen is None or self._seen[0] != said:
            self._seen = (said, since_s)
        duration_s = float(spec.get("leaseDurationSeconds") or DURATION_S)
        return self._now_s() - self._seen[1] > duration_s or self._has_ended(holder)

    def _has_ended(self, holder: str) -> bool:
        pod = self._api.get(
            Ref(api_version="v1", kind="Pod", name=holder, namespace=self._api.namespace)
        )
        return pod is None or (pod.get("status") or {}).get("phase") in _ENDED

    def _is_ours(self, found: Object) -> bool:
        return bool((found.get("spec") or {}).get("holderIdentity") == self._holder)

    def _wait_for_change(self, limit_s: float) -> None:
        """Come back when it changed, or after a while: pods end without changing a lease."""
        changes = self._api.watch(
            _API_VERSION, _KIND, fields={"metadata.name": self._ref.name}, limit_s=limit_s
        )
        for change in changes:
            version = change.object["metadata"]["resourceVersion"]
            if change.kind == "DELETED" or self._seen is None or version != self._seen[0]:
                return

    def _taken(self) -> TargetError:
        found = self._api.get(self._ref) or {}
        holder = (found.get("spec") or {}).get("holderIdentity")
        return TargetError(
            f"this run goes on in pod {holder} already",
            "two at once would disturb each other; that pod has to end first",
        )

    def _new(self) -> Object:
        meta: Object = {"name": self._ref.name, "namespace": self._ref.namespace}
        if self._labels:
            meta["labels"] = self._labels
        if self._owner is not None:
            meta["ownerReferences"] = [dict(self._owner)]
        spec = {**self._ours(), "acquireTime": self._stamp(), "leaseTransitions": 0}
        return {"apiVersion": _API_VERSION, "kind": _KIND, "metadata": meta, "spec": spec}

    def _ours(self) -> dict[str, Any]:
        return {
            "holderIdentity": self._holder,
            "leaseDurationSeconds": DURATION_S,
            "renewTime": self._stamp(),
        }

    def _stamp(self) -> str:
        return f"{self._wall():%Y-%m-%dT%H:%M:%S.%f}Z"

    def _write(self, found: Object, spec: Mapping[str, Any]) -> Object:
        version = found["metadata"]["resourceVersion"]
        return self._api.patch(
            self._ref, {"metadata": {"resourceVersion": version}, "spec": dict(spec)}
        )

    def _keep_renewing(self) -> None:
        wait_s = _RENEW_EVERY_S
        while not self._stop.wait(wait_s):
            wait_s = _RENEW_EVERY_S if self.renew() else _RETRY_EVERY_S

    def _keep_checking(self) -> None:
        left_s = _GIVE_UP_AFTER_S
        while not self._stop.wait(max(left_s, 0.0)):
            left_s = self.check()

    def renew(self) -> bool:
        """Renew it once; False when that has to be tried again soon. A thread does this."""
        began_s = self._now_s()
        try:
            found = self._api.get(self._ref)
            if found is None:
                return self._lose("its lease was deleted")
            if not self._is_ours(found):
                holder = (found.get("spec") or {}).get("holderIdentity")
                return self._lose(f"pod {holder} took its lease")
            written = self._write(found, self._ours())
        except KubeError as error:
            return self._lose(error.message) if error.status == NOT_ALLOWED else False
        with self._lock:
            if self._held is not None:
                self._held, self._renewed_s = written, began_s
        return True

    def check(self) -> float:
        """Give it up when it was not renewed for too long; else the seconds until then."""
        left_s = self._renewed_s + _GIVE_UP_AFTER_S - self._now_s()
        if left_s <= 0:
            self._lose("its lease could not be renewed: the API server did not answer in time")
        return left_s

    def _lose(self, why: str) -> bool:
        with self._lock:
            was_held, self._held = self._held is not None, None
        self._stop.set()
        if was_held:
            self._lost(why)
        return True
