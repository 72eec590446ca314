"""One number for a workload, for readers who ask for one: the geometric mean over its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.stats.geometric_mean import geometric_mean_ratio

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.decisions import ComparisonKey, Pair


class GeometricMeanOfRatios(msgspec.Struct, frozen=True, kw_only=True):
    """TPS of an environment over the baseline's, as the geometric mean over cells of a workload.

    Each cell counts alike. The interval is at 95%, over rounds in which every cell has a pair; None
    below six of them.
    """

    workload: str
    baseline: str
    environment: str
    cell_count: int
    round_count: int
    ratio: float
    low: float | None
    high: float | None


def overall(
    pairs: Mapping[ComparisonKey, Sequence[Pair]],
) -> tuple[GeometricMeanOfRatios, ...]:
    """Average the ratios of each environment over the cells of each workload that have pairs."""
    groups: dict[tuple[str, str, str], list[Sequence[Pair]]] = {}
    for key, values in pairs.items():
        if values:
            place = (key.workload, key.baseline, key.environment)
            groups.setdefault(place, []).append(values)
    found: list[GeometricMeanOfRatios] = []
    for (workload, baseline, environment), cells in groups.items():
        mean = geometric_mean_ratio(cells, CONFIDENCE_RATIO)
        found.append(
            GeometricMeanOfRatios(
                workload=workload,
                baseline=baseline,
                environment=environment,
                cell_count=len(cells),
                round_count=mean.n,
                ratio=mean.ratio,
                low=mean.low,
                high=mean.high,
            )
        )
    return tuple(found)
