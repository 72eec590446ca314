"""What a run that searches the highest rate says of how far it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.capacity.searching import search_cells
from groundspeed.analyse.digits import digits
from groundspeed.deciding import time_is_over

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.capacity.searching import CellSearch
    from groundspeed.plan import CapacitySearch, Cell, Plan, Trial
    from groundspeed.run.crew import Crew

# More of them are counted, not listed: a line has to stay one.
_MOST_LISTED = 3
_MINUTE_S = 60


def tell_search(plan: Plan, crew: Crew, following: Sequence[Trial]) -> None:
    """Say after a round what each rate lies between, or of many how many are found."""
    asked = plan.search
    assert asked is not None  # noqa: S101 - asked for by the caller
    records = crew.store.records()
    cells = search_cells(plan, records)
    over = sum(found.is_over(asked) for found in cells.values())
    reached = max((record.trial.repeat_index for record in records), default=-1) + 1
    parts = [f"{over} of {len(cells)} searches have ended after {reached} rounds"]
    if len(cells) <= _MOST_LISTED:
        named = (f"{_name(plan, cell, cells)} {_between(f, asked)}" for cell, f in cells.items())
        parts.append(", ".join(named))
    if not following and over < len(cells):
        parts.append(_why(plan, crew, asked))
    crew.listener.note("; ".join(parts))


def _why(plan: Plan, crew: Crew, asked: CapacitySearch) -> str:
    if time_is_over(plan, crew.store.records()):
        return f"the {asked.at_most_s / _MINUTE_S:g} min are used up"
    return f"all {asked.round_count} rounds are used up"


def _name(plan: Plan, cell: Cell, cells: dict[Cell, CellSearch]) -> str:
    """Name a cell by what varies: its environment, and the rest only where that does."""
    storage = plan.environment(cell.environment).storage
    emulated = storage is not None and storage.emulate is not None
    parts = [f"{cell.environment} (emulated)" if emulated else cell.environment]
    if len({c.workload for c in cells}) > 1:
        parts.append(cell.workload)
    if len({(c.clients, c.threads) for c in cells}) > 1:
        parts.append(f"{cell.clients} clients")
    return " ".join(parts)


def _between(found: CellSearch, asked: CapacitySearch) -> str:
    bracket, rates = found.bracket(), found.rates_per_s
    if not rates:
        return "has no throughput yet"
    if bracket is None:
        return "changed while it was searched"
    end = ", found" if found.is_over(asked) else ""
    if bracket.low is None and bracket.high is None:
        # Nothing is sure yet: where it is looked at is what there is to say.
        middle = found.search.middle() if found.search is not None else bracket
        rung = middle.high if middle.high is not None else len(rates) - 1
        return f"near {digits(rates[rung])}/s"
    if bracket.low is None:
        return f"below {digits(rates[bracket.high or 0])}/s{end}"
    if bracket.high is None:
        return f"above {digits(rates[bracket.low])}/s{end}"
    return f"{digits(rates[bracket.low])} to {digits(rates[bracket.high])}/s{end}"
