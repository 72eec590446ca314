"""Lists the runs of which something is in a namespace, by their labels."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import click

from groundspeed.cli.kubernetes_following import job_state
from groundspeed.cli.kubernetes_owned import NOT_ALLOWED, STEPS, WHOLE_CLUSTER
from groundspeed.kube.api import KubeError
from groundspeed.manifests import naming, runner

if TYPE_CHECKING:
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object

_HEADER = ("run", "job", "results", "objects")
_OURS = {"app.kubernetes.io/managed-by": naming.MANAGER}


def print_runs(api: Api) -> None:
    """Print a line for each run that is in the namespace of `api`. Raises KubeError."""
    runs = _runs(api)
    if not runs:
        click.echo(f"no runs in namespace {api.namespace}", err=True)
        return
    rows = [_HEADER, *(_row(run_id, objects) for run_id, objects in sorted(runs.items()))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
    for row in rows:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _runs(api: Api) -> dict[str, list[Object]]:
    """Gather what there is by the run it is of; what may not be listed is left out."""
    found: dict[str, list[Object]] = defaultdict(list)
    for api_version, kind in (each for step in STEPS for each in step):
        if kind in WHOLE_CLUSTER:
            continue
        try:
            objects = api.list(api_version, kind, labels=_OURS)
        except KubeError as error:
            if error.status != NOT_ALLOWED:
                raise
            continue
        for obj in objects:
            run_id = obj["metadata"]["labels"].get(naming.RUN_LABEL)
            if run_id is not None:
                found[run_id].append({"kind": kind, **obj})
    return found


def _row(run_id: str, objects: list[Object]) -> tuple[str, str, str, str]:
    job_name = naming.run_name(run_id)
    jobs = [o for o in objects if o["kind"] == "Job" and o["metadata"]["name"] == job_name]
    results = any(
        o["kind"] == "PersistentVolumeClaim"
        and o["metadata"]["name"] == runner.results_name(run_id)
        for o in objects
    )
    counts = Counter(o["kind"] for o in objects)
    return (
        run_id,
        job_state(jobs[0] if jobs else None).value,
        "there" if results else "-",
        ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())),
    )
