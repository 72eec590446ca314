"""`groundspeed generator`: makes load when it is told to; called by groundspeed itself, in pods."""

from __future__ import annotations

import os
import sys

import click

from groundspeed.targets import generating, leases, places
from groundspeed.targets.leases import LeaseFile


@click.command(hidden=True)
@click.option(
    "--wait",
    is_flag=True,
    help="Only keep the container there, until SIGTERM, for generators to be started in it.",
)
def command(*, wait: bool) -> None:
    """Make load as the lines of JSON on standard input say, and answer on standard output."""
    if wait:
        raise click.exceptions.Exit(generating.wait_until_ended())
    # Standard output is for answers alone: whatever else would print goes where people look.
    outgoing = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    name = f"generator-{os.getpid()}"
    with LeaseFile(name) as lease:
        home = places.memory_directory() / f"{leases.OWNED_NAME}{name}"
        directory = places.make(home, None, lease)
        generating.Generator(directory, incoming=0, outgoing=outgoing).serve()
