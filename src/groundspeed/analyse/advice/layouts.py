"""Which environment for data of which worth: the fastest of those that promise enough.

Three uses: a cache, which may lose all; a session store, which may lose a second; a system of
record, which may lose nothing that it acknowledged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.advice.durability import is_broken, promises_of, seconds_lost, tries_of
from groundspeed.analyse.advice.rivals import By, duel
from groundspeed.analyse.advice.selection import rank, unbeaten
from groundspeed.analyse.advice.shapes import Choice, Purpose
from groundspeed.analyse.advice.wording import Names, counted, listed, span
from groundspeed.analyse.digits import digits, ratio_digits
from groundspeed.record.losses import Ending

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from groundspeed.analyse.advice.rivals import Duel
    from groundspeed.analyse.findings import Findings
    from groundspeed.record.losses import Promise

_LEAST_RIVALS = 2
# So many names in a row are not read.
_MANY = 3
_ENDINGS = {Ending.KILLED: "kill", Ending.POWER_CUT: "emulated power cut"}


class _Use(NamedTuple):
    purpose: Purpose
    most_lost_s: float
    may_lose: str


_USES = (
    _Use(Purpose.CACHE, math.inf, "all may be lost"),
    _Use(Purpose.SESSIONS, 1.0, "1 s may be lost"),
    _Use(Purpose.RECORD, 0.0, "nothing acknowledged may be lost"),
)


class _Case(NamedTuple):
    """What is chosen by, the same for all uses."""

    findings: Findings
    workloads: tuple[str, ...]
    promises: Mapping[str, Promise]
    names: Names

    def row(self, use: _Use, best: str | None, runner_up: str | None, reason: str) -> Choice:
        return Choice(
            purpose=use.purpose,
            by=f"throughput where {use.may_lose}",
            workloads=self.workloads,
            best=best,
            runner_up=runner_up,
            reason=reason,
        )

    def duel(self, first: str, second: str) -> Duel:
        return duel(self.findings, first, second, self.workloads, By.THROUGHPUT)


def layouts(findings: Findings, workloads: tuple[str, ...]) -> Iterator[Choice]:
    """Give a row for each use; none where no two environments differ in what they promise."""
    promises = promises_of(findings)
    if not promises:
        return
    case = _Case(findings, workloads, promises, Names(findings))
    for use in _USES:
        promising = [n for n, told in promises.items() if seconds_lost(told) <= use.most_lost_s]
        # Who may lose all cannot lose too much.
        broken = [n for n in promising if use.most_lost_s < math.inf and is_broken(findings, n)]
        able = [name for name in promising if name not in broken]
        if len(able) >= _LEAST_RIVALS:
            row = _fastest(case, use, able)
        elif able:
            row = _only(case, use, able[0])
        else:
            row = _none(case, use, broken)
        yield _without(row, broken, case.names)


def _without(row: Choice, broken: Sequence[str], names: Names) -> Choice:
    """Name who was left out although it promises enough."""
    if not broken:
        return row
    who = listed([names.label(name) for name in broken])
    return msgspec.structs.replace(
        row, reason=f"{row.reason}; left out: {who}, which broke its promise when it was tried"
    )


def _fastest(case: _Case, use: _Use, able: Sequence[str]) -> Choice:
    duels = {(a, b): case.duel(a, b) for a in able for b in able if a != b}
    found = rank(able, duels, case.names)
    reason = found.reason
    ahead = [found.best] if found.best is not None else unbeaten(able, duels)
    behind = [name for name in able if name not in ahead]
    if found.best is None and behind and all(duels[a, b].is_won for a in ahead for b in behind):
        reason += f"; each is ahead of {listed([case.names.label(name) for name in behind])}"
    return case.row(
        use, found.best, found.runner_up, f"{reason}; promised: {_promised(case, ahead)}"
    )


def _promised(case: _Case, shown: Sequence[str]) -> str:
    """Say what environments promise; those that promise the same together."""
    groups: dict[str, list[str]] = {}
    for name in shown:
        groups.setdefault(case.promises[name].words, []).append(case.names.label(name))
    texts = {
        words: f"{listed(who) if len(who) < _MANY else f'{len(who)} of them'}: {words}"
        for words, who in groups.items()
    }
    return "; ".join(
        words if len(groups) == 1 else text for words, text in texts.items()
    ) + "".join(_tried(case, name) for name in shown)


def _tried(case: _Case, name: str) -> str:
    """Say what was really lost, each way it was ended; nothing where nobody tried."""
    texts = []
    for row in tries_of(case.findings, name):
        lost = f"{row.missing_count:,} of {row.acknowledged_count:,}"
        gone = f", {row.lost_all_count} did not come back" if row.lost_all_count else ""
        oldest = row.oldest_missing_s
        ago = f", the oldest {digits(oldest)} s old" if row.missing_count and oldest else ""
        texts.append(f"{lost} in {counted(row.try_count, _ENDINGS[row.ending])}{ago}{gone}")
    return f"; {case.names.label(name)} was tried and lost {listed(texts)}" if texts else ""


def _only(case: _Case, use: _Use, name: str) -> Choice:
    """Take the only one that promises enough, and say what it costs against the baseline."""
    cost, other = "", case.findings.baseline
    ratios = case.duel(name, other).ratios if other != name else {}
    if ratios:
        cell = min(ratios, key=lambda place: ratios[place][0])
        ratio, low, high = ratios[cell]
        clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
        cost = (
            f"; at worst {ratio_digits(ratio)}x the {case.names.words.rate} of"
            f" {case.names.label(other)}, at {cell.workload}, {clients} ({span(low, high)})"
        )
    words = case.promises[name].words
    reason = f"the only one here that promises enough: {words}{_tried(case, name)}{cost}"
    return msgspec.structs.replace(case.row(use, name, None, reason), is_alone=True)


def _none(case: _Case, use: _Use, broken: Sequence[str]) -> Choice:
    """Say that none promises enough, who comes nearest, and what a suite has to add."""
    promises = {name: told for name, told in case.promises.items() if name not in broken}
    if not promises:
        return case.row(use, None, None, "no environment here keeps that")
    nearest = min(promises, key=lambda name: seconds_lost(promises[name]))
    near = ""
    if math.isfinite(seconds_lost(promises[nearest])):
        near = f"; nearest is {case.names.label(nearest)} ({promises[nearest].words})"
    way = next((how for s, how in case.findings.keeping.ways if s <= use.most_lost_s), "")
    add = f"; add an environment with {way}" if way else ""
    return case.row(use, None, None, f"no environment here promises that{near}{add}")
