"""`groundspeed audit`: a referee for published benchmarks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from groundspeed import audit as referee
from groundspeed.audit import Severity
from groundspeed.cli.arguments import example
from groundspeed.errors import ExitCode, UsageError
from groundspeed.report import audit_data, audit_markdown, audit_terminal

if TYPE_CHECKING:
    from groundspeed.audit import Audit

_STANDARD_INPUT = "-"


@click.command(
    "audit",
    epilog=example(
        "groundspeed audit runs/*/report.html",
        "groundspeed report runs/20260131-120000-quick --format md | groundspeed audit -",
    ),
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(("text", "md", "json")),
    default="text",
    show_default=True,
    help="How to print what was found.",
)
@click.option("--json", "output_format", flag_value="json", help="The same as --format json.")
@click.option(
    "--min-severity",
    type=click.Choice([severity.word for severity in Severity]),
    default=Severity.NOTE.word,
    show_default=True,
    help="Leave out what weighs less.",
)
def command(files: tuple[str, ...], output_format: str, min_severity: str) -> int:
    """Check a published benchmark: its figures against each other.

    Its sentences are held against the figures, too. FILE is Markdown, HTML, plain text, CSV or
    JSON; - reads standard input. Every remark shows its arithmetic. The exit code is 9 when an
    error was found, 0 when only doubts and notes were.
    """
    least = next(severity for severity in Severity if severity.word == min_severity)
    audits = [_audit(name) for name in files]
    if output_format == "json":
        click.echo(audit_data.to_json(audits, least))
    elif output_format == "md":
        click.echo("\n".join(audit_markdown.render(audit, least) for audit in audits), nl=False)
    else:
        for audit in audits:
            audit_terminal.render(audit, Console(), least)
    worst = max((r.severity for audit in audits for r in audit.remarks), default=Severity.NOTE)
    return int(ExitCode.MISTAKES_FOUND if worst is Severity.ERROR else ExitCode.OK)


def _audit(name: str) -> Audit:
    source = "standard input" if name == _STANDARD_INPUT else name
    try:
        raw = sys.stdin.buffer.read() if name == _STANDARD_INPUT else Path(name).read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}", "name a file that can be read") from None
    except UnicodeDecodeError:
        raise UsageError(
            f"{source}: not a text in UTF-8", "save the page as UTF-8 text, Markdown or HTML"
        ) from None
    suffix = "" if name == _STANDARD_INPUT else Path(name).suffix
    return referee.audit(text, suffix=suffix, source=source)
