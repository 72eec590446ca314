"""`groundspeed history`: how dated runs of one suite went, and where their level changed."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.console import Console

from groundspeed import store
from groundspeed.analyse.history import history
from groundspeed.cli import reports
from groundspeed.cli.arguments import DEFAULT_RESULTS, example, json_option
from groundspeed.errors import UsageError
from groundspeed.report import history_data, history_html, history_terminal, history_view


@click.command(
    "history",
    epilog=example("groundspeed history runs", "groundspeed history runs --html history.html"),
)
@click.argument(
    "directory", default=DEFAULT_RESULTS, type=click.Path(file_okay=False, path_type=Path)
)
@click.option("--suite", metavar="NAME", help="The suite to follow; without it the newest one.")
@click.option(
    "--html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw it into this file as well.",
)
@json_option
def command(
    directory: Path,
    suite: str | None,
    html: Path | None,
    as_json: bool,  # noqa: FBT001 - click
) -> None:
    """Follow runs over time, and find where the level changed.

    Nothing is measured and no record is changed. Runs without a measurement are left out.
    """
    found = history([store.read_run(path) for path in _runs(directory, suite)])
    if html is not None:
        reports.write(html, history_html.render(found))
        click.echo(str(html), err=True)
    if as_json:
        click.echo(history_data.to_json(found), nl=False)
        return
    history_terminal.render(found, Console(), unicode=_can_print(history_view.BARS))


def _runs(directory: Path, suite: str | None) -> list[Path]:
    """List the runs of one suite; says on stderr which others there are."""
    known = [run for run in store.list_runs(directory) if run.measured_count]
    suites = list(dict.fromkeys(run.suite_name for run in known))
    if not suites:
        raise UsageError(f"no measured run in {directory}", "groundspeed run makes one")
    chosen = suites[0] if suite is None else suite
    if chosen not in suites:
        raise UsageError(f"no run of a suite {chosen!r}", f"name one of: {', '.join(suites)}")
    others = [name for name in suites if name != chosen]
    if others and suite is None:
        click.echo(f"follows {chosen}; --suite names another: {', '.join(others)}", err=True)
    return [Path(run.path) for run in known if run.suite_name == chosen]


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
