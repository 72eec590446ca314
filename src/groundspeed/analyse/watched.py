"""Trials as probes saw them: each with what held it back and how it went over its time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.bottleneck import diagnose, diagnose_cells
from groundspeed.analyse.course import course
from groundspeed.analyse.diagnosis import Bottleneck
from groundspeed.analyse.findings import TrialEvidence
from groundspeed.plan import Cell
from groundspeed.record import Series

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.diagnosis import CellDiagnosis

_NO_SERIES = Series()
# What more clients meet here is no property of the server.
_CAPS = (Bottleneck.CLIENT, Bottleneck.IOPS_CAPPED, Bottleneck.WRITE_BANDWIDTH)


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
    went = course(
        name,
        measured.run.seconds.get(trial.trial_id, ()),
        record.evidence,
        series,
        record.storage_work,
        log_sampling_ratio=measured.outcome.log_sampling_ratio,
    )
    diagnosis = diagnose(record, series=series, course=went)
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
