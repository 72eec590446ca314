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
from groundspeed.report.scaling import format_seconds
from groundspeed.tools import engines
from groundspeed.tools.load_tool import Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.diagnosis import GuardFinding
    from groundspeed.plan import CapacitySearch, Plan, Trial


@click.command(
    "plan",
    epilog=example("groundspeed plan quick --set scale=1", "groundspeed plan capacity-quick"),
)
@click.argument("suite", type=SUITE)
@overrides_option
@json_option
def command(suite: str, overrides: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - click
    """Show what a run would do, without running it.

    SUITE is a suite file or the name of a preset. SOCKET in a command line stands for a directory
    that exists only while the run does, SERVER for the Service of a server that the run makes in
    Kubernetes, USER for one from a Secret; the run adds --sampling-rate where a full log would cost
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
    shown = shown_trials(plan)
    for number, trial in enumerate(shown, start=1):
        click.echo(f"\n{number:>4}  {trial.trial_id}  (block {trial.block_index + 1})")
        click.echo(f"      {shlex.join(command_line(plan, trial))}")
    if len(shown) < len(plan.trials):
        click.echo(f"\n{_and_so_on(plan)}")


def shown_trials(plan: Plan) -> tuple[Trial, ...]:
    """List the trials that are printed: of rounds that all hold the same, the first."""
    if plan.stopping is None:
        return plan.trials
    return tuple(trial for trial in plan.trials if trial.repeat_index == 0)


def _and_so_on(plan: Plan) -> str:
    if plan.search is None:
        return "and so on in each round, in another order, less what is decided by then"
    return (
        "and so on in each round, with --rate at what the slices before it leave open,"
        " less what is found by then"
    )


def summary(plan: Plan) -> list[str]:
    """Say in a few lines what a plan comes to."""
    names = [label_of(e.name, emulated_in(plan)) for e in plan.environments]
    return [
        f"{plan.suite_name}: {plan.description}" if plan.description else plan.suite_name,
        f"{len(names)} environment{'' if len(names) == 1 else 's'}: {', '.join(names)}",
        *_size(plan),
    ]


def _size(plan: Plan) -> list[str]:
    if plan.search is not None:
        return _search_size(plan, plan.search)
    return _fixed_size(plan) if plan.sequential is None else _sequential_size(plan)


def _fixed_size(plan: Plan) -> list[str]:
    estimate = plan.estimate
    blocks = 1 + max(trial.block_index for trial in plan.trials)
    size = f"{estimate.trial_count} trials in {blocks} blocks, seed {plan.seed}"
    time = f"about {minutes(estimate.wall_s)}, {minutes(estimate.load_s)} of it measured load"
    return [f"{size}, {time}"]


def _sequential_size(plan: Plan) -> list[str]:
    asked, estimate = plan.sequential, plan.estimate
    assert asked is not None  # noqa: S101 - asked for by the caller
    blocks = len({t.block_index for t in shown_trials(plan)})
    first_s = estimate.wall_s if estimate.first_look_s is None else estimate.first_look_s
    what = (
        f"{asked.family_count} comparisons until they are decided, margin {asked.margin_ratio:.0%}"
    )
    size = f"up to {asked.round_count} rounds of {blocks} blocks, seed {plan.seed}"
    first = f"{minutes(first_s)} ({asked.first_look_count} rounds)"
    return [
        f"{what}: {size}",
        f"first decisions after about {first}; at most {minutes(estimate.wall_s)}",
    ]


def _search_size(plan: Plan, asked: CapacitySearch) -> list[str]:
    cells = len(shown_trials(plan))
    first_s = plan.estimate.first_look_s or plan.estimate.wall_s
    what = "1 search" if cells == 1 else f"{cells} searches"
    bound = format_seconds(asked.bound_s)
    size = f"up to {asked.round_count} rounds of {plan.trials[0].duration_s} s, seed {plan.seed}"
    likely = minutes(min(first_s, plan.estimate.wall_s))
    goal = f"the highest rate with p99 <= {bound}, to within {asked.within_ratio:.0%}"
    usual = f"about {likely} where slices agree ({asked.first_look_count} rounds)"
    return [f"{what} for {goal}: {size}", f"{usual}; at most {minutes(plan.estimate.wall_s)}"]


def plan_guards(plan: Plan) -> tuple[GuardFinding, ...]:
    """Find what may fool the reader of a report, as far as a plan says it."""
    return (*plan_differences(plan), *planned_burst(plan))


def guard_lines(found: Sequence[GuardFinding]) -> list[str]:
    """Word what guards found, a line each."""
    return [f"! {finding.message}" for finding in found]


def command_line(plan: Plan, trial: Trial) -> tuple[str, ...]:
    """Give the command of a trial as far as it is known before the server runs."""
    # At no known pace: what follows from it is known when the trial has warmed up.
    return (
        engines.load_tool(plan.engine)
        .command(
            trial,
            plan.workload(trial.cell.workload),
            conninfo=suites.expected_conninfo(plan, plan.environment(trial.cell.environment)),
            pace=Pace(rate_per_s=0.0, cpu_count=1),
        )
        .argv
    )


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
