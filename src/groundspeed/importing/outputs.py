"""Reports of pgbench, with their logs where there are any, become records."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import UsageError
from groundspeed.importing.figures import Figure, ImportedRun, run_of
from groundspeed.measurement import judge_past, judge_without_log
from groundspeed.plan import Cell, Trial
from groundspeed.record import (
    Caution,
    Failed,
    Imported,
    ImportKind,
    LagSummary,
    LogTotals,
    Measured,
    SecondRow,
)
from groundspeed.tools.pgbench import workload_of
from groundspeed.tools.pgbench_capture import CapturedReport
from groundspeed.tools.pgbench_load import PgbenchLoad, totals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.measurement import Judgement
    from groundspeed.tools.pgbench import Report

_TRIES_SINCE = 15
_NEVER_TOLD = ("storage", "CPU", "memory", "warm-up")


class PastLoad(msgspec.Struct, frozen=True, kw_only=True):
    """One report, where it was found, and all of its log; None where there is none.

    `file_at` is the date of the file, in the form of records.
    """

    captured: CapturedReport
    file: str
    sha256: str
    file_at: str
    log: LogTotals | None = None
    seconds: tuple[SecondRow, ...] = ()


class OutputOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the owner of an output says that pgbench does not.

    `workload` counts where the report names none; `rate_per_s` is that of -R, `sampling_ratio` that
    of --sampling-rate.
    """

    workload: str | None = None
    rate_per_s: float | None = None
    sampling_ratio: float = 1.0


def of_outputs(name: str, loads: Sequence[PastLoad], options: OutputOptions) -> ImportedRun:
    """Make a run of one environment, called `name`, of one or more reports.

    Raises UsageError for a report without a known workload, for one with a rate that is not told,
    for a log of another run, and for a report that is there twice.
    """
    _refuse_twice(loads)
    figures = [_figure(name, load, options) for load in loads]
    files = tuple(dict.fromkeys((load.file, load.sha256) for load in loads))
    sources = ", ".join(file for file, _ in files)
    return run_of(name, f"Imported from what pgbench wrote: {sources}.", figures, files)


def _refuse_twice(loads: Sequence[PastLoad]) -> None:
    """Refuse a copy: TPS has six digits behind its point, which no two runs share by chance."""
    seen: dict[Report, str] = {}
    for load in loads:
        where = _where(load)
        first = seen.setdefault(load.captured.report, where)
        if first != where:
            raise UsageError(
                f"{where}: the same to the last digit as {first.removeprefix(f'{load.file}: ')}",
                "a copy is no repeat: cut one of them out",
            )


def _where(load: PastLoad) -> str:
    return f"{load.file}: report at line {load.captured.line}"


def _figure(name: str, load: PastLoad, options: OutputOptions) -> Figure:
    report = load.captured.report
    where = _where(load)
    trial = _trial(name, load, options, where)
    judged = _judged(trial, load, options.sampling_ratio)
    if isinstance(judged.outcome, Failed):
        raise UsageError(
            f"{where}: {judged.outcome.reason}",
            "its log is that of another run, or one of its files is missing"
            + ("" if options.sampling_ratio < 1 else "; with --sampling-rate, say so here as well"),
        )
    assert isinstance(judged.outcome, Measured)  # noqa: S101 - nothing of a past load is skipped
    begun_us = None if load.log is None else load.log.first_us
    return Figure(
        cell=trial.cell,
        duration_s=trial.duration_s,
        protocol=trial.protocol,
        rate_per_s=trial.rate_per_s,
        latency_limit_s=trial.latency_limit_s,
        max_tries=trial.max_tries,
        started_at=load.file_at if begun_us is None else _moment(begun_us),
        elapsed_s=float(report.duration_s or report.transaction_count / report.tps_per_s),
        outcome=_with_told(judged.outcome, load),
        imported=_imported(load),
        pgbench_version=load.captured.pgbench_version,
        cautions=(*_cautions(load, is_dated=begun_us is not None), *judged.cautions),
        seconds=load.seconds,
    )


def _moment(epoch_us: int) -> str:
    moment = dt.datetime.fromtimestamp(epoch_us / 1e6, tz=dt.UTC)
    return moment.isoformat(timespec="milliseconds")


