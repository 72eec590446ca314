"""Trials as probes saw them: each with what held it back and how it went over its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.bottleneck import diagnose, diagnose_cells
from groundspeed.analyse.course import course
from groundspeed.analyse.diagnosis import Bottleneck
from groundspeed.analyse.findings import TrialEvidence
from groundspeed.plan import Cell, words_of
from groundspeed.record import SecondRow, Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.diagnosis import CellDiagnosis

_NO_SERIES = Series()
# What more clients meet here is no property of the server.
_CAPS = (Bottleneck.CLIENT, Bottleneck.IOPS_CAPPED, Bottleneck.WRITE_BANDWIDTH)


def seconds_of(measured: MeasuredTrial) -> tuple[SecondRow, ...]:
    """Give the seconds of a trial: from the load tool's log, else what the server counted.

    A server that counts tells of requests and of no latency. A second without an answer has the
    rate of the next look, which is over both.
    """
    trial_id = measured.record.trial.trial_id
    logged = measured.run.seconds.get(trial_id, ())
    if logged:
        return logged
    rates = measured.run.series.get(trial_id, _NO_SERIES).column("requests_per_s")
    rows: list[SecondRow] = []
    known: float | None = None
    for index in range(len(rates) - 1, -1, -1):
        rate = rates[index]
        known = known if rate is None else rate
        if known is not None:
            rows.append(_counted(index, known))
    return tuple(reversed(rows))


def _counted(index: int, rate_per_s: float) -> SecondRow:
    return SecondRow(
        index=index,
        count=round(rate_per_s),
        failed=0,
        skipped=0,
        mean_us=None,
        p50_us=None,
        p95_us=None,
        p99_us=None,
        max_us=None,
    )


def watched_trials(settled: Settled) -> tuple[TrialEvidence, ...]:
    """Diagnose every measured trial with evidence; in the order they were settled in."""
    return tuple(
        found for trial in settled.measured if (found := _watched(settled, trial)) is not None
    )


def _watched(settled: Settled, measured: MeasuredTrial) -> TrialEvidence | None:
    record, trial = measured.record, measured.record.trial
    if record.evidence is None:
        return None
    name = settled.name(measured)
    series = measured.run.series.get(trial.trial_id, _NO_SERIES)
    rows = seconds_of(measured)
    went = course(
        name,
        rows,
        record.evidence,
        series,
        record.storage_work,
        log_sampling_ratio=measured.outcome.log_sampling_ratio,
    )
    words = words_of(measured.run.engine)
    diagnosis = diagnose(record, series=series, course=went, words=words)
    return TrialEvidence(
        environment=trial.cell.environment,
        workload=trial.cell.workload,
        clients=trial.cell.clients,
        threads=trial.cell.threads,
        scale=trial.cell.scale,
        trial_id=name,
        repeat_index=trial.repeat_index,
        evidence=record.evidence,
        series=series,
        # Trials of several runs may have one id.
        diagnosis=msgspec.structs.replace(diagnosis, trial_id=name),
        course=went,
        tps_per_s=measured.outcome.tps_per_s,
        p99_s=measured.outcome.latency.p99_s,
        storage_work=record.storage_work,
    )


def cell_diagnoses(settled: Settled, trials: Sequence[TrialEvidence]) -> tuple[CellDiagnosis, ...]:
    """Say what most trials of each cell agree in."""
    diagnoses = {trial.trial_id: trial.diagnosis for trial in trials}
    return diagnose_cells(
        [
            (trial.record, diagnoses[name])
            for trial in settled.measured
            if (name := settled.name(trial)) in diagnoses
        ]
    )


def capped_cells(diagnosed: Sequence[CellDiagnosis]) -> frozenset[Cell]:
    """Pick the cells whose throughput somebody else holds flat: no scaling is seen in them."""
    return frozenset(
        Cell(
            environment=cell.environment,
            workload=cell.workload,
            clients=cell.clients,
            threads=cell.threads,
            scale=cell.scale,
        )
        for cell in diagnosed
        if cell.diagnosis.bottleneck in _CAPS
    )
