"""Made-up findings for tests of advice: watched trials of environments with known speeds."""

from __future__ import annotations

import math
from random import Random
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse import Findings, analyse
from groundspeed.analyse.diagnosis import Course
from tests.evident import make_trial_evidence
from tests.examples import (
    make_measured,
    make_provenance,
    make_record,
    make_run,
    make_storage,
    make_trial,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.findings import TrialEvidence
    from groundspeed.record import Record


def findings_of(  # noqa: PLR0913 - what tests vary
    speeds: Mapping[str, Mapping[str, float]],
    *,
    clients: Sequence[int] = (1, 8),
    repeats: int = 12,
    spread: float = 0.01,
    scatter: Mapping[str, float] | None = None,
    worst: Mapping[str, float] | None = None,
) -> Findings:
    """Analyse a run in which each workload has these environments at these TPS for one client.

    Eight clients have four times the TPS of one. `scatter` and `worst` are the coefficient of
    variation and the worst ten seconds of each environment's trials.
    """
    rng = Random(7)
    records: list[Record] = []
    trials: list[TrialEvidence] = []
    block = 0
    for repeat in range(repeats):
        for workload, by_environment in speeds.items():
            for count in clients:
                for environment, speed in by_environment.items():
                    tps = speed * count ** (2 / 3) * math.exp(rng.gauss(0, spread))
                    record = make_record(
                        make_trial(
                            environment=environment,
                            workload=workload,
                            clients=count,
                            repeat_index=repeat,
                            block_index=block,
                        ),
                        make_measured(tps, p50_s=count / tps),
                        number=len(records),
                        provenance=make_provenance(storage=make_storage(label=environment)),
                    )
                    records.append(record)
                    noise = math.exp(rng.gauss(0, 0.1))
                    trials.append(
                        _evidence(
                            record,
                            tps,
                            (scatter or {}).get(environment, 0.1) * noise,
                            (worst or {}).get(environment, math.nan) * noise,
                        )
                    )
                block += 1
    return msgspec.structs.replace(analyse([make_run(records)]), trials=tuple(trials))


def _evidence(record: Record, tps: float, cv_ratio: float, worst_ratio: float) -> TrialEvidence:
    trial = record.trial
    made = make_trial_evidence(
        trial.trial_id,
        environment=trial.cell.environment,
        repeat_index=trial.repeat_index,
        tps_per_s=tps,
    )
    return msgspec.structs.replace(
        made,
        workload=trial.cell.workload,
        clients=trial.cell.clients,
        scale=trial.cell.scale,
        p99_s=4 * trial.cell.clients / tps,
        course=Course(
            trial_id=trial.trial_id,
            steady_from_s=0.0,
            cv_ratio=cv_ratio,
            worst_ratio=worst_ratio,
        ),
    )
