"""Why, for machines: diagnoses and trials in base units, unrounded, under stable names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed.report.why_view import Whys

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.diagnosis import CellDiagnosis, Diagnosis
    from groundspeed.analyse.findings import TrialEvidence

FORMAT = 1


def diagnosis(found: Diagnosis) -> dict[str, Any]:
    """Give a bottleneck with its clues: name, value, the suffix of its base unit and source."""
    return {
        "bottleneck": found.bottleneck.value,
        "confidence": found.confidence.value,
        "clues": msgspec.to_builtins(found.clues),
        "remedy": found.remedy,
        "others": [other.value for other in found.others],
    }


def _factors(thing: CellDiagnosis | TrialEvidence) -> dict[str, Any]:
    return {
        "environment": thing.environment,
        "workload": thing.workload,
        "clients": thing.clients,
        "threads": thing.threads,
        "scale": thing.scale,
    }


def cell_diagnosis(found: CellDiagnosis) -> dict[str, Any]:
    """Give what held a cell back, and how many of its trials agree in it."""
    return {
        **_factors(found),
        "trial_count": found.trial_count,
        "agreeing_count": found.agreeing_count,
        "trial_id": found.diagnosis.trial_id,
        **diagnosis(found.diagnosis),
    }


def trial_in_short(trial: TrialEvidence) -> dict[str, Any]:
    """Give a trial's bottleneck by name and its course over time."""
    return {
        "trial_id": trial.trial_id,
        **_factors(trial),
        "repeat_index": trial.repeat_index,
        "tps_per_s": trial.tps_per_s,
        "p99_s": trial.p99_s,
        "bottleneck": trial.diagnosis.bottleneck.value,
        "confidence": trial.diagnosis.confidence.value,
        "course": {
            name: value
            for name, value in msgspec.to_builtins(trial.course).items()
            if name != "trial_id"
        },
    }


def trials_to_json(findings: Findings) -> str:
    """Write all watched trials in short, as one JSON object that ends with a newline."""
    return _json({"trials": [trial_in_short(trial) for trial in findings.trials]})


def trial_to_json(trial: TrialEvidence, findings: Findings) -> str:
    """Write one trial with all that was seen but its series; ends with a newline."""
    whys = Whys(findings)
    return _json(
        {
            **trial_in_short(trial),
            **diagnosis(trial.diagnosis),
            "guards": msgspec.to_builtins([whys.ordered[n - 1] for n in whys.marks(trial)]),
            "evidence": msgspec.to_builtins(trial.evidence),
            "storage_work": msgspec.to_builtins(trial.storage_work),
        }
    )


def _json(document: dict[str, Any]) -> str:
    whole = {"kind": "groundspeed-why", "format": FORMAT, **document}
    # msgspec writes what is no number as null, which JSON has instead of NaN.
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"
