"""The latency-bound row: whoever takes more transactions a second within the bound.

It comes from searches for that rate. A closed loop says nothing of it: there, whoever is slow is
asked less. So without a search the row says how to get one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.advice.rivals import Cell, Duel
from groundspeed.analyse.advice.shapes import Choice, Purpose
from groundspeed.analyse.capacity.shapes import CapacityState
from groundspeed.analyse.capacity.wording import bound_text, rate_text
from groundspeed.analyse.digits import digits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from groundspeed.analyse.capacity.shapes import Capacity
    from groundspeed.analyse.findings import Findings

HOW_TO = (
    "no rate was searched; a suite with measure: {until: capacity, bound: {p99: 10ms}} finds the"
    " highest that holds"
)
BY = "highest rate within a p99 bound"
PGBENCH = "pgbench"


def searched(findings: Findings) -> tuple[Capacity, ...]:
    """Pick the searches to choose by: of several runs the last one's, as rates of days differ."""
    last = findings.capacities[-1].run_id if findings.capacities else ""
    return tuple(c for c in findings.capacities if c.run_id == last)


def capacity_duels(capacities: Sequence[Capacity]) -> dict[tuple[str, str], Duel]:
    """Set every two environments against each other, in the cells that both were searched in.

    One has won a cell where its rate is surely higher; all intervals of the run hold at once.
    """
    cells: dict[str, dict[Cell, Capacity]] = {}
    for c in capacities:
        place = Cell(c.workload, c.clients, c.threads, c.scale)
        cells.setdefault(c.environment, {})[place] = c
    return {(a, b): _duel(a, b, cells[a], cells[b]) for a in cells for b in cells if a != b}


def _duel(
    first: str, second: str, ours: Mapping[Cell, Capacity], theirs: Mapping[Cell, Capacity]
) -> Duel:
    won: list[Cell] = []
    lost: list[Cell] = []
    still: list[Cell] = []
    ratios: dict[Cell, tuple[float, float | None, float | None]] = {}
    for cell in ours:
        if cell not in theirs:
            continue
        low, high = _over(ours[cell], theirs[cell])
        ratio = _ratio(ours[cell], theirs[cell])
        if ratio is not None:
            ratios[cell] = (ratio, low, high)
        if ratio is not None and low is not None and low > 1:
            won.append(cell)
        elif ratio is not None and high is not None and high < 1:
            lost.append(cell)
        else:
            still.append(cell)
    return Duel(
        first=first,
        second=second,
        won=tuple(won),
        lost=tuple(lost),
        alike=(),
        open=tuple(still),
        ratios=ratios,
        why=_why([(ours[cell], theirs[cell]) for cell in still]),
    )


def _over(ours: Capacity, theirs: Capacity) -> tuple[float | None, float | None]:
    """Divide two intervals end by end."""
    low = high = None
    if ours.family_low_per_s is not None and theirs.family_high_per_s is not None:
        low = ours.family_low_per_s / theirs.family_high_per_s
    if ours.family_high_per_s is not None and theirs.family_low_per_s is not None:
        high = ours.family_high_per_s / theirs.family_low_per_s
    return low, high


def _ratio(ours: Capacity, theirs: Capacity) -> float | None:
    """Divide two rates; the nearest rate that is known stands for one that has no middle."""
    above, below = _rate(ours), _rate(theirs)
    return None if above is None or below is None else above / below


def _rate(c: Capacity) -> float | None:
    if c.state in (CapacityState.CHANGED, CapacityState.UNKNOWN):
        return None
    return next((r for r in (c.rate_per_s, c.low_per_s, c.high_per_s) if r is not None), None)


def _why(pairs: Sequence[tuple[Capacity, Capacity]]) -> str:
    if not pairs:
        return ""
    ours, theirs = pairs[0]
    texts = [_span(c) for c in (ours, theirs)]
    return f"{texts[0]} and {texts[1]} are not apart"


def _span(c: Capacity) -> str:
    low, high = c.family_low_per_s, c.family_high_per_s
    if low is None and high is None:
        return "no interval yet"
    if high is None:
        return f"above {rate_text(low)}"
    return f"below {rate_text(high)}" if low is None else f"{digits(low)} to {rate_text(high)}"


def by_text(capacities: Sequence[Capacity]) -> str:
    """Name what the choice was made by."""
    bounds = dict.fromkeys(bound_text(c.bound_s) for c in capacities)
    return f"highest rate with {' or '.join(bounds)}"


def unsearched(at_full_load: Choice) -> Choice:
    """Turn a choice by the p99 of closed loops into the row of a run without a search.

    What closed loops have is told with it, but it chooses nothing.
    """
    told = at_full_load.reason
    if at_full_load.best is not None:
        told = f"{at_full_load.best} is {told}"
    return msgspec.structs.replace(
        at_full_load,
        purpose=Purpose.LATENCY,
        by=BY,
        best=None,
        runner_up=None,
        reason=f"{HOW_TO}. At full load, by p99: {told}",
    )
