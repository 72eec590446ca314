"""Reads run directories, of runs that ended and of one that runs; changes nothing in them."""

from __future__ import annotations

import csv
import datetime as dt
from typing import TYPE_CHECKING

import msgspec

from groundspeed import deciding, published
from groundspeed.analyse import RunRecords
from groundspeed.errors import StoreError, UsageError
from groundspeed.plan import saved
from groundspeed.record import Caution, Failed, Measured, Record, SecondRow, Skipped
from groundspeed.store import parquet
from groundspeed.store.files import (
    PLAN_FILE,
    RECORDS_FILE,
    decode_lines,
    evidence_path,
    read_plan,
    seconds_path,
    store_error,
)
from groundspeed.store.locks import is_locked
from groundspeed.tools import engines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from groundspeed.plan import Plan
    from groundspeed.published import Publication
    from groundspeed.record import Series


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `groundspeed runs`. `state`: complete, interrupted, running, unreadable."""

    run_id: str
    path: str
    suite_name: str
    started_at: str
    planned_count: int
    measured_count: int
    failed_count: int
    skipped_count: int
    state: str


def _read_records(run_dir: Path) -> tuple[tuple[Record, ...], tuple[Caution, ...]]:
    path = run_dir / RECORDS_FILE
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise store_error(error, path) from None
    found, cautions = decode_lines(data, path)
    aside = len(list(run_dir.glob("torn-*")))
    if aside:
        message = f"{aside} torn line(s) at the end of {path.name} were set aside in torn-*"
        cautions += (Caution(code="torn-record", message=message),)
    return found, cautions


def read_records(run_dir: Path) -> tuple[Record, ...]:
    """Read the records of a run and nothing beside them, oldest first. Raises StoreError."""
    return _read_records(run_dir)[0]


def read_run(run_dir: Path) -> RunRecords:
    """Read a run directory for analysis; changes nothing in it. Raises StoreError."""
    plan = read_plan(run_dir)
    found, cautions = _read_records(run_dir)
    measured = [record for record in found if isinstance(record.outcome, Measured)]
    series, lost = _read_all_series(run_dir, measured)
    publication, gone = _publication(plan)
    return RunRecords(
        run_id=run_dir.resolve().name,
        suite_name=plan.suite_name,
        description=plan.description,
        planned_trial_count=_planned_count(plan, found),
        environments=tuple(e.name for e in plan.environments),
        workloads=tuple(w.name for w in plan.workloads),
        # Of a script that was imported only its name is known.
        writing_workloads=None
        if plan.is_imported
        else tuple(w.name for w in plan.workloads if w.writes),
        records=tuple(r for r in found if not is_slice(plan, r)),
        search=plan.search,
        slices=tuple(r for r in found if is_slice(plan, r)),
        seconds={r.trial.trial_id: _read_seconds(run_dir, r) for r in measured},
        pausing_workloads=None
        if plan.is_imported
        else tuple(w.name for w in plan.workloads if w.pauses),
        series=series,
        vary=plan.vary,
        cautions=(*cautions, *lost, *gone),
        rule=None if plan.sequential is None else deciding.rule_of(plan),
        engine=plan.engine,
        publication=publication,
        beside=plan.beside,
        keeping=engines.keeping(plan),
        saved=saved(plan, (r.trial for r in found if not isinstance(r.outcome, Skipped))),
    )


def _publication(plan: Plan) -> tuple[Publication | None, tuple[Caution, ...]]:
    """Find what stands beside a run; the plan only names it, and a catalogue may change."""
    if plan.beside is None:
        return None, ()
    try:
        return published.publication(plan.beside.publication), ()
    except UsageError as error:
        message = f"{error}: its figures do not stand beside these"
        return None, (Caution(code="lost-publication", message=message),)


def is_slice(plan: Plan, record: Record) -> bool:
    """Tell whether a record is of a search, at a rate that the search chose."""
    return plan.search is not None and record.trial.rate_per_s is not None


def _planned_count(plan: Plan, found: Sequence[Record]) -> int:
    """Count the trials of a plan, less those that are left out because nothing hangs on them."""
    if plan.stopping is None:
        return len(plan.trials)
    tried = {record.trial.trial_id for record in found}
    return len(tried.union(trial.trial_id for trial in deciding.remaining(plan, found)))


def _read_all_series(
    run_dir: Path, measured: Sequence[Record]
) -> tuple[dict[str, Series], tuple[Caution, ...]]:
    """Read what probes saw in each second, by trial; one caution for all that is lost."""
    series: dict[str, Series] = {}
    lost: list[str] = []
    for record in measured:
        if record.evidence is None:
            continue
        path = evidence_path(run_dir, record.trial.trial_id, record.attempt)
        try:
            series[record.trial.trial_id] = parquet.decode(path.read_bytes())
        except (OSError, ValueError):
            lost.append(path.name)
    if not lost:
        return series, ()
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    message = f"series/{lost[0]}{more}: what probes saw in each second cannot be read"
    return series, (Caution(code="lost-series", message=message),)


def _read_seconds(run_dir: Path, record: Record) -> tuple[SecondRow, ...]:
    path = seconds_path(run_dir, record.trial.trial_id, record.attempt)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()[1:]
        return tuple(
            SecondRow(
                index=int(row[0]),
                count=int(row[1]),
                failed=int(row[2]),
                skipped=int(row[3]),
                mean_us=_optional(row[4]),
                p50_us=_optional(row[5]),
                p95_us=_optional(row[6]),
                p99_us=_optional(row[7]),
                max_us=_optional(row[8]),
            )
            for row in csv.reader(lines)
        )
    except (OSError, ValueError, IndexError):
        # A series is for pictures; the record has the figures, so a lost one costs no result.
        return ()


def _optional(text: str) -> float | None:
    return float(text) if text else None


def list_runs(results_dir: Path) -> tuple[RunInfo, ...]:
    """List the runs below a results directory, newest first; empty when it does not exist."""
    found = [run_info(path.parent) for path in results_dir.glob(f"*/{PLAN_FILE}")]
    return tuple(sorted(found, key=lambda info: (info.started_at, info.run_id), reverse=True))


def imported_files(results_dir: Path) -> dict[str, Path]:
    """Map the SHA-256 of every file that runs below a directory were imported from to its run."""
    found: dict[str, Path] = {}
    for path in sorted(results_dir.glob(f"*/{PLAN_FILE}")):
        try:
            plan = read_plan(path.parent)
        except StoreError:
            continue
        if plan.is_imported:
            found |= {each["sha256"]: path.parent for each in plan.suite["imported"]}
    return found


def run_info(run_dir: Path) -> RunInfo:
    """Say how the run of a directory stands, also of one that cannot be read."""
    created_s = (run_dir / PLAN_FILE).stat().st_mtime
    started_at = dt.datetime.fromtimestamp(created_s, tz=dt.UTC).isoformat(timespec="seconds")
    try:
        plan = read_plan(run_dir)
        found, _ = _read_records(run_dir)
    except StoreError:
        # One run that cannot be read, by damage or a later version, must not hide the others.
        return RunInfo(
            run_id=run_dir.name,
            path=str(run_dir),
            suite_name="",
            started_at=started_at,
            planned_count=0,
            measured_count=0,
            failed_count=0,
            skipped_count=0,
            state="unreadable",
        )
    last = {record.trial.trial_id: record.outcome for record in found}
    outcomes = list(last.values())
    active = is_locked(run_dir / RECORDS_FILE)
    # Also where trials were left out because nothing hangs on them any more.
    complete = not deciding.remaining(plan, found)
    return RunInfo(
        run_id=run_dir.name,
        path=str(run_dir),
        suite_name=plan.suite_name,
        started_at=started_at,
        planned_count=_planned_count(plan, found),
        measured_count=sum(isinstance(o, Measured) for o in outcomes),
        failed_count=sum(isinstance(o, Failed) for o in outcomes),
        skipped_count=sum(isinstance(o, Skipped) for o in outcomes),
        state="running" if active else "complete" if complete else "interrupted",
    )
