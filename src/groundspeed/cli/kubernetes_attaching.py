"""Stays with a run in a cluster until it ends, brings its results here and reports as a local run.

Whoever goes away ends nothing: the run is the cluster's, and its results wait in their claim.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from groundspeed import store
from groundspeed.cli import kubernetes_runs
from groundspeed.cli.ending import measured_words, tell_results
from groundspeed.cli.kubernetes_collecting import (
    collect,
    directory_of,
    may_hold_results,
    results_of,
)
from groundspeed.cli.kubernetes_following import Follower, JobState, Pace, Seen
from groundspeed.cli.kubernetes_pulling import Puller, receiver_of
from groundspeed.cli.session import signals_interrupt
from groundspeed.errors import ExitCode, TargetError
from groundspeed.manifests import runner

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.cli.kubernetes_runs import ClusterRun, Found
    from groundspeed.kube.api import Api
    from groundspeed.store.receiving import Received

# With these a runner came to the end of its plan, and the report says the same.
_AT_THE_END = frozenset({ExitCode.OK, ExitCode.TRIALS_FAILED, ExitCode.CONFOUNDED})


def attach(
    api: Api, found: Found, *, as_json: bool, strict: bool = False, pace: Pace | None = None
) -> None:
    """Follow a run to its end and print its report.

    Raises as `ending.run_to_the_end` does, and TargetError for a run that failed in the cluster;
    what it measured is here then, too. On Ctrl-C the command ends, and the run goes on.
    """
    try:
        with signals_interrupt():
            seen = _follow(api, found, pace)
            received = _collect(api, found, seen)
    except KeyboardInterrupt:
        _say_detached(found)
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    if received is not None and received.is_there:
        kubernetes_runs.remember(found)
    _refuse_unfinished(found, seen, received)
    tell_results(found.run_dir, as_json=as_json, strict=strict)


def say_how_to_go_on(found: Found) -> None:
    """Print the commands that follow a run, bring its results here, and remove it."""
    name = found.run.run_id
    for what, line in (
        ("follow it", f"groundspeed attach {name}"),
        ("results so far", f"groundspeed collect {name}"),
        ("stop and remove it", f"groundspeed clean --run {name}"),
    ):
        click.echo(f"{what + ':':<20}{line}{_place_options(found)}", err=True)


def _place_options(found: Found) -> str:
    """Word the option by which the run is found; none for the results directory that is usual."""
    results_dir = found.run_dir.parent
    return (
        ""
        if results_dir.name == "runs" and not results_dir.is_absolute()
        else (f" --out {results_dir}")
    )


def _say(line: str) -> None:
    click.echo(line, err=True)


def _follow(api: Api, found: Found, pace: Pace | None) -> Seen:
    receiver = receiver_of(found.run_dir)
    with ExitStack() as stack:
        pullers: dict[str, Puller] = {}

        def pull(pod: str) -> Received:
            if pod not in pullers:
                there = directory_of(found.run)
                puller = Puller(api, pod, runner.CONTAINER, there, receiver)
                pullers[pod] = stack.enter_context(puller)
            return pullers[pod].pull()

        return Follower(api, found.run, tell=_say, pull=pull, pace=pace).follow()


def _collect(api: Api, found: Found, seen: Seen) -> Received | None:
    """Bring the rest here; None where nothing can be had any more."""
    claim = results_of(api, found.run)
    if claim is None and seen.state is JobState.ABSENT:
        return None
    if not may_hold_results(claim):
        return None
    return collect(api, found.run, found.run_dir)


def _say_detached(found: Found) -> None:
    _say(f"detached: run {found.run.run_id} goes on in namespace {found.run.namespace}")
    say_how_to_go_on(found)


def _refuse_unfinished(found: Found, seen: Seen, received: Received | None) -> None:
    """Raise TargetError unless the run came to its end."""
    run, run_dir = found.run, found.run_dir
    if seen.state is JobState.COMPLETE or seen.code in _AT_THE_END:
        return
    if seen.state is JobState.ABSENT and _is_finished(run_dir):
        return
    measured = _measured(run_dir)
    if seen.state is JobState.ABSENT and received is None and measured is None:
        raise TargetError(
            f"there is no run {run.run_id} in namespace {run.namespace}",
            "groundspeed clean --list shows the runs of a namespace",
        )
    kept = f"{measured or 'no trials are'} measured and kept in {run_dir}"
    if seen.state is JobState.ABSENT:
        raise TargetError(
            f"the Job of run {run.run_id} is not in namespace {run.namespace}",
            f"groundspeed resume {run_dir} makes it again, if the rest of the run is there",
            further=((kept, f"groundspeed report {run_dir} shows them"),),
        )
    again = f"groundspeed resume {run_dir} goes on with the others"
    raise TargetError(*_why(seen, run), further=((kept, again),))


def _why(seen: Seen, run: ClusterRun) -> tuple[str, str]:
    """Say why a Job failed, with the last words of its runner."""
    last = [line for line in seen.last_lines if line.startswith("error: ")][-1:]
    if last:
        hints = [line for line in seen.last_lines if line.startswith("hint: ")][-1:]
        hint = hints[0].removeprefix("hint: ") if hints else "see the lines above"
        return f"the runner failed: {last[0].removeprefix('error: ')}", hint
    if seen.trouble is not None:
        return seen.trouble.message, seen.trouble.hint
    return f"the Job of run {run.run_id} failed", "see the lines above"


def _is_finished(run_dir: Path) -> bool:
    return (run_dir / store.PLAN_FILE).is_file() and store.run_info(run_dir).state == "complete"


def _measured(run_dir: Path) -> str | None:
    if not (run_dir / store.PLAN_FILE).is_file():
        return None
    return measured_words(store.read_plan(run_dir), run_dir)
