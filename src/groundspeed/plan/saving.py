"""What it saved to stop when it was decided, against measuring everything for long."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.plan.rounds import ERROR_RATIO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groundspeed.plan.parts import Plan, Trial

# What is usual where nothing stops early, and what the presets of groundspeed do otherwise.
FIXED_DURATION_S = 60
FIXED_REPEATS = 3


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """The load of a run that stops when it is decided, against a fixed design of its cells.

    `load_s` is measured load, twins among it; `warm_up_s` comes on top of it. The fixed design has
    `fixed_repeats` trials of `fixed_duration_s` for each cell, `fixed_load_s` in all, without its
    warm-ups. `planned_count` is what the plan would have measured with nothing decided and no end
    of time; `round_count` the rounds that were begun.

    `fewest_repeats` are the trials of each cell below which a fixed design can decide none of its
    `family_count` comparisons, whatever it shows; in slices as short as these they take
    `fewest_load_s`. Who knew beforehand that so few will do would be as quick.
    """

    tried_count: int
    planned_count: int
    round_count: int
    load_s: float
    warm_up_s: float
    fixed_load_s: float
    fixed_duration_s: int = FIXED_DURATION_S
    fixed_repeats: int = FIXED_REPEATS
    family_count: int
    fewest_repeats: int
    fewest_load_s: float
    at_most_s: float

    @property
    def ratio(self) -> float:
        """Share of the fixed design's load that was spent; 0.1 is a tenth."""
        return self.load_s / self.fixed_load_s


def saved(plan: Plan, tried: Iterable[Trial]) -> Saved | None:
    """Say what a run saved by its trials that have a record; None where it never stops early.

    A trial that was tried more than once counts each time: `tried` are those of all its records.
    """
    if plan.sequential is None:
        return None
    attempts = list(tried)
    slice_s = {trial.cell: trial.duration_s for trial in plan.trials}
    fewest = _fewest(plan.sequential.family_count)
    return Saved(
        tried_count=len({trial.trial_id for trial in attempts}),
        planned_count=len(plan.trials),
        round_count=len({trial.repeat_index for trial in attempts}),
        load_s=float(sum(trial.duration_s for trial in attempts)),
        warm_up_s=sum(trial.warm_up_s for trial in attempts),
        fixed_load_s=float(len(slice_s) * FIXED_DURATION_S * FIXED_REPEATS),
        family_count=plan.sequential.family_count,
        fewest_repeats=fewest,
        fewest_load_s=float(fewest * sum(slice_s.values())),
        at_most_s=plan.sequential.at_most_s,
    )


def _fewest(family_count: int) -> int:
    """Count the repeats with which pairs that all agree decide the first of a family.

    As `rounds.first_look`, with all of the error spent at the one look.
    """
    return math.ceil(1 - math.log2(ERROR_RATIO / family_count))
