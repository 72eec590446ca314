"""Advice in words: sentences as `analyse` made them, and choices with names for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.advice import advise
from groundspeed.report.advice_shapes import AdviceView, ChoiceRow
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import NOTHING

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.advice import Choice

NOT_DECIDED = "not decided"
_MOST_WORKLOADS = 3


def advice_view(findings: Findings) -> AdviceView:
    """Word what a run tells somebody who has to choose."""
    advice = advise(findings)
    return AdviceView(
        sentences=tuple(found.sentence for found in advice.findings),
        choices=tuple(_row(choice, findings) for choice in advice.choices),
    )


def _row(choice: Choice, findings: Findings) -> ChoiceRow:
    def name(environment: str | None) -> str:
        return NOT_DECIDED if environment is None else label_of(environment, findings.emulated)

    workloads = choice.workloads
    of = f"{len(workloads)} workloads" if len(workloads) > _MOST_WORKLOADS else ", ".join(workloads)
    return ChoiceRow(
        purpose=choice.purpose.value,
        by=f"{choice.by}: {of}",
        best=name(choice.best),
        runner_up=NOTHING if choice.best is None or choice.is_alone else name(choice.runner_up),
        reason=choice.reason,
        is_decided=choice.best is not None,
    )
