"""Runs the suite of a pod to its end, or as far as the pod gets; another pod then goes on.

Where `groundspeed run` asks and shows, this one is told by a ConfigMap and writes a log.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console

from groundspeed import __version__, store
from groundspeed.cli import in_cluster, reports, session, suites
from groundspeed.cli.display import PlainDisplay
from groundspeed.cli.succession import Succession
from groundspeed.errors import SpecError, TargetError, TrialsFailedError
from groundspeed.kube.api import KubeError
from groundspeed.kube.intent import Intent
from groundspeed.kube.lease import RunLease
from groundspeed.kube.refusals import NOT_FOUND
from groundspeed.manifests import naming, runner, servers
from groundspeed.manifests.naming import Object, Ref, run_name
from groundspeed.plan.digest import digest
from groundspeed.record import Failed, Measured
from groundspeed.targets.kube_access import ClusterAccess, Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from groundspeed.cli.in_cluster import InCluster
    from groundspeed.kube.api import Api
    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.ports import Listener

# Trials that failed for a reason that may pass are tried again so often, beside the first time.
_FURTHER_PASSES = 2
# For another pod of the run to end in order, or to be found dead.
_LEASE_LIMIT_S = 300.0


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Where the suite is and the results go; `digest` is that of the plan the caller made."""

    suite: Path
    results: Path
    digest: str | None = None


class Runner:
    """One process of a run in a cluster."""

    def __init__(  # noqa: PLR0913 - who, whom it asks, and what tests have of their own
        self,
        me: InCluster,
        api: Api,
        asked: Asked,
        variables: Mapping[str, str],
        *,
        reach: Callable[[EnvironmentPlan], Reached] | None = None,
        show: Callable[[Plan], AbstractContextManager[Listener]] | None = None,
    ) -> None:
        """Ask nothing yet.

        `reach` tells where servers are, by their Services where it is None; `show` makes what is
        told how it goes, a log for None.
        """
        self._me = me
        self._api = api
        self._asked = asked
        self._variables = variables
        self._reach = reach or self._by_service
        self._show = show or _log

    def run(self) -> None:
        """Run what remains, and make a report.

        Raises TrialsFailedError at the end of a run that is not whole, TargetError, StoreError and
        SpecError before it, and KeyboardInterrupt on a signal, which is heard from here on.
        """
        with ExitStack() as stack:
            heard = stack.enter_context(_signals())
            anchor = self._anchor()
            planned = self._planned(anchor)
            run_dir = self._open(planned)
            succession = Succession(self._api, self._me.run_id, planned, run_dir)
            heard.append(succession.interrupted)
            self._take_lease(stack, anchor, succession)
            self._tell_where_it_stands(planned, run_dir)
            cluster = session.Cluster(
                access=self._access(anchor, planned, succession), client=self._me.place
            )
            self._pass_by_pass(planned, run_dir, cluster, succession)
        _report(planned, run_dir)

    def _by_service(self, environment: EnvironmentPlan) -> Reached:
        asked = environment.cluster
        given = None if asked is None else asked.service
        host = servers.address_of(environment, run_id=self._me.run_id, namespace=self._me.namespace)
        return Reached(host=host, port=servers.PORT if given is None else given.port)

    def _anchor_ref(self) -> Ref:
        name = run_name(self._me.run_id)
        return Ref(api_version="v1", kind="ConfigMap", name=name, namespace=self._me.namespace)

    def _anchor(self) -> Object:
        ref = self._anchor_ref()
        found = self._api.get(ref)
        if found is None:
            raise TargetError(
                f"there is no ConfigMap {ref.name} of this run",
                "it is made first by groundspeed run, and printed first by groundspeed k8s render",
            )
        return found

    def _planned(self, anchor: Object) -> Plan:
        """Make the plan of the suite, which has to be the one that the caller made."""
        folder = self._asked.suite
        overrides = _read(folder / runner.ARGUMENTS_KEY)
        _, made = suites.load(str(folder / "suite.yaml"), json.loads(overrides or "[]"))
        wanted = self._asked.digest or (_read(folder / runner.DIGEST_KEY) or "").strip()
        if wanted and digest(made) != wanted:
            version = anchor["metadata"].get("annotations", {}).get(runner.VERSION_ANNOTATION)
            raise SpecError(
                f"the plan of groundspeed {__version__} here is not that of the caller's"
                f" ({version or 'of unknown version'})",
                "give --image a version of groundspeed that is the caller's own",
            )
        return made

    def _open(self, made: Plan) -> Path:
        """Make the run directory, or find that of an earlier process."""
        run_dir = self._asked.results / self._me.run_id
        if not (run_dir / store.PLAN_FILE).exists():
            return store.create_run(self._asked.results, made, self._me.run_id, may_be_begun=True)
        if digest(store.read_plan(run_dir)) != digest(made):
            raise SpecError(
                f"{run_dir} has another plan than the suite of this pod",
                "collect those results, and begin a new run",
            )
        return run_dir

    def _take_lease(self, stack: ExitStack, anchor: Object, succession: Succession) -> None:
        """Wait until no other pod is at work on the run; ends this process where one takes over."""

        def lose(why: str) -> None:
            _say(f"the run is given up: {why}")
            succession.is_lease_lost = True
            # Handlers run in the main thread, where the trial at hand is.
            os.kill(os.getpid(), signal.SIGTERM)

        lease = RunLease(
            self._api,
            run_name(self._me.run_id),
            runner.owner_reference(anchor),
            self._me.pod,
            labels=naming.labels(self._me.run_id, "runner"),
            lost=lose,
        )
        lease.acquire(_LEASE_LIMIT_S)
        stack.callback(_release, lease)

    def _tell_where_it_stands(self, planned: Plan, run_dir: Path) -> None:
        records = store.read_records(run_dir)
        if not records:
            _say(f"begins run {self._me.run_id} in pod {self._me.pod}")
            return
        there = len({r.trial.trial_id for r in records if not isinstance(r.outcome, Failed)})
        of = "" if planned.stopping is not None else f" of {len(planned.trials)}"
        _say(f"goes on with run {self._me.run_id}: {there}{of} trials are there")

    def _access(self, anchor: Object, planned: Plan, succession: Succession) -> ClusterAccess:
        run_id = self._me.run_id
        owner = runner.owner_reference(anchor)
        intent = Intent(self._api, self._anchor_ref())
        job = None
        if planned.generator_count > 1:
            job = runner.generator_job(
                planned, run_id=run_id, options=runner.options_of(anchor), owner=owner
            )
        return ClusterAccess(
            api=self._api,
            run_id=run_id,
            token=anchor["metadata"]["uid"],
            owner=owner,
            credentials=runner.credentials_name(run_id),
            login=in_cluster.server_login(self._variables),
            logins=in_cluster.given_logins(planned, self._variables),
            reach=self._reach,
            own=lambda refs: intent.add(*refs),
            disown=lambda refs: _forget(intent, refs),
            keep=succession.goes_on,
            generator_job=job,
            generator_count=planned.generator_count,
        )

    def _pass_by_pass(
        self, planned: Plan, run_dir: Path, cluster: session.Cluster, succession: Succession
    ) -> None:
        """Run what remains, and what failed for a reason that may pass once and once more."""
        for further in reversed(range(_FURTHER_PASSES + 1)):
            succession.further_pass_count = further
            with self._show(planned) as listener:
                session.run_plan(planned, run_dir, passwords={}, listener=listener, cluster=cluster)
            if not succession.is_unfinished():
                return
            if further:
                _say("some trials failed for a reason that may pass: they are tried again")


