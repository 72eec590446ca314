"""Takes away what dead runs left on the machine, and says what it could not take."""

from __future__ import annotations

import click

from groundspeed.targets import leases


def sweep() -> None:
    """Sweep; a line on standard error for each thing that stays. Raises nothing for those."""
    # Nearly always there is nothing to do, and then the libraries it takes need no loading.
    if not any(leases.state_directory().glob("*.lease")):
        return
    from groundspeed.cli import session  # noqa: PLC0415 - see above

    for line in session.sweep():
        click.echo(f"caution: {line}", err=True)
