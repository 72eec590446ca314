"""`groundspeed runner`: what the Job of a run in a cluster calls. Not for people."""

from __future__ import annotations

import os
from pathlib import Path

import click

from groundspeed.cli import in_cluster
from groundspeed.cli.runner import Asked, Runner
from groundspeed.errors import UsageError
from groundspeed.kube.client import connect
from groundspeed.manifests import runner


@click.command("runner", hidden=True)
@click.option(
    "--suite",
    type=click.Path(path_type=Path, file_okay=False),
    default=runner.SUITE,
    help="Directory with suite.yaml, its scripts and its arguments.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    default=runner.RESULTS,
    help="Directory on a volume that outlives the pod.",
)
@click.option("--plan-digest", "digest", help="Digest of the plan that the caller made.")
def command(suite: Path, results: Path, digest: str | None) -> None:
    """Run the suite of this pod, or go on with it where another pod ended.

    Exit code 0 at the end, 5 where trials failed, 130 on SIGTERM, 4 where another pod may fare
    better.
    """
    me = in_cluster.here(os.environ)
    if me is None:
        raise UsageError(
            "this is no pod of a run", "groundspeed run SUITE --on kubernetes makes one"
        )
    asked = Asked(suite=suite, results=results, digest=digest)
    with connect(namespace=me.namespace) as api:
        Runner(me, api, asked, os.environ).run()
