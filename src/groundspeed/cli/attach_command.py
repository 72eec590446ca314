"""`groundspeed attach`: follows a run in a cluster, and reports when it has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from groundspeed.cli import kubernetes_runs
from groundspeed.cli.arguments import example, json_option
from groundspeed.cli.kubernetes_attaching import attach
from groundspeed.cli.kubernetes_options import connection_options
from groundspeed.kube.client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.cli.kubernetes_options import Connection


@click.command(
    "attach",
    epilog=example(
        "groundspeed attach 20260131-120000-mine-3f2a",
        "groundspeed attach 20260131-120000-mine-3f2a --context prod --namespace bench",
    ),
)
@click.argument("run")
@connection_options
@kubernetes_runs.results_option
@json_option
def command(run: str, connection: Connection, results_dir: Path, as_json: bool) -> None:  # noqa: FBT001 - click
    """Follow a run in a Kubernetes cluster, and report at its end.

    RUN is its id or its directory. Results are brought here while they arrive. Ctrl-C leaves the
    run alone: it goes on, and this command can be given again. Where the run was not started from
    here, say --context and --namespace.
    """
    found = kubernetes_runs.find(run, connection, results_dir)
    with connect(context=found.run.context, namespace=found.run.namespace) as api:
        attach(api, found, as_json=as_json)
