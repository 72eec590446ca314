"""What it costs to keep what was acknowledged: against the environment that promises least.

Promises are those of the server's documentation; what is really lost is measured apart from this.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.advice.rivals import By, Cell, duel
from groundspeed.analyse.advice.shapes import Advised, Topic
from groundspeed.analyse.advice.wording import Names, listed, span
from groundspeed.analyse.diagnosis import CellKey
from groundspeed.analyse.digits import ratio_digits
from groundspeed.analyse.findings import Answer
from groundspeed.analyse.losses import Kept

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from groundspeed.analyse.advice.rivals import Duel
    from groundspeed.analyse.findings import Findings
    from groundspeed.analyse.losses import LossRow
    from groundspeed.record.losses import Promise

_READS = "reads"
_MOST_CELLS = 3
_WORST_FIRST = (Answer.SLOWER, Answer.UNDECIDED, Answer.EQUIVALENT, Answer.FASTER)


class Ratio(NamedTuple):
    """A ratio with the ends of its interval, None where there is none."""

    ratio: float
    low: float | None
    high: float | None


def promises_of(findings: Findings) -> dict[str, Promise]:
    """Give the promise of each measured environment; nothing where all promise alike."""
    measured = {cell.environment for cell in findings.cells}
    known = {name: told for name, told in findings.keeping.promises if name in measured}
    return (
        known
        if any(told != promise for told in known.values() for promise in known.values())
        else {}
    )


def seconds_lost(promise: Promise) -> float:
    """Give what may be lost at most, however it ends; infinite without a bound."""
    ends = (promise.killed_s, promise.power_cut_s)
    return max(math.inf if end is None else end for end in ends)


def tries_of(findings: Findings, environment: str) -> tuple[LossRow, ...]:
    """Give what was lost when an environment was tried: under the same promise, on its storage."""
    promise = dict(findings.keeping.promises).get(environment)
    label = _labels(findings).get(environment)
    return tuple(
        row
        for row in findings.losses
        if row.environment == environment
        and row.promise == promise
        and row.try_count
        and (row.storage is None or label in {None, row.storage.label})
    )


def is_broken(findings: Findings, environment: str) -> bool:
    """Tell whether an environment lost more than it promises when it was tried."""
    return any(row.kept is Kept.BROKEN for row in tries_of(findings, environment))


def durability(findings: Findings, kinds: Mapping[str, str]) -> Iterator[Advised]:
    """Say what each promise costs in writes, and whether reads suffer.

    `kinds` names what each workload does. Nothing is said where no two promises differ.
    """
    promises = promises_of(findings)
    if not promises:
        return
    least = _least(findings, promises)
    writing = [name for name, kind in kinds.items() if kind != _READS]
    reading = [name for name, kind in kinds.items() if kind == _READS]
    others = [name for name in promises if promises[name] != promises[least]]
    groups: dict[Promise, list[str]] = {}
    for name in others:
        groups.setdefault(promises[name], []).append(name)
    for environments in groups.values():
        yield from _cost(findings, environments, least, writing, promises)
    yield from _reads(findings, others, least, reading)


def _least(findings: Findings, promises: Mapping[str, Promise]) -> str:
    """Find who promises least; of several the baseline, else the first."""
    most_s = max(seconds_lost(promise) for promise in promises.values())
    least = [name for name, promise in promises.items() if seconds_lost(promise) == most_s]
    # To lose all when the process dies is less than to lose it with the machine.
    killed = [name for name in least if promises[name].killed_s is None] or least
    return findings.baseline if findings.baseline in killed else killed[0]


def _cost(
    findings: Findings,
    environments: Sequence[str],
    least: str,
    workloads: Sequence[str],
    promises: Mapping[str, Promise],
) -> Iterator[Advised]:
    """Word what it costs to promise as much as these do, which promise the same."""
    names = Names(findings)
    texts: list[str] = []
    cells: list[CellKey] = []
    for environment in environments:
        throughput = duel(findings, environment, least, workloads, By.THROUGHPUT)
        p99 = p99_ratios(findings, environment, least, workloads)
        shown = _shown(throughput)
        of = "" if texts else f" the {names.words.rate}"
        ratios = [
            _ratio(throughput, cell, p99.get(cell), of if not n else "")
            for n, cell in enumerate(shown)
        ]
        if shown:
            storage = _storage(findings, environment, least)
            texts.append(f"{names.label(environment)}{storage} {listed(ratios)}")
            cells += [CellKey(environment=environment, **cell._asdict()) for cell in shown]
    if texts:
        yield Advised(
            topic=Topic.DURABILITY,
            sentence=f"Durability, {promises[environments[0]].words}, against {names.label(least)},"
            f" {promises[least].words}: {'; '.join(texts)}.",
            cells=tuple(cells),
        )


def _ratio(found: Duel, cell: Cell, late: Ratio | None, of: str) -> str:
    ratio = Ratio(*found.ratios[cell])
    sure = f"{span(ratio.low, ratio.high)}{_answer(found, cell)}"
    if late is not None:
        sure += f"; p99 {_times(late)}, {span(late.low, late.high)}"
    return f"{_times(ratio)}{of} at {cell.workload}, {_clients(cell)} ({sure})"


def p99_ratios(
    findings: Findings, environment: str, other: str, workloads: Sequence[str]
) -> dict[Cell, Ratio]:
    """Give p99 of an environment over that of another, above 1 where it is longer."""
    if other == findings.baseline:
        # The numbers of the report, not others beside them.
        return {
            Cell(c.workload, c.clients, c.threads, c.scale): Ratio(
                c.p99_ratio, c.p99_low, c.p99_high
            )
            for c in findings.comparisons
            if c.environment == environment
            and c.workload in workloads
            and math.isfinite(c.p99_ratio)
        }
    better = duel(findings, environment, other, workloads, By.P99).ratios
    return {
        cell: Ratio(1 / ratio, None if high is None else 1 / high, None if low is None else 1 / low)
        for cell, (ratio, low, high) in better.items()
    }


def _reads(
    findings: Findings, environments: Sequence[str], least: str, workloads: Sequence[str]
) -> Iterator[Advised]:
    """Say whether what does not write is slower where more is kept."""
    names = Names(findings)
    found: dict[Answer, list[tuple[CellKey, Ratio]]] = {}
    for environment in environments:
        pairs = duel(findings, environment, least, workloads, By.THROUGHPUT)
        for cell in sorted(pairs.ratios):
            key = CellKey(environment=environment, **cell._asdict())
            found.setdefault(_answer_of(pairs, cell), []).append((key, Ratio(*pairs.ratios[cell])))
    count = sum(len(group) for group in found.values())
    if not count:
        return
    parts = [
        _group(answer, found[answer], count, names) for answer in _WORST_FIRST if answer in found
    ]
    yield Advised(
        topic=Topic.DURABILITY,
        sentence=f"{_suffer(found)} ({', '.join(workloads)}), against {names.label(least)}:"
        f" {'; '.join(parts)}.",
        cells=tuple(key for group in found.values() for key, _ in group),
    )


def _group(answer: Answer, group: Sequence[tuple[CellKey, Ratio]], count: int, names: Names) -> str:
    """Word the cells of one answer: each with its interval, or of many what they lie between."""
    head = f"{answer.value} in {len(group)} of {count} cells"
    if answer is Answer.EQUIVALENT or len(group) > _MOST_CELLS:
        ratios = sorted(ratio.ratio for _, ratio in group)
        ends = dict.fromkeys(f"{ratio_digits(end)}x" for end in (ratios[0], ratios[-1]))
        return f"{head}, {' to '.join(ends)}"
    texts = [
        f"{names.label(key.environment)} {_times(ratio)} at {key.workload},"
        f" {_clients(key)} ({span(ratio.low, ratio.high)})"
        for key, ratio in group
    ]
    return f"{head}: {listed(texts)}"


def _suffer(found: Mapping[Answer, object]) -> str:
    if Answer.SLOWER in found:
        return "Reads suffer where more is kept"
    if Answer.UNDECIDED in found:
        return "Whether reads suffer where more is kept is not decided everywhere"
    return "Reads do not suffer where more is kept"


def _shown(found: Duel) -> list[Cell]:
    """Take all cells, or of many the first, the middle and the last."""
    cells = sorted(found.ratios)
    if len(cells) <= _MOST_CELLS:
        return cells
    return [cells[0], cells[len(cells) // 2], cells[-1]]


def _answer_of(found: Duel, cell: Cell) -> Answer:
    kinds = (
        (found.won, Answer.FASTER),
        (found.lost, Answer.SLOWER),
        (found.alike, Answer.EQUIVALENT),
    )
    return next((answer for group, answer in kinds if cell in group), Answer.UNDECIDED)


def _answer(found: Duel, cell: Cell) -> str:
    answer = _answer_of(found, cell)
    # Faster and slower stand in the ratio already.
    told = answer in {Answer.EQUIVALENT, Answer.UNDECIDED}
    return f", {answer.value}" if told else ""


def _labels(findings: Findings) -> dict[str, str]:
    return {
        facts.environment: facts.storage.label
        for facts in findings.environments
        if facts.storage is not None
    }


def _storage(findings: Findings, environment: str, least: str) -> str:
    """Name the storage where it is another one too: then not all of it is the cost of keeping."""
    labels = _labels(findings)
    ours, theirs = labels.get(environment), labels.get(least)
    if ours is None or theirs is None or ours == theirs:
        return ""
    return f", on {ours} and not on {theirs},"


def _times(ratio: Ratio) -> str:
    return f"{ratio_digits(ratio.ratio)}x"


def _clients(cell: Cell | CellKey) -> str:
    return "1 client" if cell.clients == 1 else f"{cell.clients} clients"
