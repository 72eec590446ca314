"""`groundspeed durability`: kills servers while they are written to, and counts what is lost."""

from __future__ import annotations

import random
import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec
from rich.console import Console

from groundspeed import store
from groundspeed.analyse.losses import Kept, loss_rows
from groundspeed.cli import outfit, session, storage_places, suites
from groundspeed.cli.arguments import DEFAULT_RESULTS, example, overrides_option
from groundspeed.cli.run_names import new_run_id
from groundspeed.errors import ExitCode, SpecError, TargetError
from groundspeed.plan import TargetKind
from groundspeed.probes.host import Host
from groundspeed.record.losses import Ending
from groundspeed.report import losses_text
from groundspeed.run.losses import LossCrew, LossTry, tries
from groundspeed.store.losses import append_loss, read_losses
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import EnvironmentPlan, Plan
    from groundspeed.ports import DurableTarget
    from groundspeed.record.losses import LossRecord

_FORMATS = ("text", "md", "json")
# Servers do things a few times a second (flush, look for a rewrite): the end may meet any of them.
_LEAST_WRITE_S, _MOST_WRITE_S = 1.0, 3.0


@click.command(
    "durability",
    epilog=example(
        "groundspeed durability durability-postgres",
        "groundspeed durability durability-postgres --tries 5 --format md",
        "groundspeed durability runs/20260131-120000-durability-postgres",
    ),
)
@click.argument("suite", metavar="SUITE | RUN_DIR")
@click.option(
    "--tries",
    "try_count",
    type=click.IntRange(1, 1000),
    default=3,
    show_default=True,
    help="Tries of each environment and each ending.",
)
@click.option(
    "--ending",
    "endings",
    type=click.Choice([ending.value for ending in Ending]),
    multiple=True,
    help="How servers are ended; without it in every way their storage allows.",
)
@overrides_option
@click.option(
    "--out",
    "results_dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_RESULTS,
    show_default=True,
    help="Results directory; the tries go into their own below it.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(_FORMATS),
    default="text",
    show_default=True,
    help="How to print it; md is a table to paste.",
)
def command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    suite: str,
    try_count: int,
    endings: tuple[str, ...],
    overrides: tuple[str, ...],
    results_dir: Path,
    output_format: str,
) -> None:
    """Kill servers while they are written to, and count what is lost.

    SUITE is a suite file or a preset; its environments are written to, killed with all their
    processes (and, on emulated storage, deprived of what had not reached the device), started again
    and asked what they still have. Its workloads do not count. With a RUN_DIR earlier tries are
    printed again. Exit code 10: a promise was broken.
    """
    earlier = Path(suite)
    if (earlier / store.PLAN_FILE).is_file():
        records = read_losses(earlier)
        _print(store.read_plan(earlier).suite_name, records, output_format)
        _exit_by(records)
        return
    asked, plan = suites.load(suite, overrides)
    del asked
    wanted = [Ending(name) for name in dict.fromkeys(endings)]
    todo = tuple(_tries(plan, wanted, try_count))
    with store.RunLock(results_dir):
        bare = msgspec.structs.replace(plan, trials=())
        run_dir = store.create_run(results_dir, bare, new_run_id(plan, results_dir))
    try:
        _do(plan, run_dir, todo)
    finally:
        click.echo(f"tries: {run_dir}", err=True)
    records = read_losses(run_dir)
    _print(plan.suite_name, records, output_format)
    _exit_by(records)


def _tries(plan: Plan, wanted: list[Ending], try_count: int) -> Iterator[LossTry]:
    """List all tries, each environment in turn, so that all have had some when it is interrupted.

    Raises SpecError for what cannot be killed, or cannot lose its power.
    """
    rng = random.Random(plan.seed)  # noqa: S311 - moments, not secrets
    for environment in plan.environments:
        if environment.kind is not TargetKind.EMBEDDED:
            raise SpecError(
                f"environments.{environment.name}: a given server is not killed",
                "name environments with target: embedded alone",
            )
        if Ending.POWER_CUT in wanted and not _can_lose_power(environment):
            raise SpecError(
                f"environments.{environment.name}: only emulated storage can lose its power",
                "give it storage.emulate, or --ending killed",
            )
    for attempt in range(1, try_count + 1):
        for environment in plan.environments:
            for ending in wanted or _possible(environment):
                yield LossTry(
                    environment=environment.name,
                    ending=ending,
                    attempt=attempt,
                    write_s=rng.uniform(_LEAST_WRITE_S, _MOST_WRITE_S),
                )


def _can_lose_power(environment: EnvironmentPlan) -> bool:
    return environment.storage is not None and environment.storage.emulate is not None


def _possible(environment: EnvironmentPlan) -> tuple[Ending, ...]:
    return tuple(Ending) if _can_lose_power(environment) else (Ending.KILLED,)


def _do(plan: Plan, run_dir: Path, todo: tuple[LossTry, ...]) -> None:
    with ExitStack() as stack:
        stack.enter_context(session.signals_interrupt())
        stack.enter_context(store.RunLock(run_dir.absolute().parent))
        lease = stack.enter_context(LeaseFile(run_dir.name))
        crew = LossCrew(
            make=_Maker(plan, lease),
            clock=session.SystemClock(),
            note=_Notes(len(todo)),
        )
        for record in tries(plan, crew, todo):
            append_loss(run_dir, record)


class _Maker:
    """Makes a target for each try, with names of its own."""

    def __init__(self, plan: Plan, lease: LeaseFile) -> None:
        self._plan = plan
        self._lease = lease
        self._machine = storage_places.machine_for(plan, Host())

    def __call__(self, environment: EnvironmentPlan) -> DurableTarget:
        surroundings = Surroundings(
            run_id=f"durability-{secrets.token_hex(4)}",
            lease=self._lease,
            account=outfit.account_for([environment]),
            describe_storage=session.describe_storage,
            clone=False,
        )
        fitted = outfit.Outfit(
            self._plan, [environment], surroundings, {}, self._machine, loses_power=True
        )
        if reason := fitted.unavailable.get(environment.name):
            raise TargetError(reason, "see groundspeed doctor")
        target = fitted.targets[environment.name]
        if not hasattr(target, "ledger"):
            raise TargetError(f"{environment.name}: cannot be killed", "name an embedded one")
        return target  # type: ignore[return-value] # embedded ones of every engine can


class _Notes:
    """Tells on standard error which try is at hand."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._number = 0

    def __call__(self, message: str) -> None:
        self._number += 1
        click.echo(f"{self._number} of {self._count}: {message}", err=True)


def _print(name: str, records: tuple[LossRecord, ...], output_format: str) -> None:
    if output_format == "text":
        losses_text.render(name, records, Console())
    elif output_format == "md":
        click.echo(losses_text.to_markdown(name, records), nl=False)
    else:
        click.echo(losses_text.to_json(name, records), nl=False)


def _exit_by(records: tuple[LossRecord, ...]) -> None:
    rows = loss_rows(records)
    if any(row.kept is Kept.BROKEN for row in rows):
        raise click.exceptions.Exit(ExitCode.PROMISE_BROKEN)
    if any(row.kept is Kept.UNKNOWN for row in rows):
        raise click.exceptions.Exit(ExitCode.TRIALS_FAILED)
