"""Where a run in a cluster is: what its local directory says, or the options of a command.

The directory of a run holds `cluster.json` beside its plan, from before anything was made, so that
later commands need nothing but its name. There is no secret in it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groundspeed import __version__, store
from groundspeed.cli.arguments import DEFAULT_RESULTS
from groundspeed.errors import StoreError, UsageError
from groundspeed.kube.connecting import find_connection
from groundspeed.manifests import naming
from groundspeed.manifests.naming import Ref
from groundspeed.manifests.runner import RunnerOptions
from groundspeed.store.files import store_error
from groundspeed.store.transfer import CLUSTER_FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from groundspeed.cli.kubernetes_options import Connection

FORMAT = 1


class ClusterRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a cluster. `context` is None in a pod, whose cluster has no name.

    `options` is None for a run that is known by its name alone.
    """

    format: int = FORMAT
    groundspeed_version: str = __version__
    run_id: str
    context: str | None
    namespace: str
    options: RunnerOptions | None = None

    @property
    def name(self) -> str:
        """What its objects are called."""
        return naming.run_name(self.run_id)

    def ref(self, api_version: str, kind: str, name: str = "") -> Ref:
        """Name one of its objects; without a name the one that is called as the run."""
        return Ref(
            api_version=api_version, kind=kind, name=name or self.name, namespace=self.namespace
        )

    @property
    def anchor(self) -> Ref:
        """The object that all others belong to."""
        return self.ref("v1", "ConfigMap")

    @property
    def job(self) -> Ref:
        """The Job of its runner."""
        return self.ref("batch/v1", "Job")

    def labels(self, role: str | None = None) -> dict[str, str]:
        """By what its objects are found, all or those of one role."""
        found = {naming.RUN_LABEL: naming.label_value(self.run_id)}
        return found if role is None else {**found, naming.ROLE_LABEL: role}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a cluster and where its results are, or will be, on this machine."""

    run: ClusterRun
    run_dir: Path


def resolve(connection: Connection) -> Connection:
    """Say which context and namespace are meant where none were named. Raises TargetError.

    Remembered with the run: tomorrow another context may be in use.
    """
    found = find_connection(context=connection.context, namespace=connection.namespace)
    return msgspec.structs.replace(
        connection,
        context=found.context,
        namespace=found.namespace,
    )


def write(run_dir: Path, run: ClusterRun) -> None:
    """Remember beside its plan where a run is. Raises StoreError."""
    path = run_dir / CLUSTER_FILE
    data = msgspec.json.format(msgspec.json.encode(run), indent=2) + b"\n"
    try:
        store.write_durably(path, data)
    except OSError as error:
        raise store_error(error, path) from None


def read(run_dir: Path) -> ClusterRun | None:
    """Read where the run of a directory is; None for one of this machine. Raises StoreError."""
    path = run_dir / CLUSTER_FILE
    try:
        found = msgspec.json.decode(path.read_bytes(), type=ClusterRun)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise store_error(error, path) from None
    except msgspec.DecodeError as error:
        raise StoreError(
            f"{path}: {error}", "take it away, and name --context and --namespace"
        ) from None
    if found.format != FORMAT:
        raise StoreError(
            f"{path}: format {found.format}, this groundspeed knows {FORMAT}",
            f"use groundspeed {found.groundspeed_version}",
        )
    return found


def find(name: str, connection: Connection, results_dir: Path) -> Found:
    """Find a run by its directory, or by its id and the cluster that was named.

    What was typed counts more than what is remembered. Raises UsageError for a run of this machine,
    StoreError, and TargetError when nothing says which cluster.
    """
    for run_dir in dict.fromkeys((Path(name), results_dir / name)):
        known = read(run_dir)
        if known is not None:
            return Found(run=_typed(known, connection), run_dir=run_dir)
        if (run_dir / store.PLAN_FILE).is_file():
            raise UsageError(
                f"{run_dir}: was measured on this machine, not in a cluster",
                "groundspeed report shows it",
            )
    run_id = Path(name).name
    place = resolve(connection)
    assert place.namespace is not None  # noqa: S101 - resolve() gives one
    run = ClusterRun(run_id=run_id, context=place.context, namespace=place.namespace)
    return Found(run=run, run_dir=results_dir / run_id)


def _typed(known: ClusterRun, connection: Connection) -> ClusterRun:
    return msgspec.structs.replace(
        known,
        context=connection.context or known.context,
        namespace=connection.namespace or known.namespace,
    )


def remember(found: Found) -> None:
    """Write where a run is, into a directory that came from there. Raises StoreError."""
    if not (found.run_dir / CLUSTER_FILE).exists():
        write(found.run_dir, found.run)


def results_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --out; the command gets it as `results_dir`."""
    return click.option(
        "--out",
        "results_dir",
        type=click.Path(file_okay=False, path_type=Path),
        default=DEFAULT_RESULTS,
        show_default=True,
        help="Results directory; the copy of a run is its own below it.",
    )(function)
