"""`groundspeed doctor`: what this machine offers and lacks, and whether a suite can run on it."""

from __future__ import annotations

import click
import msgspec

from groundspeed.cli import suites
from groundspeed.cli.arguments import SUITE, example, json_option, overrides_option
from groundspeed.cli.checks import Check, State, machine_checks
from groundspeed.cli.printing import print_json
from groundspeed.cli.suite_checks import suite_checks
from groundspeed.errors import TargetError
from groundspeed.probes.host import Host
from groundspeed.targets import installation

_COLOURS = {State.OK: "green", State.CAUTION: "yellow", State.MISSING: "red"}


@click.command("doctor", epilog=example("groundspeed doctor", "groundspeed doctor matrix-39"))
@click.argument("suite", type=SUITE, required=False)
@overrides_option
@json_option
def command(suite: str | None, overrides: tuple[str, ...], as_json: bool) -> None:  # noqa: FBT001 - click
    """Say what this machine offers and lacks.

    With SUITE, a suite file or preset, also whether it can run here; the exit code is 4 when it
    cannot.
    """
    host = Host()
    checks = machine_checks(host, installation.find_installations())
    if suite is not None:
        asked, plan = suites.load(suite, overrides)
        checks += suite_checks(plan, host, suites.passwords(asked))
    if as_json:
        print_json(
            {
                "suite": suite,
                "can_run": not _missing(checks),
                "checks": msgspec.to_builtins(checks),
            }
        )
    else:
        _print(checks)
    if suite is not None and _missing(checks):
        first = _missing(checks)[0]
        raise TargetError(
            f"{suite} cannot run here: {first.name}: {first.value}",
            first.hint,
            further=tuple((f"{c.name}: {c.value}", c.hint) for c in _missing(checks)[1:]),
        )


def _missing(checks: tuple[Check, ...]) -> list[Check]:
    return [check for check in checks if check.state is State.MISSING]


def _print(checks: tuple[Check, ...]) -> None:
    width = max(len(check.name) for check in checks)
    for check in checks:
        click.secho(f"{check.state.value:<8}", fg=_COLOURS[check.state], nl=False)
        click.echo(f"{check.name:<{width}}  {check.value}")
        if check.hint:
            click.echo(f"{'':<{width + 10}}{check.hint}")
