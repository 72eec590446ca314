"""`groundspeed why`: the story of one trial, from records alone."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING

import click
import msgspec

from groundspeed import store
from groundspeed.cli import reports
from groundspeed.cli.arguments import RUN_DIR, example, json_option
from groundspeed.errors import GroundspeedError, UsageError
from groundspeed.report import story, why_data

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.analyse import Findings
    from groundspeed.analyse.findings import TrialEvidence


def _complete(ctx: click.Context, _param: click.Parameter, start: str) -> list[str]:
    run_dir = ctx.params.get("run_dir")
    try:
        plan = store.read_plan(run_dir) if run_dir else None
    except GroundspeedError:
        # A shell that completes must not be told of errors.
        plan = None
    if plan is None:
        return []
    return [t.trial_id for t in plan.trials if t.trial_id.startswith(start)]


@click.command(
    "why",
    epilog=example(
        "groundspeed why runs/20260131-120000-quick",
        "groundspeed why runs/20260131-120000-quick this-disk.tpcb-like-c1-j1.r1",
    ),
)
@click.argument("run_dir", metavar="RUN_DIR", type=RUN_DIR)
@click.argument("trial_id", metavar="[TRIAL]", required=False, shell_complete=_complete)
@json_option
def command(run_dir: Path, trial_id: str | None, as_json: bool) -> None:  # noqa: FBT001 - click
    """Tell what held a trial back, and what was seen of it.

    Without TRIAL, list the trials of the run with the bottleneck of each. Nothing is measured and
    no record is changed.
    """
    findings = reports.findings_of([run_dir])
    # Slices of a search are told one by one, so that each is at another rate does not matter.
    both = (*findings.trials, *findings.slice_trials)
    tell(msgspec.structs.replace(findings, trials=both), run_dir, trial_id, as_json=as_json)


def tell(findings: Findings, run_dir: Path, trial_id: str | None, *, as_json: bool) -> None:
    """Print one trial, or the list of them. Raises UsageError where there is none to tell."""
    if not findings.trials:
        raise UsageError(
            f"{run_dir}: no evidence was recorded, so nothing says why",
            "measure again with groundspeed run --probes full",
        )
    trial = _chosen(findings, trial_id)
    if as_json and trial_id is None:
        # A list even of one: a program should not have to tell two shapes apart.
        click.echo(why_data.trials_to_json(findings), nl=False)
    elif trial is None:
        _list(findings, run_dir)
    elif as_json:
        click.echo(why_data.trial_to_json(trial, findings), nl=False)
    else:
        unicode = _can_print(story.BARS)
        for line in story.story(trial, findings, unicode=unicode):
            _echo(line)


def _chosen(findings: Findings, trial_id: str | None) -> TrialEvidence | None:
    """Find the trial that was named; without a name, the only one there is."""
    trials = {trial.trial_id: trial for trial in findings.trials}
    if trial_id is None:
        return next(iter(trials.values())) if len(trials) == 1 else None
    if trial_id not in trials:
        near = difflib.get_close_matches(trial_id, trials, n=3)
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "groundspeed why RUN_DIR lists them"
        )
        raise UsageError(f"{trial_id}: no such trial was watched", hint)
    return trials[trial_id]


def _list(findings: Findings, run_dir: Path) -> None:
    for line in story.trial_lines(findings):
        _echo(line if _can_print("µ") else line.replace("µ", "u"))
    unwatched = findings.measured_count - len(findings.trials)
    if unwatched > 0:
        click.echo(f"{unwatched} measured without probes: nothing says why", err=True)
    click.echo(f"groundspeed why {run_dir} TRIAL tells the story of one", err=True)


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _echo(line: str) -> None:
    """Print a line; what the terminal cannot show, as in a name, becomes a question mark."""
    encoding = sys.stdout.encoding or "ascii"
    click.echo(line.encode(encoding, "replace").decode(encoding))
