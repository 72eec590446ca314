"""Records become `Findings`: cells summarised, environments compared inside blocks, doubts named.

Nothing here measures, and nothing here is worded for people beyond one sentence a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.cells import summarise
from groundspeed.analyse.circumstances import differences, environment_facts
from groundspeed.analyse.compare import compare
from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.device_work import device_work
from groundspeed.analyse.digits import NOTHING, digits, ratio_digits
from groundspeed.analyse.doubts import FootnoteBook, finding_cautions
from groundspeed.analyse.findings import (
    Answer,
    CellSummary,
    Comparison,
    DeviceWork,
    Difference,
    EnvironmentFacts,
    Estimate,
    Findings,
    Footnote,
    RunRecords,
    SecondsLine,
    Verdict,
)
from groundspeed.analyse.guards import guards
from groundspeed.analyse.scaling import scalings
from groundspeed.analyse.settings import setting_text
from groundspeed.analyse.verdicts import verdict
from groundspeed.analyse.watched import capped_cells, cell_diagnoses, watched_trials
from groundspeed.errors import UsageError
from groundspeed.record import Failed, Measured, Skipped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import Settled

__all__ = [
    "CONFIDENCE_RATIO",
    "NOTHING",
    "TRIALS_NEEDED",
    "Answer",
    "CellSummary",
    "Comparison",
    "DeviceWork",
    "Difference",
    "EnvironmentFacts",
    "Estimate",
    "Findings",
    "Footnote",
    "RunRecords",
    "SecondsLine",
    "Verdict",
    "analyse",
    "digits",
    "ratio_digits",
    "setting_text",
]


def analyse(runs: Sequence[RunRecords], *, baseline: str | None = None) -> Findings:
    """Summarise, compare and doubt the records of one or more runs.

    Trials of several runs share a cell as further repeats, footnoted where their circumstances
    differ; they are compared only inside the blocks of their own run. `baseline` names the
    environment others are compared to; without it, the first one of the plans with a measurement.
    Raises UsageError when there is no run, or when no run has an environment of that name.
    """
    if not runs:
        raise UsageError("there is no run to analyse", "name one or more run directories")
    settled = settle(runs)
    against = _baseline(settled, baseline)
    book = FootnoteBook()
    for trial in settled.trials:
        book.carry(trial)
    general = book.take_general(len(settled.measured))
    comparisons = compare(settled, against, book)
    cells = summarise(settled, book)
    trials = watched_trials(settled)
    diagnosed = cell_diagnoses(settled, trials)
    return Findings(
        suite_name=" + ".join(dict.fromkeys(run.suite_name for run in settled.runs)),
        description="\n".join(dict.fromkeys(run.description for run in settled.runs)),
        run_ids=tuple(run.run_id for run in settled.runs),
        baseline=against,
        environments=tuple(environment_facts(settled, name) for name in settled.environments),
        planned_trial_count=sum(run.planned_trial_count for run in settled.runs),
        measured_count=settled.count(Measured),
        failed_count=settled.count(Failed),
        skipped_count=settled.count(Skipped),
        cells=cells,
        comparisons=comparisons,
        verdicts=tuple(
            verdict(
                name,
                baseline=against,
                label=settled.label,
                cells=tuple(c for c in cells if c.workload == name),
                comparisons=tuple(c for c in comparisons if c.workload == name),
            )
            for name in settled.workloads
        ),
        differences=differences(settled),
        footnotes=book.footnotes(),
        cautions=finding_cautions(settled, comparisons, general),
        seconds=_seconds(settled),
        emulated=tuple(name for name in settled.environments if name in settled.emulated),
        device_work=device_work(settled),
        diagnoses=diagnosed,
        trials=trials,
        scalings=scalings(settled, capped_cells(diagnosed)),
        guards=guards(settled, comparisons),
        first_started_at=min((t.record.started_at for t in settled.trials), default=None),
        last_started_at=max((t.record.started_at for t in settled.trials), default=None),
    )


def _baseline(settled: Settled, asked: str | None) -> str:
    if asked is not None and asked not in settled.environments:
        names = ", ".join(settled.environments)
        raise UsageError(f"no environment is called {asked!r}", f"name one of: {names}")
    if asked is not None:
        return asked
    measured = {t.record.trial.cell.environment for t in settled.measured}
    return next(
        (name for name in settled.environments if name in measured),
        next(iter(settled.environments), ""),
    )


def _seconds(settled: Settled) -> tuple[SecondsLine, ...]:
    return tuple(
        SecondsLine(
            environment=trial.cell.environment,
            workload=trial.cell.workload,
            clients=trial.cell.clients,
            threads=trial.cell.threads,
            trial_id=settled.name(measured),
            repeat_index=trial.repeat_index,
            log_sampling_ratio=measured.outcome.log_sampling_ratio,
            rows=rows,
        )
        for measured in settled.measured
        for trial in (measured.record.trial,)
        if (rows := measured.run.seconds.get(trial.trial_id, ()))
    )
