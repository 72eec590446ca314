"""Questions to a cluster that may go unanswered: what failed is noted, what it took is counted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from groundspeed.kube.api import KubeError
from groundspeed.manifests.naming import Ref
from groundspeed.record.evidence import AROUND_PROBE, Absent, ProbeCost

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

_FORBIDDEN = 403
# A container that answers takes a fraction of a second; one that is stuck must not hold a run.
EXECUTE_LIMIT_S = 10.0
_Answer = TypeVar("_Answer")


class Asking:
    """An API server, asked by one who goes on without an answer."""

    def __init__(self, api: Api) -> None:
        """Ask nothing yet."""
        self.api = api
        self._absent: dict[str, str] = {}
        self._forbidden: set[str] = set()
        self._lost: str | None = None
        self._call_count = 0
        self._cpu_s = self._elapsed_s = self._slowest_s = 0.0

    def ask(
        self, what: str, question: Callable[[], _Answer], *, is_of_pod: bool = False
    ) -> _Answer | None:
        """Give the answer; None where there is none, and then `what` is told as absent.

        What is not allowed is not asked again, and nothing is once the API server is gone: each
        question waits for it. `is_of_pod`: the answer comes from a pod, which may hang by itself.
        """
        if self._lost is not None:
            self.miss(what, self._lost)
        if what in self._forbidden or self._lost is not None:
            return None
        began_s, cpu_s = time.monotonic(), time.thread_time()
        try:
            return question()
        except KubeError as error:
            if error.status == _FORBIDDEN:
                self._forbidden.add(what)
            if error.status is None and not is_of_pod:
                self._lost = error.message
            self.miss(what, "not allowed" if what in self._forbidden else error.message)
            return None
        finally:
            took_s = time.monotonic() - began_s
            self._call_count += 1
            self._cpu_s += time.thread_time() - cpu_s
            self._elapsed_s += took_s
            self._slowest_s = max(self._slowest_s, took_s)

    def get(
        self, what: str, kind: str, name: str, *, namespace: str | None, version: str = "v1"
    ) -> Object | None:
        """Read an object; one that is not there is absent as well."""
        ref = Ref(api_version=version, kind=kind, name=name, namespace=namespace)
        missed = what in self._absent
        found = self.ask(what, lambda: self.api.get(ref))
        if found is None and not missed and what not in self._absent:
            self.miss(what, f"there is no {kind} {name}")
        return found

    def safely(self, act: Callable[[], _Answer]) -> _Answer | None:
        """Do something with answers that may be of another shape than we know; None then."""
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - whatever it is: no probe fails a trial
            self.miss(AROUND_PROBE, " ".join(f"{type(error).__name__}: {error}".split()))
            return None

    def miss(self, what: str, reason: str) -> None:
        """Note that something could not be seen; the first reason stays."""
        self._absent.setdefault(what, reason)

    @property
    def absent(self) -> tuple[Absent, ...]:
        """What had no answer so far."""
        return tuple(Absent(what=what, reason=reason) for what, reason in self._absent.items())

    @property
    def cost(self) -> ProbeCost:
        """What asking took so far."""
        return ProbeCost(
            probe=AROUND_PROBE,
            call_count=self._call_count,
            cpu_s=self._cpu_s,
            elapsed_s=self._elapsed_s,
            slowest_s=self._slowest_s,
        )