def _log(planned: Plan) -> PlainDisplay:
    """Show a line for each trial, also where somebody gave the pod a terminal."""
    return PlainDisplay(planned, Console(stderr=True))


def _release(lease: RunLease) -> None:
    try:
        lease.release()
    except KubeError as error:
        # It runs out by itself.
        _say(f"the lease of the run stays for a while: {error.message}")


def _forget(intent: Intent, refs: Sequence[Ref]) -> None:
    try:
        intent.remove(*refs)
    except KubeError as error:
        # With the anchor its list is gone.
        if error.status != NOT_FOUND:
            raise


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def _say(message: str) -> None:
    click.echo(message, err=True)


@contextmanager
def _signals() -> Iterator[list[Callable[[], None]]]:
    """End in order on SIGTERM, as on Ctrl-C; gives a list of whom to tell before.

    A second signal changes nothing: the end is on its way, and has its time from the first.
    """
    told: list[Callable[[], None]] = []
    is_heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal is_heard
        del frame
        if is_heard:
            return
        is_heard = True
        for tell in told:
            tell()
        _say(f"{signal.Signals(number).name}: ends in order")
        raise KeyboardInterrupt

    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
    previous: dict[int, Any] = {number: signal.signal(number, hear) for number in numbers}
    try:
        yield told
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _report(planned: Plan, run_dir: Path) -> None:
    """Write the report beside the records, and say what came of the run.

    Raises TrialsFailedError where trials have no measurement.
    """
    findings = reports.findings_of([run_dir])
    reports.write(run_dir / reports.HTML_FILE, reports.TEXTS["html"](findings))
    last = {record.trial.trial_id: record.outcome for record in store.read_records(run_dir)}
    measured = sum(isinstance(outcome, Measured) for outcome in last.values())
    failures = [outcome for outcome in last.values() if isinstance(outcome, Failed)]
    of = "" if planned.stopping is not None else f" of {len(planned.trials)}"
    _say(f"{measured}{of} trials are measured, in {run_dir}")
    if failures:
        raise TrialsFailedError(
            f"{len(failures)} trials failed: {failures[0].reason}",
            "mend the cause and start a new run; what was measured is kept",
        )
    if not measured:
        raise TrialsFailedError(
            "no trial was measured, all were skipped", "the reasons are in the report"
        )
