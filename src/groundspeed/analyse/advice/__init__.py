"""What a run tells somebody who has to choose: findings as sentences, and a selection table.

Every number in it stands in the findings, with its interval and its cell; nothing is ranked that no
comparison decides. It draws from findings alone, so an old run is advised as a new one is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.advice.cost import costs, replicas
from groundspeed.analyse.advice.durability import durability
from groundspeed.analyse.advice.growth import growth
from groundspeed.analyse.advice.layouts import layouts
from groundspeed.analyse.advice.mean import means
from groundspeed.analyse.advice.saving import saving_sentence
from groundspeed.analyse.advice.selection import choices
from groundspeed.analyse.advice.shapes import Advice, Advised, Choice, Purpose, Topic
from groundspeed.analyse.advice.steadiness import steadiness
from groundspeed.plan import POSTGRES

if TYPE_CHECKING:
    from groundspeed.analyse.findings import Findings

__all__ = ["Advice", "Advised", "Choice", "Purpose", "Topic", "advise", "saving_sentence"]

_BUILT_IN = {
    "select-only": "reads",
    "simple-update": "writes",
    "tpcb-like": "reads and writes",
}
# A server that only reads writes some log all the same, for hints and checkpoints.
_WRITING_BYTES = 16.0


def advise(findings: Findings) -> Advice:
    """Say in sentences what was found, and which environment to take for what."""
    kinds = _kinds(findings)
    return Advice(
        findings=(
            *costs(findings, kinds),
            *durability(findings, kinds),
            *means(findings),
            *replicas(findings, kinds),
            *growth(findings),
            *steadiness(findings),
        ),
        choices=(*choices(findings, kinds), *layouts(findings, tuple(kinds))),
    )


def _kinds(findings: Findings) -> dict[str, str]:
    """Name what each workload does; a script by the log that it made a transaction write."""
    workloads = dict.fromkeys(cell.workload for cell in findings.cells)
    if findings.engine != POSTGRES and findings.writing_workloads is not None:
        # Names and logs of pgbench say nothing of them; their suite does.
        writing = findings.writing_workloads
        return {name: "writes" if name in writing else "reads" for name in workloads}
    return {name: _BUILT_IN.get(name) or _seen(findings, name) for name in workloads}


def _seen(findings: Findings, workload: str) -> str:
    """Say whether a script writes; one that nobody watched is taken to, as everywhere else."""
    logs = [
        wal.bytes / (trial.tps_per_s * trial.evidence.elapsed_s)
        for trial in findings.trials
        if trial.workload == workload
        and trial.evidence.postgres is not None
        and (wal := trial.evidence.postgres.wal) is not None
        and trial.tps_per_s * trial.evidence.elapsed_s > 0
    ]
    return "reads" if logs and max(logs) < _WRITING_BYTES else "writes"