def _trial(name: str, load: PastLoad, options: OutputOptions, where: str) -> Trial:
    """Give what pgbench says it was asked; its seed and its warm-up nobody can tell."""
    report = load.captured.report
    return Trial(
        trial_id="",
        block_index=0,
        repeat_index=0,
        cell=Cell(
            environment=name,
            workload=_workload(report.transaction_type, options, where),
            clients=report.clients,
            threads=report.threads,
            scale=report.scale,
        ),
        duration_s=report.duration_s or 0,
        warm_up_s=0.0,
        protocol=report.query_mode,
        rate_per_s=_rate_per_s(load, options, where),
        latency_limit_s=report.latency_limit_s,
        max_tries=report.max_tries or 1,
        random_seed=0,
    )


def _workload(transaction_type: str, options: OutputOptions, where: str) -> str:
    known = workload_of(transaction_type) or options.workload
    if known is None:
        raise UsageError(
            f"{where}: unknown workload {transaction_type!r}",
            "name it with --workload, as in --workload mixed",
        )
    return known


def _rate_per_s(load: PastLoad, options: OutputOptions, where: str) -> float | None:
    is_paced = load.captured.report.schedule_lag_mean_s is not None
    if is_paced and options.rate_per_s is None:
        raise UsageError(
            f"{where}: pgbench kept to a rate and does not tell which",
            "say it as -R did, as in --rate 500",
        )
    if options.rate_per_s is not None and not is_paced:
        raise UsageError(
            f"{where}: --rate, but this pgbench kept to none", "import it without --rate"
        )
    return options.rate_per_s


def _judged(trial: Trial, load: PastLoad, sampling_ratio: float) -> Judgement:
    report = load.captured.report
    if load.log is not None:
        return judge_past(
            PgbenchLoad(), trial, totals(report), load.log, sampling_ratio=sampling_ratio
        )
    stddev_s = report.latency_stddev_s
    return judge_without_log(
        trial,
        totals(report),
        mean_s=report.latency_average_s,
        stddev_s=math.nan if stddev_s is None else stddev_s,
    )


def _with_told(outcome: Measured, load: PastLoad) -> Measured:
    """Add what only the report tells, where there is no log."""
    if load.log is not None:
        return outcome
    report = load.captured.report
    # Without a failure there was none of either kind; with some, only the details tell.
    none = 0 if report.failed_count == 0 else None
    serial, deadlock = report.serialization_failure_count, report.deadlock_failure_count
    mean_s, max_s = report.schedule_lag_mean_s, report.schedule_lag_max_s
    lag = None
    if mean_s is not None:
        max_s = math.nan if max_s is None else max_s
        lag = LagSummary(mean_s=mean_s, p99_s=math.nan, max_s=max_s)
    return msgspec.structs.replace(
        outcome,
        serialization_failure_count=none if serial is None else serial,
        deadlock_failure_count=none if deadlock is None else deadlock,
        schedule_lag=lag,
    )


def _imported(load: PastLoad) -> Imported:
    report, server = load.captured.report, load.captured.server_version
    facts = [] if server is None else [("PostgreSQL", server)]
    if report.duration_s is None:
        facts.append(("duration", f"{report.transaction_count} transactions"))
    if report.max_tries is None and _knows_tries(load.captured.pgbench_version):
        facts.append(("max tries", "unlimited"))
    unknown = [] if server is not None else ["PostgreSQL"]
    unknown += [] if load.captured.pgbench_version is not None else ["pgbench"]
    return Imported(
        kind=ImportKind.PGBENCH_OUTPUT,
        file=load.file,
        sha256=load.sha256,
        facts=tuple(facts),
        unknown=(*unknown, *_NEVER_TOLD),
    )


def _knows_tries(pgbench_version: str | None) -> bool:
    """Tell whether this pgbench says how often it tries, unless that is without end."""
    match = re.match(r"\d+", pgbench_version or "")
    return match is not None and int(match[0]) >= _TRIES_SINCE


def _cautions(load: PastLoad, *, is_dated: bool) -> tuple[Caution, ...]:
    found = [
        Caution(
            code="imported",
            message=f"imported from {load.file}: settings, machine, storage and warm-up are not"
            " told, and nothing of it was checked",
        )
    ]
    if load.log is None:
        message = "no transaction log: no percentiles, no seconds"
        found.append(Caution(code="no-log", message=message))
    if not is_dated:
        message = "nothing tells when it was measured: the date of its file stands for it"
        found.append(Caution(code="no-date", message=message))
    if load.captured.reconnects:
        message = "pgbench connected anew for each transaction, which its TPS contains"
        found.append(Caution(code="reconnects", message=message))
    return tuple(found)
