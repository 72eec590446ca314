"""`groundspeed runs`: what has been run in a results directory."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from groundspeed import store
from groundspeed.cli.arguments import DEFAULT_RESULTS, example, json_option
from groundspeed.cli.printing import print_json

_HEADER = ("run", "suite", "started", "measured", "failed", "skipped", "state")


@click.command("runs", epilog=example("groundspeed runs", "groundspeed runs results --json"))
@click.argument(
    "directory", default=DEFAULT_RESULTS, type=click.Path(file_okay=False, path_type=Path)
)
@json_option
def command(directory: Path, as_json: bool) -> None:  # noqa: FBT001 - click
    """List the runs in a results directory, newest first."""
    found = store.list_runs(directory)
    if as_json:
        print_json(msgspec.to_builtins(found))
        return
    if not found:
        click.echo(f"no runs in {directory}", err=True)
        return
    rows = [_HEADER] + [
        (
            run.run_id,
            run.suite_name,
            run.started_at[:19] or "-",
            f"{run.measured_count}/{run.planned_count}",
            str(run.failed_count),
            str(run.skipped_count),
            run.state,
        )
        for run in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
