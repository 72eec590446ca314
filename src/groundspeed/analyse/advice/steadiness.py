"""Which environment goes evenly through its trials, and which one bursts."""

from __future__ import annotations

import math
from statistics import fmean, median, stdev
from typing import TYPE_CHECKING

from groundspeed.analyse.advice.shapes import Advised, Topic
from groundspeed.analyse.advice.wording import Names, counted, listed, percent
from groundspeed.analyse.confidence import TRIALS_NEEDED
from groundspeed.analyse.diagnosis import CellKey, GuardKind
from groundspeed.analyse.digits import digits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.analyse.figures import TrialFigures
    from groundspeed.analyse.findings import Findings, TrialEvidence

# A trial no longer than this is a slice: it has too few seconds to be uneven by itself.
_SHORT_S = 5


def steadiness(findings: Findings) -> Iterator[Advised]:
    """Give a sentence for each environment with trials long enough to tell.

    Trials of unlike cells are not averaged: the figures are the ends of what trials showed.
    """
    names = Names(findings)
    for facts in findings.environments:
        trials = [t for t in findings.trials if t.environment == facts.environment]
        figures = [f for f in findings.figures if f.environment == facts.environment]
        # Trials of a second or two have no course; how they differ among themselves is one.
        scatter = [*_scatter(trials)] or [*_between_trials(figures)]
        parts = [*scatter, *_steps(trials), *_stalls(trials)]
        guards = [
            g
            for g in findings.guards
            if g.kind is GuardKind.BURST and any(_is_of(g.cells, t) for t in trials)
        ]
        # A hint on the machine says nothing of how trials went.
        if any(g.code == "measured-the-burst" for g in guards):
            parts.append("it ran on burst credits, which the guards tell of")
        if parts:
            yield Advised(
                topic=Topic.STEADINESS,
                sentence=f"{names.label(facts.environment)}: {'; '.join(parts)}.",
                cells=tuple(dict.fromkeys([*map(_key, trials), *map(_key, figures)])),
            )


def _key(trial: TrialEvidence | TrialFigures) -> CellKey:
    return CellKey(
        environment=trial.environment,
        workload=trial.workload,
        clients=trial.clients,
        threads=trial.threads,
        scale=trial.scale,
    )


def _is_of(cells: Sequence[CellKey], trial: TrialEvidence) -> bool:
    return _key(trial) in cells


def _scatter(trials: Sequence[TrialEvidence]) -> Iterator[str]:
    known = sorted(t.course.cv_ratio for t in trials if math.isfinite(t.course.cv_ratio))
    if not known:
        return
    cells = len({_key(t) for t in trials})
    least, most = percent(known[0]), percent(known[-1])
    text = (
        f"seconds scatter by {least}{f' to {most}' if most != least else ''} (CV) over"
        f" {counted(len(known), 'trial')} of {counted(cells, 'cell')}"
    )
    if most != least:
        text += f", in half of them by less than {percent(median(known))}"
    worst = min(
        (t.course.worst_ratio for t in trials if math.isfinite(t.course.worst_ratio)), default=None
    )
    yield text if worst is None else f"{text}; worst 10 s at {percent(worst)} of their median"


def _between_trials(figures: Sequence[TrialFigures]) -> Iterator[str]:
    """Say how trials of one cell differ, where all are short; drift over the run is part of it."""
    by_cell: dict[CellKey, list[float]] = {}
    for trial in figures:
        if math.isfinite(trial.tps_per_s) and trial.duration_s <= _SHORT_S:
            by_cell.setdefault(_key(trial), []).append(trial.tps_per_s)
    cells = [values for values in by_cell.values() if len(values) >= TRIALS_NEEDED]
    known = sorted(stdev(values) / fmean(values) for values in cells if fmean(values) > 0)
    if not known:
        return
    lengths = sorted({trial.duration_s for trial in figures})
    least, most = percent(known[0]), percent(known[-1])
    counts = sorted({len(values) for values in cells})
    of = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    yield (
        f"trials of {listed([str(s) for s in lengths], 'or')} s scatter by"
        f" {least}{f' to {most}' if most != least else ''} (CV) among the {of} of a cell, in"
        f" {counted(len(known), 'cell')}"
    )


def _steps(trials: Sequence[TrialEvidence]) -> Iterator[str]:
    stepped = [t for t in trials if t.course.step is not None]
    steps = [t.course.step for t in stepped if t.course.step is not None]
    if not steps:
        return
    worst = min(steps, key=lambda step: step.after_per_s / step.before_per_s)
    causes = listed(list(dict.fromkeys(step.cause for step in steps if step.cause)))
    why = f": {causes}" if causes else ""
    yield (
        f"it bursts: in {len(steps)} of {counted(len(trials), 'trial')} throughput steps down for"
        f" good, at worst from {digits(worst.before_per_s)} to {digits(worst.after_per_s)}/s after"
        f" {digits(worst.at_s)} s{why}"
    )


def _stalls(trials: Sequence[TrialEvidence]) -> Iterator[str]:
    stalls = [stall for t in trials for stall in t.course.stalls]
    if not stalls:
        return
    seen = {stall.coincides for stall in stalls if stall.coincides is not None}
    events = listed(sorted(kind.value for kind in seen))
    longest = max(stall.second_count for stall in stalls)
    with_it = f", some of them with a {events}" if events else ""
    yield (
        f"{counted(len(stalls), 'stall')} below a tenth of the median, the longest of"
        f" {longest} s{with_it}"
    )
