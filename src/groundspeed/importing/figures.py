"""Imported figures become trials, records and the plan that they would have been measured by."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from groundspeed import __version__
from groundspeed.plan import (
    Cell,
    EnvironmentPlan,
    Estimate,
    Plan,
    TargetKind,
    Trial,
    WorkloadPlan,
    slugs,
)
from groundspeed.record import Caution, Imported, Measured, Provenance, Record, SecondRow

if TYPE_CHECKING:
    from collections.abc import Sequence

_HASH_DIGITS = 6


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement of others. `threads`, `scale` and `duration_s` are 0 where not told."""

    cell: Cell
    duration_s: int
    protocol: str
    started_at: str
    elapsed_s: float
    outcome: Measured
    imported: Imported
    pgbench_version: str | None = None
    rate_per_s: float | None = None
    latency_limit_s: float | None = None
    max_tries: int = 1
    cautions: tuple[Caution, ...] = ()
    seconds: tuple[SecondRow, ...] = ()


class ImportedRun(msgspec.Struct, frozen=True, kw_only=True):
    """All of a run directory but its raw files; `seconds` by trial."""

    plan: Plan
    records: tuple[Record, ...]
    seconds: dict[str, tuple[SecondRow, ...]]


def run_of(
    name: str, description: str, figures: Sequence[Figure], files: Sequence[tuple[str, str]]
) -> ImportedRun:
    """Make a run of one or more figures, called `name`; figures of one cell are its repeats.

    `files` are the (name, SHA-256) pairs of what they were read from. Each figure is a block of its
    own: what did not run side by side is paired with nothing.
    """
    environments = list(dict.fromkeys(figure.cell.environment for figure in figures))
    workloads = list(dict.fromkeys(figure.cell.workload for figure in figures))
    slug_of = dict(zip(environments, slugs(environments), strict=True))
    stem_of = dict(zip(workloads, slugs(workloads), strict=True))
    seen: Counter[Cell] = Counter()
    records: list[Record] = []
    for index, figure in enumerate(figures):
        cell = figure.cell
        seen[cell] += 1
        stem = f"{slug_of[cell.environment]}.{stem_of[cell.workload]}"
        records.append(_record(figure, stem, index, seen[cell]))
    trials = tuple(record.trial for record in records)
    plan = Plan(
        groundspeed_version=__version__,
        suite_name=name,
        description=description,
        seed=0,
        suite={"imported": [{"file": file, "sha256": sha256} for file, sha256 in files]},
        source="groundspeed import",
        environments=tuple(
            EnvironmentPlan(name=each, slug=slug_of[each], kind=TargetKind.IMPORTED)
            for each in environments
        ),
        workloads=tuple(
            WorkloadPlan(name=each, writes=each != "select-only") for each in workloads
        ),
        trials=trials,
        estimate=_nothing_to_run(len(trials)),
    )
    seconds = {
        trial.trial_id: figure.seconds for trial, figure in zip(trials, figures, strict=True)
    }
    return ImportedRun(plan=plan, records=tuple(records), seconds=seconds)


def _nothing_to_run(trial_count: int) -> Estimate:
    return Estimate(
        trial_count=trial_count,
        load_s=0.0,
        wall_s=0.0,
        disk_bytes_per_environment=0,
        memory_bytes=0,
    )


def _record(figure: Figure, stem: str, index: int, number: int) -> Record:
    cell = figure.cell
    threads = f"-j{cell.threads}" if cell.threads else ""
    # By its source too: two files of one date and one name are two measurements.
    source = figure.imported.sha256[:_HASH_DIGITS]
    trial = Trial(
        trial_id=f"{stem}-c{cell.clients}{threads}.r{number}.{source}",
        block_index=index,
        repeat_index=number - 1,
        cell=cell,
        duration_s=figure.duration_s,
        warm_up_s=0.0,
        protocol=figure.protocol,
        rate_per_s=figure.rate_per_s,
        latency_limit_s=figure.latency_limit_s,
        max_tries=figure.max_tries,
        random_seed=0,
    )
    return Record(
        trial=trial,
        attempt=1,
        started_at=figure.started_at,
        elapsed_s=figure.elapsed_s,
        outcome=figure.outcome,
        provenance=Provenance(
            groundspeed_version=__version__,
            tool_version=figure.pgbench_version,
            imported=figure.imported,
        ),
        cautions=figure.cautions,
    )
