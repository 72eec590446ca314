"""One sentence for a workload: which environment is faster, by how much and how sure.

Every number in it is that of one cell. Unlike cells are never averaged: "1.4x overall" is a
number that no user of the database would ever see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.digits import digits, ratio_digits
from groundspeed.analyse.findings import Answer, Verdict
from groundspeed.plan import TRANSACTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.findings import CellSummary, Comparison
    from groundspeed.plan import Words

# More cells than this make a sentence that nobody reads to its end; the table has them all.
_CELLS_SHOWN = 3


def verdict(  # noqa: PLR0913 - each is one thing that is known of a workload
    workload: str,
    *,
    baseline: str,
    cells: Sequence[CellSummary],
    comparisons: Sequence[Comparison],
    label: Callable[[str], str] = str,
    words: Words = TRANSACTIONS,
) -> Verdict:
    """Word the verdict on a workload from its own cells and comparisons.

    `label` names an environment for people: whether it is emulated belongs to every sentence.
    `words` says what is counted.
    """
    text = (
        "; ".join(_clauses(comparisons, label, words))
        if comparisons
        else _alone(baseline, cells, label, words)
    )
    decided = any(c.answer is not Answer.UNDECIDED for c in comparisons)
    return Verdict(workload=workload, sentence=f"{workload}: {text}.", decided=decided)


def _clauses(
    comparisons: Sequence[Comparison], label: Callable[[str], str], words: Words
) -> list[str]:
    """Word each environment, best first; those of which nothing is decided share a clause."""
    groups: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        groups.setdefault(comparison.environment, []).append(comparison)
    where = _where(comparisons)
    clauses: list[str] = []
    alike: dict[str, list[str]] = {}
    for group in sorted(groups.values(), key=_rank):
        if all(c.answer is Answer.UNDECIDED for c in group):
            alike.setdefault(_open(group, where), []).append(label(group[0].environment))
        else:
            clauses.append(_clause(group, where, label, words))
    for text, names in alike.items():
        who = f"{_list(names, 'or')} is faster or slower than {label(comparisons[0].baseline)}"
        clauses.append(f"not decided whether {who} {text}")
    return clauses


def _rank(group: Sequence[Comparison]) -> tuple[int, float]:
    """Order environments, best first: by cells won, then by their best decided ratio."""
    won = sum(c.answer is Answer.FASTER for c in group)
    lost = sum(c.answer is Answer.SLOWER for c in group)
    best = max((c.tps_ratio for c in group if c.answer is not Answer.UNDECIDED), default=0.0)
    return lost - won, -best


def _clients(clients: int) -> str:
    return "1 client" if clients == 1 else f"{clients} clients"


def _where(
    cells: Sequence[Comparison] | Sequence[CellSummary],
) -> Callable[[Comparison | CellSummary], str]:
    """Make a namer of cells that mentions only the factors that vary."""
    threads_vary = len({c.threads for c in cells}) > 1
    scale_varies = len({c.scale for c in cells}) > 1

    def name(cell: Comparison | CellSummary) -> str:
        text = _clients(cell.clients)
        if threads_vary:
            text += f" on {cell.threads} thread{'' if cell.threads == 1 else 's'}"
        return text + (f" at scale {cell.scale}" if scale_varies else "")

    return name


def _list(parts: Sequence[str], word: str = "and") -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def _clause(
    group: Sequence[Comparison],
    where: Callable[[Comparison], str],
    label: Callable[[str], str],
    words: Words,
) -> str:
    """Word an environment of which something is decided: what it wins and loses, what is open."""
    environment, baseline = label(group[0].environment), label(group[0].baseline)
    parts: list[str] = []
    for answer in (Answer.FASTER, Answer.SLOWER, Answer.EQUIVALENT):
        cells = [c for c in group if c.answer is answer]
        if cells and parts:
            parts.append(f"{_how(cells[0])}, {_ratios(cells, where)}")
        elif cells:
            numbers = _ratios(cells, where, rate=words.rate)
            parts.append(f"{environment} is {_how(cells[0], baseline)}, {numbers}")
    open_ = [c for c in group if c.answer is Answer.UNDECIDED]
    if open_:
        parts.append(f"not decided {_open(open_, where)}")
    return ", but ".join(parts[:2]) + "".join(f", and {part}" for part in parts[2:])


def _how(comparison: Comparison, baseline: str = "") -> str:
    answer = comparison.answer
    if answer is Answer.EQUIVALENT:
        to = f" to {baseline}" if baseline else ""
        return f"{answer.value}{to} within {100 * comparison.margin_ratio:g}%"
    return f"{answer.value} than {baseline}" if baseline else answer.value


def _ratios(
    cells: Sequence[Comparison], where: Callable[[Comparison], str], *, rate: str = ""
) -> str:
    """Give the ratios of cells; with `rate` the first says of what it is, and how sure."""
    shown, more = list(cells), ""
    if len(cells) > _CELLS_SHOWN:
        # The extremes, not a mean: they bound what a reader will meet.
        least = min(cells, key=lambda c: c.tps_ratio)
        most = max(cells, key=lambda c: c.tps_ratio)
        shown, more = [least, most], f" (least and most of {len(cells)} cells)"
    texts: list[str] = []
    for comparison in shown:
        first = bool(rate) and not texts
        sure = f"{CONFIDENCE_RATIO:.0%} " if first else ""
        span = _span(comparison.tps_low, comparison.tps_high, ratio_digits)
        texts.append(
            f"{ratio_digits(comparison.tps_ratio)}x{f' its {rate}' if first else ''} "
            f"at {where(comparison)} ({sure}{span})"
        )
    return _list(texts) + more


def _span(low: float | None, high: float | None, write: Callable[[float], str]) -> str:
    return "no interval" if low is None or high is None else f"{write(low)} to {write(high)}"


def _open(cells: Sequence[Comparison], where: Callable[[Comparison], str]) -> str:
    reasons: dict[str, list[Comparison]] = {}
    for cell in cells:
        reasons.setdefault(cell.why, []).append(cell)
    return _list(
        [f"{_places(group, where)} ({why}{_more(group)})" for why, group in reasons.items()]
    )


def _more(group: Sequence[Comparison]) -> str:
    """Say how many more pairs would tell; too few for any interval is said by the reason itself."""
    counts = [c.more_pairs_count for c in group if c.tps_low is not None]
    known = [count for count in counts if count is not None]
    if not known or len(known) < len(group):
        return ""
    least, most = min(known), max(known)
    pairs = f"{most} more pair{'' if most == 1 else 's'}"
    return f"; about {pairs if least == most else f'{least} to {pairs}'} would tell"


def _places(cells: Sequence[Comparison], where: Callable[[Comparison], str]) -> str:
    if len(cells) > _CELLS_SHOWN:
        return f"in {len(cells)} cells"
    names = [where(cell) for cell in cells]
    if len(cells) > 1 and names == [_clients(cell.clients) for cell in cells]:
        # "at 1 and 8 clients", not "at 1 client and 8 clients".
        return f"at {_list([str(cell.clients) for cell in cells])} clients"
    return f"at {_list(names)}"


def _alone(
    baseline: str, cells: Sequence[CellSummary], label: Callable[[str], str], words: Words
) -> str:
    """Word what can be said where there is nothing to compare."""
    known = [c for c in cells if c.tps_per_s.n]
    if not known:
        return "nothing was measured"
    names = list(dict.fromkeys(c.environment for c in known))
    if names != [baseline]:
        measured, against = _list([label(name) for name in names]), label(baseline)
        return f"nothing to compare: {measured} measured, not in the same cells as {against}"
    best = max(known, key=lambda c: c.tps_per_s.median)
    tps = best.tps_per_s
    sure = (
        f"n={tps.n}, no {CONFIDENCE_RATIO:.0%} interval, {TRIALS_NEEDED} needed"
        if tps.low is None
        else f"{CONFIDENCE_RATIO:.0%} {_span(tps.low, tps.high, digits)}"
    )
    among = f", the most of {len(known)} cells" if len(known) > 1 else ""
    return (
        f"{label(baseline)} reaches {digits(tps.median)} {words.rate} at {_where(known)(best)}"
        f" ({sure}){among}; nothing to compare it with"
    )
