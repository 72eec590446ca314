"""`groundspeed plan`: the trials in order, what they will take, and each command line."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import click
import msgspec

from groundspeed.analyse.guards.planned import plan_differences, planned_burst
from groundspeed.cli import needs, suites
from groundspeed.cli.arguments import SUITE, example, json_option, overrides_option
from groundspeed.cli.printing import emulated_in, minutes, print_json
from groundspeed.probes.host import Host
from groundspeed.report.facts import label_of
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.diagnosis import GuardFinding
    from groundspeed.plan import Plan, Trial


@click.command("plan", epilog=example("groundspeed plan quick --set scale=1"))
@click.argument("suite", type=SUITE)
@overrides_option
@json_option
def command(suite: str, overrides: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - click
    """Show what a run would do, without running it.

    SUITE is a suite file or the name of a preset. SOCKET in a command line stands for a directory
    that exists only while the run does; the run adds --sampling-rate where a full log would cost
    too much.
    """
    _, plan = suites.load(suite, overrides)
    if as_json:
        print_json(_document(plan))
        return
    for line in (*summary(plan), *guard_lines(plan_guards(plan))):
        click.echo(line)
    for line in needs.lines(needs.needs_of(plan, Host())):
        click.echo(line)
    for number, trial in enumerate(plan.trials, start=1):
        click.echo(f"\n{number:>4}  {trial.trial_id}  (block {trial.block_index + 1})")
        click.echo(f"      {shlex.join(command_line(plan, trial))}")


def summary(plan: Plan) -> list[str]:
    """Say in a few lines what a plan comes to."""
    estimate = plan.estimate
    names = [label_of(e.name, emulated_in(plan)) for e in plan.environments]
    blocks = 1 + max(trial.block_index for trial in plan.trials)
    size = f"{estimate.trial_count} trials in {blocks} blocks, seed {plan.seed}"
    time = f"about {minutes(estimate.wall_s)}, {minutes(estimate.load_s)} of it measured load"
    return [
        f"{plan.suite_name}: {plan.description}" if plan.description else plan.suite_name,
        f"{len(plan.environments)} environments: {', '.join(names)}",
        f"{size}, {time}",
    ]


def plan_guards(plan: Plan) -> tuple[GuardFinding, ...]:
    """Find what may fool the reader of a report, as far as a plan says it."""
    return (*plan_differences(plan), *planned_burst(plan))


def guard_lines(found: Sequence[GuardFinding]) -> list[str]:
    """Word what guards found, a line each."""
    return [f"! {finding.message}" for finding in found]


def command_line(plan: Plan, trial: Trial) -> tuple[str, ...]:
    """Give the command of a trial as far as it is known before the server runs."""
    return pgbench.command(
        trial,
        plan.workload(trial.cell.workload),
        conninfo=suites.expected_conninfo(plan.environment(trial.cell.environment)),
    ).argv


def _document(plan: Plan) -> dict[str, Any]:
    return {
        "suite": plan.suite_name,
        "description": plan.description,
        "source": plan.source,
        "seed": plan.seed,
        "environments": msgspec.to_builtins(plan.environments),
        "estimate": msgspec.to_builtins(plan.estimate),
        "trials": [
            {**msgspec.to_builtins(trial), "command": shlex.join(command_line(plan, trial))}
            for trial in plan.trials
        ],
    }
