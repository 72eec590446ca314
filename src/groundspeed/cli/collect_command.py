"""`groundspeed collect`: brings the results of a run in a cluster here, whatever it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from groundspeed import store
from groundspeed.cli import kubernetes_runs
from groundspeed.cli.arguments import example
from groundspeed.cli.ending import measured_words
from groundspeed.cli.kubernetes_collecting import collect
from groundspeed.cli.kubernetes_options import connection_options
from groundspeed.errors import TargetError
from groundspeed.kube.client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.cli.kubernetes_options import Connection
    from groundspeed.cli.kubernetes_runs import Found


@click.command(
    "collect",
    epilog=example(
        "groundspeed collect 20260131-120000-mine-3f2a",
        "groundspeed collect 20260131-120000-mine-3f2a --namespace bench --out results",
    ),
)
@click.argument("run")
@connection_options
@kubernetes_runs.results_option
def command(run: str, connection: Connection, results_dir: Path) -> None:
    """Bring the results of a run in a cluster here.

    RUN is its id or its directory. Only what is new is brought, of a run that goes on too; report,
    why and compare read the copy as that of a local run. Nothing is removed from the cluster.
    """
    found = kubernetes_runs.find(run, connection, results_dir)
    with connect(context=found.run.context, namespace=found.run.namespace) as api:
        received = collect(api, found.run, found.run_dir)
    if not received.is_there:
        raise TargetError(
            f"run {found.run.run_id} has no results yet", "groundspeed attach tells what it does"
        )
    kubernetes_runs.remember(found)
    click.echo(f"{_measured(found)} measured; groundspeed report {found.run_dir} shows them")


def _measured(found: Found) -> str:
    return measured_words(store.read_plan(found.run_dir), found.run_dir)
