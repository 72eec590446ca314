"""One number for a workload, for readers who ask for one: the geometric mean over its cells."""

from __future__ import annotations

from statistics import geometric_mean
from typing import TYPE_CHECKING

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.decisions import ComparisonKey
from groundspeed.analyse.figures import GeometricMeanOfRatios, pairs_between
from groundspeed.stats.geometric_mean import geometric_mean_ratio, round_ratios
from groundspeed.stats.sequential import always_valid_interval
from groundspeed.stats.unpaired_ratio import unpaired_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.decisions import Pair
    from groundspeed.analyse.figures import TrialFigures
    from groundspeed.analyse.sides import Samples, SharedCell
    from groundspeed.stats.sequential import Rule

_LEAST_CELL_COUNT = 2


def overall(
    pairs: Mapping[ComparisonKey, Sequence[Pair]], rule: Rule | None = None
) -> tuple[GeometricMeanOfRatios, ...]:
    """Average the ratios of each environment over the cells of each workload that have pairs.

    With the `rule` of a run that stopped when it was decided the interval holds at every look.
    """
    groups: dict[tuple[str, str, str], list[Sequence[Pair]]] = {}
    for key, values in pairs.items():
        if values:
            place = (key.workload, key.baseline, key.environment)
            groups.setdefault(place, []).append(values)
    found: list[GeometricMeanOfRatios] = []
    for (workload, baseline, environment), cells in groups.items():
        mean = geometric_mean_ratio(cells, CONFIDENCE_RATIO)
        low, high = mean.low, mean.high
        if rule is not None:
            low, high = always_valid_interval(round_ratios(cells), rule, 1 - CONFIDENCE_RATIO)
        found.append(
            GeometricMeanOfRatios(
                workload=workload,
                baseline=baseline,
                environment=environment,
                cell_count=len(cells),
                round_count=mean.n,
                ratio=mean.ratio,
                low=low,
                high=high,
            )
        )
    return tuple(found)


def means_of(
    figures: Sequence[TrialFigures], baseline: str, rule: Rule | None
) -> tuple[GeometricMeanOfRatios, ...]:
    """Average every environment against the baseline, in each workload with two cells or more."""
    names = list(dict.fromkeys(trial.environment for trial in figures))
    workloads = list(dict.fromkeys(trial.workload for trial in figures))
    pairs = {
        ComparisonKey(baseline=baseline, environment=name, **place._asdict()): values
        for name in names
        if name != baseline
        for place, values in pairs_between(
            figures, (name, baseline), workloads, lambda trial: trial.tps_per_s
        ).items()
    }
    found = [mean for mean in overall(pairs, rule) if mean.cell_count >= _LEAST_CELL_COUNT]
    return tuple(sorted(found, key=lambda mean: workloads.index(mean.workload)))


def unpaired_means(
    cells: Sequence[SharedCell], baseline: str, candidate: str
) -> tuple[GeometricMeanOfRatios, ...]:
    """Average the cells of two runs, in each workload with two cells or more.

    Two runs have no rounds. The interval takes that of each cell, all of them together at 95% by
    adding up their errors, so it is wider than need be.
    """
    groups: dict[str, list[Samples]] = {}
    for cell in cells:
        if cell.tps_per_s.baseline and cell.tps_per_s.candidate:
            groups.setdefault(cell.place.workload, []).append(cell.tps_per_s)
    return tuple(
        _unpaired_mean(values, workload, baseline, candidate)
        for workload, values in groups.items()
        if len(values) >= _LEAST_CELL_COUNT
    )


def _unpaired_mean(
    cells: Sequence[Samples], workload: str, baseline: str, candidate: str
) -> GeometricMeanOfRatios:
    confidence = 1 - (1 - CONFIDENCE_RATIO) / len(cells)
    found = [unpaired_ratio(cell.candidate, cell.baseline, confidence) for cell in cells]
    return GeometricMeanOfRatios(
        workload=workload,
        baseline=baseline,
        environment=candidate,
        cell_count=len(cells),
        round_count=0,
        ratio=geometric_mean(each.ratio for each in found),
        low=_mean_of_known([each.low for each in found]),
        high=_mean_of_known([each.high for each in found]),
    )


def _mean_of_known(ends: Sequence[float | None]) -> float | None:
    known = [end for end in ends if end is not None]
    return geometric_mean(known) if len(known) == len(ends) else None
