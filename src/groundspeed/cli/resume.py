"""`groundspeed resume`: goes on with a run that was interrupted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from groundspeed import store
from groundspeed.cli import kubernetes_runs, suites
from groundspeed.cli.arguments import RUN_DIR, example, json_option
from groundspeed.cli.ending import run_to_the_end
from groundspeed.cli.kubernetes_running import resume_in_cluster
from groundspeed.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


@click.command("resume", epilog=example("groundspeed resume runs/20260131-120000-quick"))
@click.argument("run_dir", type=RUN_DIR)
@json_option
def command(run_dir: Path, as_json: bool) -> None:  # noqa: FBT001 - click
    """Go on with an interrupted run; finished trials stay.

    Trials that failed for a reason that may pass are tried again. A password that was written into
    the DSN is read again from the suite file, as no file of a run holds it. A run in a cluster goes
    on there.
    """
    run = kubernetes_runs.read(run_dir)
    if run is not None:
        resume_in_cluster(run, run_dir, as_json=as_json)
        return
    plan = store.read_plan(run_dir)
    if plan.is_imported:
        raise UsageError(
            f"{run_dir}: imported, there is nothing to go on with", "groundspeed report shows it"
        )
    run_to_the_end(plan, run_dir, passwords=suites.passwords_of_plan(plan), as_json=as_json)
