"""A publication becomes records: one for each published figure, called published everywhere."""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING

from groundspeed.analyse import RunRecords
from groundspeed.errors import UsageError
from groundspeed.importing.figures import Figure, ImportedRun, run_of
from groundspeed.measurement import told_mean
from groundspeed.plan import Cell
from groundspeed.published import request_cells
from groundspeed.record import UNKNOWN, Caution, Histogram, Imported, ImportKind, Measured

if TYPE_CHECKING:
    from collections.abc import Collection

    from groundspeed.published import Publication, PublishedCell, PublishedEnvironment

# Part of the name of the environment, so that no table, picture or file shows it without.
PUBLISHED_SUFFIX = " (published)"
_WORKLOADS = ("select-only", "simple-update", "tpcb-like")
# What a reader of a comparison has to know of both sides, in the order of reports.
_ASKED = (
    *("PostgreSQL", "pgbench", "storage", "CPU", "memory", "scale", "threads"),
    *("protocol", "duration", "warm-up", "rate"),
)


def of_publication(
    publication: Publication,
    content: bytes,
    *,
    name: str,
    file: str,
    workloads: Collection[str] = (),
) -> ImportedRun:
    """Make a run of all figures of a publication; `content` are the bytes of its file.

    `workloads` are names beyond those of pgbench that its owner vouches for. Raises UsageError for
    other names, and where there is no figure of pgbench.
    """
    refuse_without_figures(publication)
    sha256 = hashlib.sha256(content).hexdigest()
    figures = []
    for environment in publication.environments:
        for cell in environment.cells:
            if cell.workload not in {*_WORKLOADS, *workloads}:
                raise UsageError(
                    f"{publication.name}: unknown workload {cell.workload!r}",
                    f"groundspeed knows {', '.join(_WORKLOADS)};"
                    f" --workload {cell.workload} takes it for a script of that name",
                )
            figures.append(_figure(publication, environment, cell, (file, sha256)))
    return run_of(name, f"Published: {publication.reference}.", figures, [(file, sha256)])


def run_records(publication: Publication, content: bytes) -> RunRecords:
    """Give a publication as a run that needs no directory. Raises as `of_publication`."""
    run = of_publication(publication, content, name=publication.name, file=publication.name)
    return RunRecords(
        run_id=publication.name,
        suite_name=publication.name,
        description=run.plan.description,
        planned_trial_count=len(run.records),
        environments=tuple(environment.name for environment in run.plan.environments),
        workloads=tuple(workload.name for workload in run.plan.workloads),
        records=run.records,
        seconds={},
    )


def refuse_without_figures(publication: Publication) -> None:
    """Raise UsageError where a publication has no figure that a run could be compared with."""
    if publication.cells_count:
        return
    if request_cells(publication):
        raise UsageError(
            f"{publication.name}: figures of another load tool, which no run of pgbench is like",
            f"groundspeed published {publication.name} shows them",
        )
    raise UsageError(
        f"{publication.name}: no figures in it",
        f"it says: {publication.note}" if publication.note else "name another publication",
    )


def _figure(
    publication: Publication,
    environment: PublishedEnvironment,
    cell: PublishedCell,
    source: tuple[str, str],
) -> Figure:
    imported = _imported(publication, environment, cell, source)
    return Figure(
        cell=Cell(
            environment=f"{environment.name}{PUBLISHED_SUFFIX}",
            workload=cell.workload,
            clients=cell.clients,
            threads=cell.threads or 0,
            scale=environment.scale or 0,
        ),
        duration_s=environment.duration_s or 0,
        protocol=environment.protocol or UNKNOWN,
        started_at=publication.date or UNKNOWN,
        elapsed_s=float(environment.duration_s or 0),
        outcome=_measured(cell),
        imported=imported,
        cautions=(
            Caution(
                code="published",
                message=f"published, not measured here: {imported.reference}; each figure is"
                " taken for the mean of repeats that nobody knows the number of",
            ),
        ),
    )


def _imported(
    publication: Publication,
    environment: PublishedEnvironment,
    cell: PublishedCell,
    source: tuple[str, str],
) -> Imported:
    told = {
        **dict(environment.facts),
        "threads": cell.threads,
        "scale": environment.scale,
        "duration": environment.duration_s,
        "protocol": environment.protocol,
    }
    return Imported(
        kind=ImportKind.PUBLICATION,
        file=source[0],
        sha256=source[1],
        title=publication.title,
        author=publication.author,
        date=publication.date,
        url=publication.url,
        facts=environment.facts,
        unknown=tuple(fact for fact in _ASKED if told.get(fact) is None),
    )


def _measured(cell: PublishedCell) -> Measured:
    return Measured(
        tps_per_s=cell.tps_per_s,
        transaction_count=None,
        failed_count=None,
        serialization_failure_count=None,
        deadlock_failure_count=None,
        retried_count=None,
        retries_count=None,
        skipped_count=None,
        latency=told_mean(math.nan if cell.mean_s is None else cell.mean_s),
        log_sampling_ratio=0.0,
        histogram=Histogram(),
    )
