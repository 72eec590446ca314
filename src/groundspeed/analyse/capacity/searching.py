"""Plan and records say which slices are wanted next, and at which rate.

The plan has the slots; a slot takes its rate from the slices of earlier rounds of its own cell, so
that a run that goes on after a crash measures what it would have measured without. A slot whose
cell has no closed loop yet is one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.capacity.slices import outcome_of
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.record import Failed, Measured, Skipped
from groundspeed.stats.rate_search import Bracket, RateSearch, ladder, rung_of, search_after

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from groundspeed.plan import CapacitySearch, Cell, Plan, Trial
    from groundspeed.record import Record

ERROR_RATIO = 1 - CONFIDENCE_RATIO
# What fails three times in a row would go on failing until the time is over.
_MOST_FAILURES = 3
# Rates are written with four digits.
_ROUNDING_RATIO = 1.002


class CellSearch(msgspec.Struct, frozen=True, kw_only=True):
    """The search of one cell, as far as its records go.

    `rates_per_s` is its ladder, empty without a closed loop; then `search` is None.
    """

    closed_loop_per_s: float | None
    rates_per_s: tuple[float, ...]
    search: RateSearch | None
    slice_count: int
    failed_count: int
    is_given_up: bool

    def bracket(self, error_ratio: float = ERROR_RATIO) -> Bracket | None:
        """Give what the rate lies between; None where slices contradict each other."""
        if self.search is None:
            return Bracket(None, None)
        return self.search.bracket(error_ratio)

    def is_over(self, asked: CapacitySearch) -> bool:
        """Say whether this cell wants no further slice: found, or nothing to be found."""
        if self.is_given_up:
            return True
        found = self.bracket()
        if found is None:
            return True
        if not self.rates_per_s:
            return False
        if found.low is None or found.high is None:
            # Surely below the lowest rung, or above the highest one.
            return found.high == 0 or found.low == len(self.rates_per_s) - 1
        return self.is_narrow(found, asked)

    def is_narrow(self, found: Bracket, asked: CapacitySearch) -> bool:
        """Say whether the ends of an interval that has both are as near as asked."""
        if found.low is None or found.high is None:
            return False
        ratio = self.rates_per_s[found.high] / self.rates_per_s[found.low]
        return ratio <= (1 + asked.step_ratio) ** 2 * _ROUNDING_RATIO

    def next_rate_per_s(self) -> float | None:
        """Choose the rate of the next slice; None for a closed loop."""
        if self.search is None:
            return None
        return self.rates_per_s[self.search.next_rung(ERROR_RATIO)]


def search_cell(asked: CapacitySearch, records: Iterable[Record]) -> CellSearch:
    """Search with the records of one cell, in the order of their rounds."""
    closed_loop_per_s: float | None = None
    rates: tuple[float, ...] = ()
    slices: list[tuple[int, bool]] = []
    failed = in_a_row = 0
    is_skipped = False
    for record in sorted(records, key=lambda r: (r.trial.repeat_index, r.attempt)):
        is_skipped = is_skipped or isinstance(record.outcome, Skipped)
        if isinstance(record.outcome, Failed):
            failed, in_a_row = failed + 1, in_a_row + 1
        if not isinstance(record.outcome, Measured):
            continue
        in_a_row = 0
        if closed_loop_per_s is None and record.trial.rate_per_s is None:
            closed_loop_per_s = record.outcome.tps_per_s
            if closed_loop_per_s > 0:
                rates = ladder(closed_loop_per_s, asked.step_ratio)
        slice_ = outcome_of(record, asked.bound_s)
        if rates and slice_ is not None:
            slices.append((rung_of(slice_.rate_per_s, rates), slice_.holds))
    return CellSearch(
        closed_loop_per_s=closed_loop_per_s,
        rates_per_s=rates,
        search=search_after(len(rates), asked.step_ratio, tuple(slices)) if rates else None,
        slice_count=len(slices),
        failed_count=failed,
        is_given_up=is_skipped or in_a_row >= _MOST_FAILURES or closed_loop_per_s == 0,
    )


def search_cells(plan: Plan, records: Sequence[Record]) -> dict[Cell, CellSearch]:
    """Search every cell of a plan, in its order. Raises ValueError without a search."""
    asked = _asked(plan)
    by_cell: dict[Cell, list[Record]] = {
        trial.cell: [] for trial in plan.trials if trial.repeat_index == 0
    }
    for record in records:
        by_cell.setdefault(record.trial.cell, []).append(record)
    return {cell: search_cell(asked, found) for cell, found in by_cell.items()}


def next_slices(plan: Plan, records: Sequence[Record]) -> tuple[Trial, ...]:
    """Give what is left of the round that was begun, or all of the next one; none at the end.

    Trials carry the rates that they want. A slot that has a record is used up, however it ended.
    """
    asked = _asked(plan)
    tried = {record.trial.trial_id for record in records}
    begun = max((record.trial.repeat_index for record in records), default=0)
    for index in (begun, begun + 1):
        cells = search_cells(plan, [r for r in records if r.trial.repeat_index < index])
        over = _skipped(records)
        todo = tuple(
            msgspec.structs.replace(trial, rate_per_s=cells[trial.cell].next_rate_per_s())
            for trial in plan.trials
            if trial.repeat_index == index
            and trial.trial_id not in tried
            and trial.cell not in over
            and not cells[trial.cell].is_over(asked)
        )
        if todo:
            return todo
    return ()


def _skipped(records: Sequence[Record]) -> frozenset[Cell]:
    """Cells that are not to be had, as one record of each says."""
    return frozenset(r.trial.cell for r in records if isinstance(r.outcome, Skipped))


def without(trials: Sequence[Trial], trial_ids: Collection[str]) -> tuple[Trial, ...]:
    """Leave out the trials of these ids."""
    return tuple(trial for trial in trials if trial.trial_id not in trial_ids)


def open_environments(plan: Plan, records: Sequence[Record]) -> frozenset[str]:
    """Name the environments of which a cell is still searched."""
    asked = _asked(plan)
    cells: Mapping[Cell, CellSearch] = search_cells(plan, records)
    skipped = _skipped(records)
    return frozenset(
        cell.environment
        for cell, found in cells.items()
        if cell not in skipped and not found.is_over(asked)
    )


def _asked(plan: Plan) -> CapacitySearch:
    if plan.search is None:
        raise ValueError("only a plan that searches a rate has slots")
    return plan.search
