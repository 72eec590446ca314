"""Any two environments against each other, cell by cell, by the rule of all comparisons.

The report compares with the baseline alone. Which of two others is better takes their own pairs.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.decisions import ComparisonKey, decide, decide_once
from groundspeed.analyse.figures import CellPlace, Pair, TrialFigures, pairs_between
from groundspeed.analyse.findings import Answer

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from groundspeed.analyse.decisions import Decision
    from groundspeed.analyse.findings import Findings, TrialEvidence

Cell = CellPlace


class By(Enum):
    """What two environments are compared by."""

    THROUGHPUT = "throughput"
    P99 = "p99 latency"
    WORST = "worst 10 s over the median"
    SCATTER = "scatter of seconds (CV)"


_FIGURES: Mapping[By, Callable[[TrialFigures], float]] = {
    By.THROUGHPUT: lambda trial: trial.tps_per_s,
    By.P99: lambda trial: trial.p99_s,
}
# How a trial went over its time is known of those alone that were watched.
_COURSES: Mapping[By, Callable[[TrialEvidence], float]] = {
    By.WORST: lambda trial: trial.course.worst_ratio,
    By.SCATTER: lambda trial: trial.course.cv_ratio,
}
_LOWER_IS_BETTER = (By.P99, By.SCATTER)


class Duel(msgspec.Struct, frozen=True, kw_only=True):
    """Two environments: in which cells the first is better, worse, alike, and what is open.

    Each with its ratio in `ratios`, the better direction above 1 whatever it is by.
    """

    first: str
    second: str
    won: tuple[Cell, ...]
    lost: tuple[Cell, ...]
    alike: tuple[Cell, ...]
    open: tuple[Cell, ...]
    ratios: dict[Cell, tuple[float, float | None, float | None]]
    why: str

    @property
    def is_won(self) -> bool:
        """Whether the first is better somewhere and worse nowhere."""
        return bool(self.won) and not self.lost

    @property
    def is_lost(self) -> bool:
        """Whether the second is better somewhere and worse nowhere."""
        return bool(self.lost) and not self.won


class _Outcome(NamedTuple):
    cell: Cell
    answer: Answer
    ratio: float
    low: float | None
    high: float | None
    why: str


def duel(findings: Findings, first: str, second: str, workloads: Collection[str], by: By) -> Duel:
    """Compare two environments in all cells of some workloads that both were measured in.

    By throughput against the baseline these are the comparisons of the report; else they are a
    family of their own, answered by the rule of the run.
    """
    if by is By.THROUGHPUT and findings.baseline in (first, second):
        outcomes = _reported(findings, first, second, workloads)
    else:
        pairs = pairs_of(findings, first, second, workloads, by)
        keyed = _keyed(pairs, first, second)
        outcomes = [_decided(d) for d in answers(findings, keyed, by)] if keyed else []
    cells = {answer: tuple(o.cell for o in outcomes if o.answer is answer) for answer in Answer}
    return Duel(
        first=first,
        second=second,
        won=cells[Answer.FASTER],
        lost=cells[Answer.SLOWER],
        alike=cells[Answer.EQUIVALENT],
        open=cells[Answer.UNDECIDED],
        ratios={o.cell: (o.ratio, o.low, o.high) for o in outcomes},
        why=_why(outcomes),
    )


def answers(
    findings: Findings, pairs: Mapping[ComparisonKey, Sequence[Pair]], by: By
) -> tuple[Decision, ...]:
    """Decide a family as the run did: at its looks where it had some, beyond its noise floor."""
    floors = {
        c.workload: c.floor_ratio
        for c in findings.comparisons
        if c.floor_ratio is not None and by is By.THROUGHPUT
    }
    if findings.rule is None:
        return decide_once(pairs, floors=floors)
    rule = msgspec.structs.replace(findings.rule, family_count=len(pairs))
    return decide(pairs, rule, floors)


def pairs_of(
    findings: Findings, first: str, second: str, workloads: Collection[str], by: By
) -> dict[Cell, list[Pair]]:
    """Pair the trials of two environments inside blocks; the better direction is above."""
    pairs = (
        pairs_between(findings.figures, (first, second), workloads, _FIGURES[by])
        if by in _FIGURES
        else _watched_pairs(findings, (first, second), workloads, by)
    )
    if by not in _LOWER_IS_BETTER:
        return pairs
    return {cell: [pair[::-1] for pair in values] for cell, values in pairs.items()}


def _watched_pairs(
    findings: Findings, sides: tuple[str, str], workloads: Collection[str], by: By
) -> dict[Cell, list[Pair]]:
    """Pair watched trials: those of one repeat of one combination are of one block."""
    halves: dict[tuple[str, Cell, int], dict[str, float]] = {}
    for trial in findings.trials:
        if trial.environment in sides and trial.workload in workloads:
            # Trials of several runs are named by their run, and only those of one are pairs.
            run = trial.trial_id.rpartition("/")[0] if len(findings.run_ids) > 1 else ""
            cell = Cell(trial.workload, trial.clients, trial.threads, trial.scale)
            block = halves.setdefault((run, cell, trial.repeat_index), {})
            # A second trial of the same in a block, which measures the noise floor, is no pair.
            block.setdefault(trial.environment, _COURSES[by](trial))
    pairs: dict[Cell, list[Pair]] = {}
    for (_, cell, _), block in halves.items():
        first, second = (block.get(side, math.nan) for side in sides)
        if all(math.isfinite(value) and value > 0 for value in (first, second)):
            pairs.setdefault(cell, []).append((first, second))
    return pairs


def _keyed(
    pairs: Mapping[Cell, Sequence[Pair]], first: str, second: str
) -> dict[ComparisonKey, Sequence[Pair]]:
    return {
        ComparisonKey(baseline=second, environment=first, **cell._asdict()): values
        for cell, values in pairs.items()
    }


def _decided(decision: Decision) -> _Outcome:
    d = decision
    cell = Cell(d.workload, d.clients, d.threads, d.scale)
    return _Outcome(cell, d.answer, d.ratio, d.low, d.high, d.why)


def _reported(
    findings: Findings, first: str, second: str, workloads: Collection[str]
) -> list[_Outcome]:
    outcomes = []
    for c in findings.comparisons:
        if c.workload not in workloads or {c.environment, c.baseline} != {first, second}:
            continue
        found = _Outcome(
            Cell(c.workload, c.clients, c.threads, c.scale),
            c.answer,
            c.tps_ratio,
            c.tps_low,
            c.tps_high,
            c.why,
        )
        outcomes.append(found if c.environment == first else _turned(found))
    return outcomes


def _turned(outcome: _Outcome) -> _Outcome:
    """See a comparison from its other side."""
    turned = {Answer.FASTER: Answer.SLOWER, Answer.SLOWER: Answer.FASTER}
    return outcome._replace(
        answer=turned.get(outcome.answer, outcome.answer),
        ratio=1 / outcome.ratio if outcome.ratio else math.nan,
        low=None if not outcome.high else 1 / outcome.high,
        high=None if not outcome.low else 1 / outcome.low,
    )


def _why(outcomes: Sequence[_Outcome]) -> str:
    reasons = list(dict.fromkeys(o.why for o in outcomes if o.why))
    if not outcomes:
        return "no pairs of trials"
    return reasons[0] if reasons else ""
