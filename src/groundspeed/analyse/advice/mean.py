"""One number for a workload, for readers who ask for one, named for what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.advice.shapes import Advised, Topic
from groundspeed.analyse.advice.wording import Names, mean_sentence
from groundspeed.analyse.diagnosis import CellKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.analyse.findings import Findings


def means(findings: Findings) -> Iterator[Advised]:
    """Give a sentence for each workload with two cells or more, all environments in it.

    None where there are too few pairs for an interval: one number without one says nothing.
    """
    names = Names(findings)
    sure = [mean for mean in findings.means if mean.low is not None]
    for workload in dict.fromkeys(mean.workload for mean in sure):
        found = [mean for mean in sure if mean.workload == workload]
        others = {mean.environment for mean in found}
        cells = [
            CellKey(
                environment=c.environment,
                workload=c.workload,
                clients=c.clients,
                threads=c.threads,
                scale=c.scale,
            )
            for c in findings.comparisons
            if c.workload == workload and c.environment in others and c.pair_count
        ]
        yield Advised(
            topic=Topic.MEAN,
            sentence=mean_sentence(found, names.label, names.words),
            cells=tuple(cells),
        )
