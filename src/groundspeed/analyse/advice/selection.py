"""The selection table: for each purpose the best environment and its runner-up, where decided.

Nothing is ranked that no comparison decides: an environment is best when it is better than each
other one in some cell of the purpose and worse in none.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.advice import latency_bound
from groundspeed.analyse.advice.rivals import By, duel, pairs_of
from groundspeed.analyse.advice.shapes import Choice, Purpose
from groundspeed.analyse.advice.wording import Names, counted, listed, span
from groundspeed.analyse.digits import ratio_digits

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from groundspeed.analyse.advice.rivals import Cell, Duel
    from groundspeed.analyse.findings import Findings

_LEAST_RIVALS = 2
_CELLS_SHOWN = 3
_READS, _WRITES, _BOTH = "reads", "writes", "reads and writes"
_BY_KIND = ((Purpose.WRITES, _WRITES), (Purpose.READS, _READS), (Purpose.MIXED, _BOTH))


class Ranking(NamedTuple):
    """Who is best and who is next, None where that is not decided, and why."""

    best: str | None
    runner_up: str | None
    reason: str


def choices(findings: Findings, kinds: Mapping[str, str]) -> Iterator[Choice]:
    """Give a row for each purpose that the workloads speak of; none with one environment alone."""
    for purpose, kind in _BY_KIND:
        workloads = tuple(name for name, what in kinds.items() if what == kind)
        yield from _choice(findings, purpose, workloads, By.THROUGHPUT)
    everything = tuple(kinds)
    yield from _choice(findings, Purpose.BURSTY, everything, _burst_metric(findings, everything))
    yield from _latency_bound(findings, everything)


def _latency_bound(findings: Findings, workloads: tuple[str, ...]) -> Iterator[Choice]:
    """Choose by searches for the highest rate; without one say how to get it."""
    capacities = latency_bound.searched(findings)
    if not capacities:
        is_pgbench = all(e.tool == latency_bound.PGBENCH for e in findings.environments)
        for row in _choice(findings, Purpose.LATENCY, workloads, By.P99):
            # Another load tool has no rate to search.
            yield latency_bound.unsearched(row) if is_pgbench else row
        return
    rivals = list(dict.fromkeys(c.environment for c in capacities))
    if len(rivals) < _LEAST_RIVALS:
        return
    found = rank(rivals, latency_bound.capacity_duels(capacities), Names(findings))
    yield Choice(
        purpose=Purpose.LATENCY,
        by=latency_bound.by_text(capacities),
        workloads=tuple(dict.fromkeys(c.workload for c in capacities)),
        best=found.best,
        runner_up=found.runner_up,
        reason=found.reason,
    )


def _burst_metric(findings: Findings, workloads: Collection[str]) -> By:
    """Take the worst ten seconds where trials are long enough for them, else the scatter."""
    names = [facts.environment for facts in findings.environments]
    has_worst = any(
        pairs_of(findings, a, b, workloads, By.WORST) for a in names for b in names if a < b
    )
    return By.WORST if has_worst else By.SCATTER


def _choice(
    findings: Findings, purpose: Purpose, workloads: tuple[str, ...], by: By
) -> Iterator[Choice]:
    measured = {c.environment for c in findings.cells if c.workload in workloads}
    # What was imported has no pair with anything: nobody can choose by it.
    rivals = [
        f.environment for f in findings.environments if f.environment in measured and not f.imported
    ]
    if len(rivals) < _LEAST_RIVALS:
        return
    duels = {(a, b): duel(findings, a, b, workloads, by) for a in rivals for b in rivals if a != b}
    seen = {cell.workload for d in duels.values() for cell in d.ratios}
    if not seen:
        # Nothing of the kind was seen: a row of "not decided" would say that it was.
        return
    found = rank(rivals, duels, Names(findings))
    yield Choice(
        purpose=purpose,
        by=by.value,
        workloads=tuple(name for name in workloads if name in seen),
        best=found.best,
        runner_up=found.runner_up,
        reason=found.reason,
    )


def rank(rivals: Sequence[str], duels: Mapping[tuple[str, str], Duel], names: Names) -> Ranking:
    """Rank two rivals or more by the duels of each with each."""
    best = _winner(rivals, duels)
    if best is None:
        return Ranking(None, None, _undecided(unbeaten(rivals, duels), duels, names))
    rest = [name for name in rivals if name != best]
    runner_up = rest[0] if len(rest) == 1 else _winner(rest, duels)
    if runner_up is not None:
        return Ranking(best, runner_up, _won(duels[best, runner_up], names))
    second = _undecided(unbeaten(rest, duels), duels, names)
    # The weakest win is what the choice rests on.
    against = min(rest, key=lambda name: _least(duels[best, name]))
    reason = f"{_won(duels[best, against], names)}; the runner-up is not decided: {second}"
    return Ranking(best, None, reason)


def _winner(rivals: Sequence[str], duels: Mapping[tuple[str, str], Duel]) -> str | None:
    for name in rivals:
        if all(duels[name, other].is_won for other in rivals if other != name):
            return name
    return None


def unbeaten(rivals: Sequence[str], duels: Mapping[tuple[str, str], Duel]) -> list[str]:
    """List the rivals that are worse than no other one; all of them where that leaves nobody."""
    found = [a for a in rivals if not any(duels[a, b].is_lost for b in rivals if b != a)]
    # Three that beat each other in a circle leave nobody.
    return found if len(found) >= _LEAST_RIVALS else list(rivals)


def _least(one: Duel) -> float:
    return min((one.ratios[cell][0] for cell in one.won), default=math.inf)


def _won(one: Duel, names: Names) -> str:
    """Word a win: in how many cells, by how much at least and at most."""
    cells = len(one.won) + len(one.alike) + len(one.open)
    ordered = sorted(one.won, key=lambda cell: one.ratios[cell][0])
    shown = list(dict.fromkeys((ordered[0], ordered[-1])))
    texts = [_ratio(one, cell) for cell in shown]
    others = [
        f"{word} in {len(group)}"
        for word, group in (("alike", one.alike), ("not decided", one.open))
        if group
    ]
    more = f" ({listed(others)})" if others else ""
    return (
        f"better than {names.label(one.second)} in {len(one.won)} of"
        f" {counted(cells, 'cell')}{more}, {' up to '.join(texts)}"
    )


def _ratio(one: Duel, cell: Cell) -> str:
    ratio, low, high = one.ratios[cell]
    return f"{ratio_digits(ratio)}x at {_where(cell)} ({span(low, high)})"


def _where(cell: Cell) -> str:
    clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
    return f"{cell.workload}, {clients}"


def _undecided(rivals: Sequence[str], duels: Mapping[tuple[str, str], Duel], names: Names) -> str:
    """Say between whom it is open, and why: alike, each in its cells, or too little known."""
    first, second = rivals[0], rivals[1]
    one = duels[first, second]
    who = listed([names.label(name) for name in rivals], "or")
    if one.won and one.lost:
        return (
            f"{who}: {names.label(first)} is better at {_places(one.won)},"
            f" {names.label(second)} at {_places(one.lost)}"
        )
    if one.alike and not one.open and not one.won and not one.lost:
        return f"{who}: equivalent in {counted(len(one.alike), 'cell')}"
    return f"{who}: {one.why or 'not decided in every cell'}"


def _places(cells: Sequence[Cell]) -> str:
    if len(cells) > _CELLS_SHOWN:
        return counted(len(cells), "cell")
    return listed([_where(cell) for cell in cells])
