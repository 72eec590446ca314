"""Records become `Findings`: cells summarised, environments compared inside blocks, doubts named.

Nothing here measures, and nothing here is worded for people beyond one sentence a finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.capacity.finding import capacities, settled_slices, with_slices
from groundspeed.analyse.capacity.wording import verdicts as capacity_verdicts
from groundspeed.analyse.cells import summarise
from groundspeed.analyse.circumstances import differences, environment_facts
from groundspeed.analyse.compare import compare
from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.device_work import device_work
from groundspeed.analyse.digits import NOTHING, digits, ratio_digits
from groundspeed.analyse.doubts import FootnoteBook, finding_cautions
from groundspeed.analyse.drift import run_drift
from groundspeed.analyse.figures import trial_figures
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
from groundspeed.analyse.keeping import keeping_of, writing_of
from groundspeed.analyse.overall import means_of
from groundspeed.analyse.scaling import scalings
from groundspeed.analyse.settings import setting_text
from groundspeed.analyse.verdicts import verdict
from groundspeed.analyse.watched import capped_cells, cell_diagnoses, seconds_of, watched_trials
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
    slices = settled_slices(settled)
    slice_trials = watched_trials(slices)
    searched = capacities(settled, slices, slice_trials)
    against = _baseline(settled, baseline)
    book = FootnoteBook()
    for trial in settled.trials:
        book.carry(trial)
    general = book.take_general(len(settled.measured))
    is_search = all(run.search is not None for run in settled.runs)
    if is_search:
        # It advises what such a run has done.
        general = tuple(caution for caution in general if caution.code != "closed-loop")
    # One closed loop each, from which a search took its rates, compares nothing.
    comparisons = () if is_search else compare(settled, against, book)
    cells = summarise(settled, book)
    trials = watched_trials(settled)
    diagnosed = cell_diagnoses(settled, trials)
    figures = () if is_search else trial_figures(settled)
    started = [t.record.started_at for t in (*settled.trials, *slices.trials)]
    rule = next((run.rule for run in settled.runs if run.rule is not None), None)
    # Two publications beside one table would be two tables; that of the first run is it.
    beside = next((run for run in settled.runs if run.publication is not None), None)
    return Findings(
        suite_name=" + ".join(dict.fromkeys(run.suite_name for run in settled.runs)),
        description="\n".join(dict.fromkeys(run.description for run in settled.runs)),
        run_ids=tuple(run.run_id for run in settled.runs),
        baseline=against,
        environments=with_slices(
            tuple(environment_facts(settled, name) for name in settled.environments), slices
        ),
        planned_trial_count=sum(run.planned_trial_count for run in settled.runs),
        measured_count=settled.count(Measured) + slices.count(Measured),
        # A slot that failed is used up, and told with its search: there is nothing to try again.
        failed_count=settled.count(Failed),
        skipped_count=settled.count(Skipped),
        cells=cells,
        comparisons=comparisons,
        verdicts=capacity_verdicts(searched, settled.label)
        if is_search
        else tuple(
            verdict(
                name,
                baseline=against,
                label=settled.label,
                cells=tuple(c for c in cells if c.workload == name),
                comparisons=tuple(c for c in comparisons if c.workload == name),
                words=settled.words,
            )
            for name in settled.workloads
        ),
        differences=differences(settled),
        footnotes=book.footnotes(),
        cautions=(
            *finding_cautions(settled, comparisons, general),
            *run_drift(figures, settled.label),
        ),
        seconds=_seconds(settled),
        emulated=tuple(name for name in settled.environments if name in settled.emulated),
        device_work=device_work(settled),
        diagnoses=diagnosed,
        trials=trials,
        scalings=scalings(settled, capped_cells(diagnosed)),
        guards=guards(settled, comparisons),
        figures=figures,
        means=means_of(figures, against, rule),
        rule=rule,
        saved=settled.runs[0].saved if len(settled.runs) == 1 else None,
        capacities=searched,
        slice_trials=slice_trials,
        engine=settled.runs[0].engine,
        publication=beside.publication if beside else None,
        beside=beside.beside if beside else None,
        keeping=keeping_of(settled),
        writing_workloads=writing_of(settled),
        first_started_at=min(started, default=None),
        last_started_at=max(started, default=None),
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
        if (rows := seconds_of(measured))
    )
