"""Whether a run in a cluster goes on in another process when this one leaves its servers.

A pod that is evicted or deleted has a successor, made by the Job; so has one that failed for a
reason that may pass. Then servers stay. Where the run is at its end, was deleted or was given up by
the Job, they go.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from groundspeed.deciding import remaining
from groundspeed.errors import UnavailableError
from groundspeed.kube.api import KubeError
from groundspeed.manifests.naming import Ref, run_name
from groundspeed.store import read_records

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.plan import Plan

# By which a Job says that it makes no further pod; the first two also while its last one ends.
_OVER = frozenset({"FailureTarget", "SuccessCriteriaMet", "Failed", "Complete"})
_DEFAULT_BACKOFF_LIMIT = 6


class Succession:
    """Answers `ClusterAccess.keep` for one process of a run."""

    def __init__(self, api: Api, run_id: str, plan: Plan, run_dir: Path) -> None:
        """Ask nothing yet; further passes are those that this process makes after the one at hand.

        A lease that was lost has another holder, whose servers they then are.
        """
        self._api = api
        self._run_id = run_id
        self._plan = plan
        self._run_dir = run_dir
        self.further_pass_count = 0
        self.is_interrupted = False
        self.is_lease_lost = False

    def interrupted(self) -> None:
        """Note that this process was asked to end."""
        self.is_interrupted = True

    def goes_on(self) -> bool:
        """Tell whether what stands is still needed when this process lets go of it."""
        if self.is_lease_lost:
            return True
        if not self.is_unfinished():
            return False
        if isinstance(sys.exception(), UnavailableError):
            # By its exit code the Job knows that another pod would fail as this one does.
            return False
        # Servers are let go of while an exception is on its way, or when a pass is at its end.
        if self.is_interrupted or sys.exception() is not None:
            return self._has_successor()
        return self.further_pass_count > 0

    def is_unfinished(self) -> bool:
        """Tell whether trials are left that may still be measured."""
        return bool(remaining(self._plan, read_records(self._run_dir)))

    def _has_successor(self) -> bool:
        try:
            anchor = self._api.get(self._ref("v1", "ConfigMap"))
            job = self._api.get(self._ref("batch/v1", "Job"))
        except KubeError:
            # Not told is no reason to throw away what may be needed; all of it has an owner.
            return True
        return _stands(anchor) and _stands(job) and self._makes_another(job or {})

    def _ref(self, api_version: str, kind: str) -> Ref:
        name = run_name(self._run_id)
        return Ref(api_version=api_version, kind=kind, name=name, namespace=self._api.namespace)

    def _makes_another(self, job: Object) -> bool:
        conditions = job.get("status", {}).get("conditions") or []
        if any(c.get("type") in _OVER and c.get("status") == "True" for c in conditions):
            return False
        if self.is_interrupted:
            # Which counts as no failure.
            return True
        limit = int(job.get("spec", {}).get("backoffLimit", _DEFAULT_BACKOFF_LIMIT))
        # Of earlier pods; this one will be the next.
        return int(job.get("status", {}).get("failed") or 0) < limit


def _stands(found: Object | None) -> bool:
    return found is not None and "deletionTimestamp" not in found["metadata"]
