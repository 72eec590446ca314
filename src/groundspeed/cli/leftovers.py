"""Takes away what dead runs left on the machine, and says what it could not take."""

from __future__ import annotations

import click

from groundspeed.cli import session


def sweep() -> None:
    """Sweep; a line on standard error for each thing that stays. Raises nothing for those."""
    for line in session.sweep():
        click.echo(f"caution: {line}", err=True)
