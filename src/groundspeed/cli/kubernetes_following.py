"""Follows a run in a cluster until its Job has ended: tells what happens, pulls what is new.

The run needs nobody who follows it. So nothing that goes wrong here is the run's: what cannot be
asked is asked again, until somebody presses Ctrl-C.
"""

from __future__ import annotations

import time
from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from groundspeed.cli.kubernetes_log import RunnerLog
from groundspeed.cli.kubernetes_pods import (
    events_of,
    exit_code,
    has_condition,
    has_started,
    is_running,
    pods_of,
)
from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.manifests import runner, states
from groundspeed.manifests.states import Trouble
from groundspeed.probes.cluster_objects import dug

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundspeed.cli.kubernetes_runs import ClusterRun
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

# Lines that tell of a trial start with its number.
_TRIAL_LINE = "["
_LAST_LINES = 5


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """How often things are done. `patience_s`: how long a pod may stay without a way out."""

    look_s: float = 2.0
    pull_s: float = 5.0
    pause_s: float = 0.5
    patience_s: float = 60.0


class JobState(Enum):
    """How the Job of a run stands."""

    # Neither of the others: it runs, or waits for its pod.
    OPEN = "open"
    COMPLETE = "complete"
    FAILED = "failed"
    # Not there: never made, removed, or ended so long ago that the cluster removed it.
    ABSENT = "absent"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """How a followed Job ended. `code` is the exit code of the last pod, None where none is left.

    `last_lines` are those of its log that were seen last.
    """

    state: JobState
    code: int | None = None
    trouble: Trouble | None = None
    last_lines: tuple[str, ...] = ()


def job_state(job: Object | None) -> JobState:
    """Tell how a Job stands."""
    if job is None:
        return JobState.ABSENT
    if has_condition(job, "Complete"):
        return JobState.COMPLETE
    return JobState.FAILED if has_condition(job, "Failed") else JobState.OPEN


class Follower:
    """Follows one run. `tell` gets lines for people, `pull` brings what is new of a pod here."""

    def __init__(
        self,
        api: Api,
        run: ClusterRun,
        *,
        tell: Callable[[str], None],
        pull: Callable[[str], object],
        pace: Pace | None = None,
    ) -> None:
        self._api = api
        self._run = run
        self._tell = tell
        self._pull = pull
        self._pace = pace or Pace()
        self._told: dict[str, str] = {}
        self._last_lines: list[str] = []
        self._pod: Object | None = None
        self._has_news = True
        self._pulled_s = float("-inf")
        self._hopeless_since_s: float | None = None

    def follow(self) -> Seen:
        """Follow until the Job has ended, or is not there. Raises KubeError (401, 403).

        Raises TargetError when its pod cannot start and waiting longer does not help.
        """
        looked_s = float("-inf")
        with RunnerLog(self._api, self._run, pause_s=self._pace.pause_s) as log:
            while True:
                if time.monotonic() - looked_s >= self._pace.look_s:
                    seen = self._look()
                    if seen is not None:
                        break
                    looked_s = time.monotonic()
                for line in log.lines(self._pace.pause_s):
                    self._keep(line)
                self._pull_if_new()
            for line in log.rest(20 * self._pace.pause_s):
                self._keep(line)
        return msgspec.structs.replace(seen, last_lines=tuple(self._last_lines))

    def _keep(self, line: str) -> None:
        self._tell(line)
        self._last_lines = [*self._last_lines, line][-_LAST_LINES:]
        self._has_news = self._has_news or line.startswith(_TRIAL_LINE)

    def _once(self, about: str, message: str) -> None:
        """Tell something when it changes."""
        if self._told.get(about, "") != message:
            self._told[about] = message
            if message:
                self._tell(message)

    def _look(self) -> Seen | None:
        """Look how the run stands; None while it goes on."""
        try:
            job = self._api.get(self._run.job)
            pods = pods_of(self._api, self._run, "runner")
            state = job_state(job)
            if state is JobState.OPEN:
                self._look_at_pods(pods)
        except KubeError as error:
            if error.status in {401, 403}:
                raise
            self._once("api", f"{error.message}; the run goes on, asking again")
            return None
        self._once("api", "")
        if state is JobState.OPEN:
            return None
        code = exit_code(pods[-1]) if pods else None
        trouble = None if job is None else states.job_trouble(job)
        return Seen(state=state, code=code, trouble=trouble)

    def _look_at_pods(self, pods: list[Object]) -> None:
        if not pods:
            self._once("pod", "waiting for the pod of the runner")
            self._pod = None
            return
        pod = pods[-1]
        self._pod = pod
        if has_started(pod):
            self._hopeless_since_s = None
            if is_running(pod):
                self._once("pod", f"the runner is up on node {dug(pod, 'spec', 'nodeName')}")
            return
        self._look_at_pending(pod)

    def _look_at_pending(self, pod: Object) -> None:
        trouble = states.pod_trouble(pod, events_of(self._api, pod)) or self._claim_trouble()
        if trouble is None:
            self._once("pod", "the pod of the runner is starting")
            self._hopeless_since_s = None
            return
        self._once("pod", f"{trouble.message}; {trouble.hint}")
        if not trouble.is_final:
            self._hopeless_since_s = None
            return
        now_s = time.monotonic()
        self._hopeless_since_s = self._hopeless_since_s or now_s
        if now_s - self._hopeless_since_s >= self._pace.patience_s:
            raise TargetError(
                trouble.message,
                trouble.hint,
                further=(
                    (
                        f"run {self._run.run_id} waits in the cluster all the same",
                        f"groundspeed clean --run {self._run.run_id} removes it",
                    ),
                ),
            )

    def _claim_trouble(self) -> Trouble | None:
        ref = self._run.ref("v1", "PersistentVolumeClaim", runner.results_name(self._run.run_id))
        claim = self._api.get(ref)
        if claim is None:
            return None
        return states.claim_trouble(claim, events_of(self._api, claim))

    def _pull_if_new(self) -> None:
        """Pull after lines that tell of a trial; asking more often would only disturb the load."""
        now_s = time.monotonic()
        if not self._has_news or now_s - self._pulled_s < self._pace.pull_s:
            return
        if self._pod is None or not is_running(self._pod):
            return
        self._has_news, self._pulled_s = False, now_s
        try:
            self._pull(self._pod["metadata"]["name"])
        except TargetError as error:
            # All of it comes at the end in any case.
            self._once("pull", f"results do not come at the moment: {error.message}")
        else:
            self._once("pull", "")
