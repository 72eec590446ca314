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
from groundspeed.cli.elsewhere import refuse_elsewhere
from groundspeed.cli.ending import run_to_the_end
from groundspeed.cli.kubernetes_options import KubernetesOptions, kubernetes_options
from groundspeed.cli.kubernetes_running import Wished, run_in_cluster
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
        "groundspeed run mine.yaml --on kubernetes --namespace bench --detach",
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
@click.option(
    "--on",
    "place",
    type=click.Choice(["kubernetes"]),
    help="Run it there, as a Job; all options below are for that alone.",
)
@click.option("--detach", is_flag=True, help="Do not follow the run; print how to, later.")
@click.option(
    "--generators",
    "generator_count",
    type=click.IntRange(min=1),
    metavar="N",
    help="Pods that make the load together; overrides generators of the suite.",
)
@kubernetes_options
def command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    suite: str,
    results_dir: Path,
    overrides: tuple[str, ...],
    probes: str | None,
    drain: bool,  # noqa: FBT001 - click
    strict: bool,  # noqa: FBT001 - click
    yes: bool,  # noqa: FBT001 - click
    as_json: bool,  # noqa: FBT001 - click
    place: str | None,
    detach: bool,  # noqa: FBT001 - click
    generator_count: int | None,
    kubernetes: KubernetesOptions,
) -> None:
    """Measure a suite and say which environment is better.

    SUITE is a suite file or the name of a preset. Ctrl-C ends a run; what was measured is kept and
    groundspeed resume goes on. The display goes to standard error, the report to standard output.

    With --on kubernetes a cluster runs it, whoever is there to follow: Ctrl-C then leaves it alone,
    groundspeed attach follows it again, and groundspeed clean takes it away.
    """
    if probes is not None:
        overrides = (*overrides, f"measure.probes={probes}")
    if drain:
        overrides = (*overrides, "measure.drain=true")
    if generator_count is not None:
        overrides = (*overrides, f"generators={generator_count}")
    if place is not None:
        wished = Wished(
            results_dir=results_dir,
            is_detached=detach,
            is_strict=strict,
            is_agreed=yes,
            as_json=as_json,
        )
        run_in_cluster(suite, overrides, kubernetes, wished)
        return
    typed = [*kubernetes.given, *(["--detach"] if detach else [])]
    if typed:
        raise UsageError(f"{typed[0]} is for a run in a cluster alone", "add --on kubernetes")
    asked, plan = suites.load(suite, overrides)
    refuse_elsewhere(plan, suite)
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
