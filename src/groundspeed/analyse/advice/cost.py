"""What an environment costs or gains against the baseline, and what each further replica adds."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.advice.rivals import By, pairs_of
from groundspeed.analyse.advice.shapes import Advised, Topic
from groundspeed.analyse.advice.wording import (
    Names,
    bottlenecks,
    counted,
    listed,
    ms,
    ms_span,
    span,
)
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.diagnosis import CellKey
from groundspeed.analyse.digits import ratio_digits
from groundspeed.analyse.findings import Answer
from groundspeed.stats.paired_difference import (
    DifferenceInterval,
    always_valid_difference,
    paired_difference,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.analyse.advice.rivals import Cell
    from groundspeed.analyse.findings import Comparison, Findings
    from groundspeed.stats.sequential import Rule

# A sentence of more numbers is not read; the table has them all.
_MOST_CELLS = 5
_REPLICAS = re.compile(r"^(?P<stem>.*?)[-_ ]?(?P<count>[1-9])r(?:eplicas?)?$", re.IGNORECASE)
_LEAST_FAMILY = 2


def costs(findings: Findings, kinds: dict[str, str]) -> Iterator[Advised]:
    """Give a sentence for each workload and environment that was compared with the baseline.

    `kinds` names what each workload does: "reads", "writes", "reads and writes".
    """
    groups: dict[tuple[str, str], list[Comparison]] = {}
    for comparison in findings.comparisons:
        key = (comparison.workload, comparison.environment)
        groups.setdefault(key, []).append(comparison)
    names = Names(findings)
    for (workload, environment), group in groups.items():
        head = f"{kinds[workload].capitalize()} ({workload}): "
        known = [c for c in group if c.answer is not Answer.UNDECIDED]
        if not known:
            yield from _nothing_decided(head, group, names)
            continue
        parts = [_ratios(known, names)]
        if held := bottlenecks([d for d in findings.diagnoses if _is_of(d, known, environment)]):
            parts.append(f"held back there: {held}")
        if longer := _longer(findings, known, names):
            parts.append(longer)
        if still := _open(group, names):
            parts.append(still)
        sentence = f"{head}{names.label(environment)} has {'; '.join(parts)}."
        yield Advised(topic=Topic.COST, sentence=sentence, cells=_keys(known))


def _nothing_decided(head: str, group: Sequence[Comparison], names: Names) -> Iterator[Advised]:
    """Say what is known all the same: between which ratios it lies where there are intervals."""
    bounded = [c for c in group if c.tps_low is not None and c.tps_high is not None]
    if not bounded:
        return
    who = f"{names.label(group[0].environment)} costs or gains"
    yield Advised(
        topic=Topic.COST,
        sentence=f"{head}not decided what {who}; it has {_ratios(bounded, names)}.",
        cells=_keys(bounded),
    )


def _is_of(thing: object, cells: Sequence[Comparison], environment: str) -> bool:
    of = CellKey(
        environment=getattr(thing, "environment", ""),
        workload=getattr(thing, "workload", ""),
        clients=getattr(thing, "clients", 0),
        threads=getattr(thing, "threads", 0),
        scale=getattr(thing, "scale", 0),
    )
    return of.environment == environment and of in _keys(cells)


def _keys(cells: Sequence[Comparison]) -> tuple[CellKey, ...]:
    return tuple(
        CellKey(
            environment=c.environment,
            workload=c.workload,
            clients=c.clients,
            threads=c.threads,
            scale=c.scale,
        )
        for c in cells
    )


def _shown(cells: Sequence[Comparison]) -> list[Comparison]:
    """Take all cells, or of many the first, the last and the extremes."""
    if len(cells) <= _MOST_CELLS:
        return list(cells)
    by_ratio = sorted(cells, key=lambda c: c.tps_ratio)
    wanted = (cells[0], cells[-1], by_ratio[0], by_ratio[-1])
    return [c for c in cells if c in wanted]


def _ratios(cells: Sequence[Comparison], names: Names) -> str:
    baseline = names.label(cells[0].baseline)
    texts: list[str] = []
    for c in _shown(cells):
        of = "" if texts else f" the {names.words.rate} of {baseline}"
        alike = ", equivalent" if c.answer is Answer.EQUIVALENT else ""
        sure = f"{span(c.tps_low, c.tps_high)}, {counted(c.pair_count, 'pair')}{alike}"
        texts.append(f"{ratio_digits(c.tps_ratio)}x{of} at {names.where(c)} ({sure})")
    more = "" if len(texts) == len(cells) else f" (of {len(cells)} cells)"
    return listed(texts) + more


def _open(group: Sequence[Comparison], names: Names) -> str:
    cells = [c for c in group if c.answer is Answer.UNDECIDED]
    where = (
        f"in {len(cells)} cells"
        if len(cells) > _MOST_CELLS
        else f"at {listed([names.where(c) for c in cells])}"
    )
    return f"not decided {where}" if cells else ""


def _is_paced(findings: Findings) -> bool:
    """Tell whether throughput was asked for: then clients over TPS is no latency."""
    return any(caution.code == "paced" for caution in findings.cautions)


def _longer(findings: Findings, cells: Sequence[Comparison], names: Names) -> str:
    """Say how much longer a transaction takes, by Little's law for a closed loop."""
    if _is_paced(findings):
        return ""
    added = added_latency(findings, cells[0].environment, cells[0].baseline, cells[0].workload)
    texts: list[str] = []
    shown = _shown(cells)
    for c in (shown[0], shown[-1]) if len(shown) > 1 else shown:
        found = next((d for cell, d in added.items() if _same(cell, c)), None)
        if found is not None and _is_known(found):
            what = "longer" if found.difference > 0 else "shorter"
            sure = ms_span(found.low, found.high)
            texts.append(f"{ms(found.difference)} {what} at {names.where(c)} ({sure})")
    return f"a {names.words.one} is on average {listed(texts)}" if texts else ""


