"""Takes a run out of a cluster: its results first, then all that it made, then looks again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click
import msgspec

from groundspeed import store
from groundspeed.cli import kubernetes_runs, suites
from groundspeed.cli.kubernetes_cleaning import Cleaner
from groundspeed.cli.kubernetes_collecting import collect, may_hold_results, results_of
from groundspeed.cli.kubernetes_following import JobState, job_state
from groundspeed.cli.kubernetes_pods import has_ended, pods_of
from groundspeed.cli.suite_packing import SUITE_FILE
from groundspeed.errors import GroundspeedError, TargetError
from groundspeed.manifests import runner

if TYPE_CHECKING:
    from collections import Counter

    from groundspeed.cli.kubernetes_runs import ClusterRun, Found
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.plan import Plan


def leave(api: Api, found: Found, *, discard: bool, keep_results: bool) -> None:
    """Remove a run from its cluster, and say what went.

    Raises TargetError when its results cannot be brought here, unless they may go unseen, and when
    something could not be removed; it can be called again then.
    """
    run = found.run
    anchor = api.get(run.anchor)
    cleaner = Cleaner(api, run, anchor, tell=_say)
    brings = not discard and not keep_results
    if brings:
        # Before anything is ended: what cannot be had must not cost the run.
        _bring(api, found)
    still_measured = not is_over(api, run)
    cleaner.stop()
    if brings and still_measured:
        _bring(api, found)
    plan = _plan(found, anchor)
    if plan is not None:
        cleaner.wipe(plan)
    cleaner.remove(keep_results=keep_results)
    _report(cleaner.removed, found, keep_results=keep_results)


def is_over(api: Api, run: ClusterRun) -> bool:
    """Tell whether nothing can come any more, as no pod of the runner is at work or expected."""
    job = api.get(run.job)
    ended = job_state(job) is not JobState.OPEN
    return ended and all(has_ended(pod) for pod in pods_of(api, run, "runner"))


def _say(line: str) -> None:
    click.echo(line, err=True)


def _bring(api: Api, found: Found) -> None:
    """Bring the results here. Raises TargetError when they cannot be had."""
    if not may_hold_results(results_of(api, found.run)):
        return
    try:
        received = collect(api, found.run, found.run_dir)
    except TargetError as error:
        raise TargetError(
            f"the results of run {found.run.run_id} are not all here: {error.message}",
            f"{error.hint}; --keep-results leaves them there, --discard gives them up",
        ) from None
    if received.is_there:
        kubernetes_runs.remember(found)
        if received.changed:
            _say(f"results are in {found.run_dir}")


def _plan(found: Found, anchor: Object | None) -> Plan | None:
    """Find the plan of a run, here or in its anchor; None where neither has it any more."""
    if (found.run_dir / store.PLAN_FILE).is_file():
        return store.read_plan(found.run_dir)
    data = (anchor or {}).get("data") or {}
    try:
        return suites.load_text(
            data[SUITE_FILE],
            json.loads(data[runner.ARGUMENTS_KEY]),
            name=SUITE_FILE,
            source=SUITE_FILE,
            scripts=data,
        )[1]
    except (KeyError, ValueError, msgspec.MsgspecError, GroundspeedError):
        # Of another groundspeed, perhaps. Without it only data on volumes that stay are not wiped.
        return None


def _report(removed: Counter[str], found: Found, *, keep_results: bool) -> None:
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(removed.items()))
    click.echo(f"removed: {counts or 'nothing, there was nothing'}")
    left = "but its results " if keep_results else ""
    click.echo(
        f"nothing {left}of run {found.run.run_id} is left in namespace {found.run.namespace}"
    )
