"""`groundspeed clean`: removes from a cluster what a run made there, and lists what runs left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from groundspeed.cli import kubernetes_listing, kubernetes_runs
from groundspeed.cli.arguments import example
from groundspeed.cli.kubernetes_leaving import leave
from groundspeed.cli.kubernetes_options import connection_options
from groundspeed.errors import UsageError
from groundspeed.kube.client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.cli.kubernetes_options import Connection


@click.command(
    "clean",
    epilog=example(
        "groundspeed clean --run 20260131-120000-mine-3f2a",
        "groundspeed clean --list --namespace bench",
    ),
)
@click.option("--run", "name", metavar="RUN", help="Run to remove: its id or its directory.")
@click.option("--list", "is_list", is_flag=True, help="List the runs that are in the namespace.")
@click.option("--discard", is_flag=True, help="Remove results that were not brought here, too.")
@click.option("--keep-results", is_flag=True, help="Leave the claim with the results where it is.")
@connection_options
@kubernetes_runs.results_option
def command(  # noqa: PLR0913, PLR0917 - click passes each option by its name
    name: str | None,
    is_list: bool,  # noqa: FBT001 - click
    discard: bool,  # noqa: FBT001 - click
    keep_results: bool,  # noqa: FBT001 - click
    connection: Connection,
    results_dir: Path,
) -> None:
    """Remove from a Kubernetes cluster what a run made there.

    Its results are brought here first; nothing is removed where that fails, but with --discard. A
    run that still measures is ended. Exactly what the run made goes: what carries its label, and
    what it wrote down before it made it.
    """
    if is_list == (name is not None):
        raise UsageError("nothing to do", "name a run with --run, or --list what is there")
    if name is None:
        place = kubernetes_runs.resolve(connection)
        with connect(context=place.context, namespace=place.namespace) as api:
            kubernetes_listing.print_runs(api)
        return
    found = kubernetes_runs.find(name, connection, results_dir)
    with connect(context=found.run.context, namespace=found.run.namespace) as api:
        leave(api, found, discard=discard, keep_results=keep_results)