def _is_known(found: DifferenceInterval) -> bool:
    """Tell whether a difference is one: its interval leaves out zero, or it has none."""
    return found.low is None or found.high is None or found.low * found.high > 0


def _same(cell: Cell, c: Comparison) -> bool:
    return cell == (c.workload, c.clients, c.threads, c.scale)


def added_latency(
    findings: Findings, environment: str, other: str, workload: str
) -> dict[Cell, DifferenceInterval]:
    """Estimate by how much longer a mean transaction takes than elsewhere, in each shared cell.

    Seconds, from pairs inside blocks; the mean of a trial is clients over TPS, which holds exactly
    where clients wait for their answers (Little 1961).
    """
    pairs = pairs_of(findings, environment, other, {workload}, By.THROUGHPUT)
    return {
        cell: _difference(
            [(cell.clients / ours, cell.clients / theirs) for ours, theirs in values], findings.rule
        )
        for cell, values in sorted(pairs.items(), key=lambda item: item[0])
    }


def _difference(pairs: Sequence[tuple[float, float]], rule: Rule | None) -> DifferenceInterval:
    """Take the interval at 95%; of a run that stopped by its results, one that allows for that."""
    if rule is None:
        return paired_difference(pairs, CONFIDENCE_RATIO)
    return always_valid_difference(pairs, rule, 1 - CONFIDENCE_RATIO)


class _Copies(NamedTuple):
    environment: str
    copy_count: int


def replicas(findings: Findings, kinds: dict[str, str]) -> Iterator[Advised]:
    """Say what each further replica adds, for environments that differ in their number.

    They are known by their names or those of their storage: longhorn-1r, longhorn-2r.
    """
    if _is_paced(findings):
        return
    names = Names(findings)
    for stem, family in _families(findings).items():
        ordered = sorted(family, key=lambda copies: copies.copy_count)
        for fewer, more in pairwise(ordered):
            for workload, kind in kinds.items():
                yield from _replica(findings, (stem, workload, kind), fewer, more, names)


def _families(findings: Findings) -> dict[str, list[_Copies]]:
    families: dict[str, list[_Copies]] = {}
    for facts in findings.environments:
        label = "" if facts.storage is None else facts.storage.label
        match = _REPLICAS.match(facts.environment) or _REPLICAS.match(label)
        if match is not None:
            copies = _Copies(facts.environment, int(match["count"]))
            families.setdefault(match["stem"], []).append(copies)
    return {
        stem: f for stem, f in families.items() if len({c.copy_count for c in f}) >= _LEAST_FAMILY
    }


def _replica(
    findings: Findings, what: tuple[str, str, str], fewer: _Copies, more: _Copies, names: Names
) -> Iterator[Advised]:
    stem, workload, kind = what
    steps = more.copy_count - fewer.copy_count
    added = added_latency(findings, more.environment, fewer.environment, workload)
    if not added or not steps:
        return
    by_clients = sorted(added, key=lambda cell: cell.clients)
    # The fewest, the middle and the most clients.
    shown = dict.fromkeys((by_clients[0], by_clients[len(by_clients) // 2], by_clients[-1]))
    texts = []
    for cell in shown:
        one = added[cell]
        low, high = (None if end is None else end / steps for end in (one.low, one.high))
        clients = "1 client" if cell.clients == 1 else f"{cell.clients} clients"
        sure = f"({_signed(low, high)}, {counted(one.n, 'pair')})"
        sign = "" if one.difference >= 0 else "-"
        texts.append(
            f"{sign}{ms(one.difference / steps)} at {clients} {sure}"
            if _is_known(one)
            else f"nothing certain at {clients} {sure}"
        )
    yield Advised(
        topic=Topic.REPLICAS,
        sentence=f"{stem}, {kind} ({workload}): each replica from {fewer.copy_count} to"
        f" {more.copy_count} adds on average {listed(texts)} to a {names.words.one}"
        f" ({names.label(fewer.environment)} to {names.label(more.environment)}).",
        cells=tuple(CellKey(environment=more.environment, **cell._asdict()) for cell in shown),
    )


def _signed(low_s: float | None, high_s: float | None) -> str:
    if low_s is None or high_s is None:
        return f"no {CONFIDENCE_RATIO:.0%} interval"
    ends = (f"{'-' if end < 0 else ''}{ms(end)}" for end in (low_s, high_s))
    return f"{CONFIDENCE_RATIO:.0%} {' to '.join(ends)}"
