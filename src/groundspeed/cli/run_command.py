"""`groundspeed run`: plans, says what it will do, does it and reports."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groundspeed import plan as plans
from groundspeed import store
from groundspeed.cli import needs, suites
from groundspeed.cli.arguments import (
    DEFAULT_RESULTS,
    SUITE,
    example,
    json_option,
    overrides_option,
)
from groundspeed.cli.ending import run_to_the_end
from groundspeed.cli.plan_command import summary
from groundspeed.errors import UsageError
from groundspeed.probes.host import Host

if TYPE_CHECKING:
    from groundspeed.plan import Plan


@click.command(
    "run",
    epilog=example(
        "groundspeed run quick --yes",
        "groundspeed run matrix-39 --set measure.duration=10s --out results",
    ),
)
@click.argument("suite", type=SUITE)
@click.option(
    "--out",
    "results_dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_RESULTS,
    show_default=True,
    help="Results directory; the run makes its own below it.",
)
@overrides_option
@click.option("--yes", is_flag=True, help="Start without asking.")
@json_option
def command(
    suite: str,
    results_dir: Path,
    overrides: tuple[str, ...],
    yes: bool,  # noqa: FBT001 - click
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """Measure a suite and say which environment is better.

    SUITE is a suite file or the name of a preset. Ctrl-C ends a run; what was measured is kept and
    groundspeed resume goes on. The display goes to standard error, the report to standard output.
    """
    asked, plan = suites.load(suite, overrides)
    passwords = suites.passwords(asked)
    needed = needs.needs_of(plan, Host())
    for line in (*summary(plan), *needs.lines(needed)):
        click.echo(line, err=True)
    needs.refuse_if_short(needed)
    if not yes and sys.stdin.isatty() and not click.confirm("start?", default=True, err=True):
        raise UsageError("not started", "groundspeed plan shows each trial")
    # Under the lock: a groundspeed that is refused leaves no empty run behind.
    with store.RunLock(results_dir):
        run_dir = store.create_run(results_dir, plan, _run_id(plan, results_dir))
    run_to_the_end(plan, run_dir, passwords=passwords, as_json=as_json)


def _run_id(plan: Plan, results_dir: Path) -> str:
    """Name a run by its start, so that names sort by time, and by its suite."""
    started = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    stem = f"{started}-{plans.slugs((plan.suite_name,))[0]}"
    run_id, number = stem, 2
    while (results_dir / run_id).exists():
        run_id, number = f"{stem}-{number}", number + 1
    return run_id
