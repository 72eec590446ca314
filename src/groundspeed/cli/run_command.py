"""`groundspeed run`: plans, says what it will do, does it and reports."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from groundspeed import store
from groundspeed.analyse.guards import refuse_confounded
from groundspeed.cli import needs, suites
from groundspeed.cli.arguments import (
    DEFAULT_RESULTS,
    SUITE,
    example,
    json_option,
    overrides_option,
)
from groundspeed.cli.ending import run_to_the_end
from groundspeed.cli.plan_command import guard_lines, plan_guards, summary
from groundspeed.cli.run_names import new_run_id
from groundspeed.errors import UsageError
from groundspeed.probes.host import Host
from groundspeed.record.evidence import ProbeLevel


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
@click.option(
    "--probes",
    type=click.Choice([level.value for level in ProbeLevel]),
    help="How much is watched while a trial is measured; overrides measure.probes of the suite.",
)
@click.option("--drain", is_flag=True, help="Spend burst credits of emulated devices first.")
@click.option(
    "--strict",
    is_flag=True,
    help="Refuse, with exit code 8, to compare environments that differ in more than is asked.",
)
@click.option("--yes", is_flag=True, help="Start without asking.")
@json_option
def command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    suite: str,
    results_dir: Path,
    overrides: tuple[str, ...],
    probes: str | None,
    drain: bool,  # noqa: FBT001 - click
    strict: bool,  # noqa: FBT001 - click
    yes: bool,  # noqa: FBT001 - click
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """Measure a suite and say which environment is better.

    SUITE is a suite file or the name of a preset. Ctrl-C ends a run; what was measured is kept and
    groundspeed resume goes on. The display goes to standard error, the report to standard output.
    """
    if probes is not None:
        overrides = (*overrides, f"measure.probes={probes}")
    if drain:
        overrides = (*overrides, "measure.drain=true")
    asked, plan = suites.load(suite, overrides)
    passwords = suites.passwords(asked)
    needed = needs.needs_of(plan, Host())
    guarded = plan_guards(plan)
    for line in (*summary(plan), *guard_lines(guarded), *needs.lines(needed)):
        click.echo(line, err=True)
    if strict:
        refuse_confounded(guarded)
    needs.refuse_if_short(needed)
    if not yes and sys.stdin.isatty() and not click.confirm("start?", default=True, err=True):
        raise UsageError("not started", "groundspeed plan shows each trial")
    # Under the lock: a groundspeed that is refused leaves no empty run behind.
    with store.RunLock(results_dir):
        run_dir = store.create_run(results_dir, plan, new_run_id(plan, results_dir))
    run_to_the_end(plan, run_dir, passwords=passwords, as_json=as_json, strict=strict)
