"""One number for a workload, for readers who ask for one, named for what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.advice.rivals import By, pairs_of
from groundspeed.analyse.advice.shapes import Advised, Topic
from groundspeed.analyse.advice.wording import Names, counted, listed, span
from groundspeed.analyse.decisions import ComparisonKey
from groundspeed.analyse.diagnosis import CellKey
from groundspeed.analyse.digits import ratio_digits
from groundspeed.analyse.overall import overall

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.findings import Findings
    from groundspeed.analyse.overall import GeometricMeanOfRatios

_LEAST_CELL_COUNT = 2


def means(findings: Findings, kinds: dict[str, str]) -> Iterator[Advised]:
    """Give a sentence for each workload with two cells or more, all environments in it."""
    names = Names(findings)
    others = [f.environment for f in findings.environments if f.environment != findings.baseline]
    for workload in kinds:
        found: list[GeometricMeanOfRatios] = []
        cells: list[CellKey] = []
        for environment in others:
            pairs = pairs_of(findings, environment, findings.baseline, {workload}, By.THROUGHPUT)
            if len(pairs) < _LEAST_CELL_COUNT:
                continue
            keys = {
                ComparisonKey(
                    baseline=findings.baseline, environment=environment, **cell._asdict()
                ): values
                for cell, values in pairs.items()
            }
            found += overall(keys)
            cells += [CellKey(environment=environment, **cell._asdict()) for cell in pairs]
        if found:
            yield Advised(
                topic=Topic.MEAN,
                sentence=_sentence(workload, found, names),
                cells=tuple(cells),
            )


def _sentence(workload: str, found: list[GeometricMeanOfRatios], names: Names) -> str:
    texts: list[str] = []
    for mean in found:
        of = "" if texts else f" the TPS of {names.label(mean.baseline)}"
        sure = f"{span(mean.low, mean.high)}, {counted(mean.round_count, 'round')}"
        texts.append(
            f"{names.label(mean.environment)} {ratio_digits(mean.ratio)}x{of}"
            f" over {mean.cell_count} cells ({sure})"
        )
    return (
        f"One number for {workload}, the geometric mean of the ratios of its cells:"
        f" {listed(texts)}."
        " It stands for no load that anybody has."
    )
