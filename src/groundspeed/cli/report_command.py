"""`groundspeed report`: a report from records alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from groundspeed.analyse.guards import refuse_confounded
from groundspeed.cli import reports
from groundspeed.cli.arguments import RUN_DIR, example
from groundspeed.errors import StoreError, UsageError
from groundspeed.report import terminal

if TYPE_CHECKING:
    from groundspeed.analyse import Findings


@click.command(
    "report",
    epilog=example(
        "groundspeed report runs/20260131-120000-quick",
        "groundspeed report runs/* --format html --output all.html",
        "groundspeed report runs/20260131-120000-mine runs/20260131-130000-durability-mine",
    ),
)
@click.argument("run_dirs", metavar="RUN_DIR...", type=RUN_DIR, nargs=-1, required=True)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(reports.FORMATS),
    default="terminal",
    show_default=True,
    help="What to make.",
)
@click.option("--json", "output_format", flag_value="json", help="The same as --format json.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file; html goes into the run directory without it.",
)
@click.option("--baseline", metavar="ENV", help="The environment that others are compared to.")
@click.option(
    "--strict",
    is_flag=True,
    help="End with exit code 8 where environments differ in more than what is compared.",
)
def command(
    run_dirs: tuple[Path, ...],
    output_format: str,
    output: Path | None,
    baseline: str | None,
    strict: bool,  # noqa: FBT001 - click
) -> None:
    """Make a report of one run or of several together.

    Nothing is measured and no record is changed. With --strict the report is made all the same.
    A directory of groundspeed durability beside a run says what its environments really lost.
    """
    if output_format == "html" and output is None:
        if len(run_dirs) > 1:
            raise UsageError(
                "an HTML report of several runs belongs to none of their directories",
                "name a file, as in --output report.html",
            )
        output = run_dirs[0] / reports.HTML_FILE
    findings = reports.findings_of(run_dirs, baseline=baseline)
    _make(findings, output_format, output)
    if strict:
        refuse_confounded(findings.guards)


def _make(findings: Findings, output_format: str, output: Path | None) -> None:
    if output_format == "terminal":
        _terminal(findings, output)
        return
    text = reports.TEXTS[output_format](findings)
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
        return
    reports.write(output, text)
    click.echo(str(output))


def _terminal(findings: Findings, output: Path | None) -> None:
    if output is None:
        reports.print_terminal(findings)
        return
    try:
        with output.open("w", encoding="utf-8") as file:
            terminal.render(findings, Console(file=file, width=120))
    except OSError as error:
        raise StoreError(f"{output}: {error.strerror}", "name a file you may write") from None
    click.echo(str(output))
