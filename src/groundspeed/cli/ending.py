"""Runs a plan in its directory and tells how it ended: shared by run, resume and attach."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click
from rich.console import Console

from groundspeed import store
from groundspeed.analyse.guards import refuse_confounded
from groundspeed.cli import reports, session
from groundspeed.cli.display import display_for
from groundspeed.errors import ExitCode, TrialsFailedError
from groundspeed.record import Failed, Measured

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from groundspeed.analyse import Findings
    from groundspeed.plan import Plan


def run_to_the_end(
    plan: Plan,
    run_dir: Path,
    *,
    passwords: Mapping[str, str],
    as_json: bool,
    strict: bool = False,
) -> None:
    """Run what is left of a plan, with a display, and print the report.

    Raises TrialsFailedError after the report when trials have no measurement, ConfoundedError with
    `strict` when environments differ in more than they may, and ends the command with the code of
    an interruption on Ctrl-C.
    """
    try:
        with display_for(plan, Console(stderr=True)) as display:
            session.run_plan(plan, run_dir, passwords=dict(passwords), listener=display)
    except KeyboardInterrupt:
        click.echo(
            f"interrupted, {measured_words(plan, run_dir)} measured and kept;"
            f" go on with: {resume_command(run_dir)}",
            err=True,
        )
        raise click.exceptions.Exit(ExitCode.INTERRUPTED) from None
    tell_results(run_dir, as_json=as_json, strict=strict)


def tell_results(run_dir: Path, *, as_json: bool, strict: bool = False) -> None:
    """Make and print the report of a run that came to its end.

    Raises as `run_to_the_end` does.
    """
    findings = reports.findings_of([run_dir])
    html = run_dir / reports.HTML_FILE
    reports.write(html, reports.TEXTS["html"](findings))
    _print(findings, html, run_dir, as_json=as_json)
    _complain_of_failures(findings, run_dir)
    if strict:
        refuse_confounded(findings.guards)


def measured_words(plan: Plan, run_dir: Path) -> str:
    """Say how many trials have a measurement, as in "3 of 12 trials are"."""
    run = store.read_run(run_dir)
    measured = sum(isinstance(r.outcome, Measured) for r in (*run.records, *run.slices))
    # How many there would have been, nobody knows where it stops by itself.
    of = "" if plan.stopping is not None else f" of {len(plan.trials)}"
    return f"{measured}{of} trials are"


def resume_command(run_dir: Path) -> str:
    """Word the command that goes on with a run, fit to be pasted."""
    return shlex.join(("groundspeed", "resume", str(run_dir)))


def _print(findings: Findings, html: Path, run_dir: Path, *, as_json: bool) -> None:
    if as_json:
        click.echo(reports.TEXTS["json"](findings).rstrip("\n"))
    else:
        reports.print_terminal(findings)
    # To standard error beside JSON: that is read by programs.
    click.echo(f"report: {html}", err=as_json)
    click.echo(f"run:    {run_dir}", err=as_json)


def _complain_of_failures(findings: Findings, run_dir: Path) -> None:
    if not findings.failed_count and findings.measured_count:
        return
    if not findings.failed_count:
        raise TrialsFailedError(
            "no trial was measured, all were skipped", "the reasons are in the report above"
        )
    run = store.read_run(run_dir)
    last = {r.trial.trial_id: r.outcome for r in (*run.records, *run.slices)}
    failures = [outcome for outcome in last.values() if isinstance(outcome, Failed)]
    first = failures[0].reason if failures else "see the report"
    again = any(failure.retryable for failure in failures)
    raise TrialsFailedError(
        f"{findings.failed_count} of {findings.planned_trial_count} trials failed: {first}",
        f"try them again with: {resume_command(run_dir)}"
        if again
        else "trying again would fail again; mend the cause and start a new run",
    )
