"""`groundspeed compare`: two environments of one run, or two runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from groundspeed.analyse.two_sides import compare_sides
from groundspeed.cli import reports
from groundspeed.cli.arguments import example
from groundspeed.cli.sides import sides_of
from groundspeed.errors import StoreError
from groundspeed.report import compare_data, compare_markdown, compare_terminal

if TYPE_CHECKING:
    from groundspeed.analyse.two_sides import Compared

_TEXTS = {
    "md": compare_markdown.render,
    "json": compare_data.to_json,
    "csv": compare_data.to_csv,
}


@click.command(
    "compare",
    epilog=example(
        "groundspeed compare runs/20260131-120000-quick this-disk longhorn-2r",
        "groundspeed compare runs/20260131-120000-quick runs/20260207-120000-quick --format md",
        "groundspeed compare runs/20260131-120000-quick:gp3 runs/20260207-120000-quick:gp3",
        "groundspeed compare published:bare-metal-vs-aws cnpg-local-ssd cnpg-longhorn-2r",
    ),
)
@click.argument("sides", metavar="RUN ENV ENV | RUN[:ENV] RUN[:ENV]", nargs=-1, required=True)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(("text", *_TEXTS)),
    default="text",
    show_default=True,
    help="How to print it; md is a table to paste.",
)
@click.option("--json", "output_format", flag_value="json", help="The same as --format json.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file.",
)
def command(sides: tuple[str, ...], output_format: str, output: Path | None) -> None:
    """Compare two environments of a run, or two runs.

    The first is the baseline. RUN is a run directory, or published:NAME for published results that
    come with groundspeed. Environments of one run are compared inside blocks, as reports do.
    Two runs were measured at different times, which nothing can take out of their ratio: that is
    said with it.
    """
    found = compare_sides(sides_of(sides))
    if output_format == "text":
        _terminal(found, output)
        return
    text = _TEXTS[output_format](found)
    if output is None:
        click.echo(text, nl=False)
        return
    reports.write(output, text)
    click.echo(str(output))


def _terminal(found: tuple[Compared, ...], output: Path | None) -> None:
    if output is None:
        compare_terminal.render(found, Console())
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            compare_terminal.render(found, Console(file=file, width=120))
    except OSError as error:
        raise StoreError(f"{output}: {error.strerror}", "name a file you may write") from None
    click.echo(str(output))
