"""A publication beside a run, in words: what is published, what came out here, do they agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse import Answer, ratio_digits
from groundspeed.analyse.advice.wording import counted, listed
from groundspeed.analyse.beside import Order, beside
from groundspeed.report.beside_shapes import BesideRowText, BesideTableText, BesideView
from groundspeed.report.facts import label_of
from groundspeed.report.scaling import NOTHING, format_ratio, format_span, format_tps

if TYPE_CHECKING:
    from groundspeed.analyse import Findings
    from groundspeed.analyse.beside import BesideRow, BesideTable, OrderedPair
    from groundspeed.published import Span

CAVEAT = "one run a cell, on other hardware: the order can agree, the figures need not"
_PAIRS_SHOWN = 3
_ORDERS = {
    Order.SAME: "as published",
    Order.ALIKE: "published alike",
    Order.UNKNOWN: "not published",
}


def beside_view(findings: Findings) -> BesideView:
    """Word what stands beside a run; a publication without any cell of it says so."""
    if findings.publication is None:
        return BesideView()
    tables = beside(findings)
    address = f", {findings.publication.url}" if findings.publication.url else ""
    told = CAVEAT if tables else "no two of its figures are of cells that were compared here"
    clients = {row.clients for table in tables for row in table.rows}
    return BesideView(
        publication=findings.publication.name,
        source=f"{findings.publication.reference}{address}: {told}",
        baseline=label_of(findings.baseline, findings.emulated),
        rate=findings.words.rate,
        clients_vary=len(clients) > 1,
        tables=tuple(_table(table, findings) for table in tables),
    )


def order_sentence(table: BesideTable, findings: Findings) -> str:
    """Say of how many pairs of environments the order agrees, and how far the ratios are off."""
    parts = [_order(table), _off(table, label_of(table.baseline, findings.emulated))]
    if table.published_scale is not None:
        parts.append(f"published at scale {table.published_scale}, which is another data set")
    if table.unpublished:
        who = listed([label_of(name, findings.emulated) for name in table.unpublished])
        parts.append(f"not published: {who}")
    return f"{table.workload}: {'; '.join(part for part in parts if part)}."


def _order(table: BesideTable) -> str:
    if not table.pairs:
        return "no two environments are published apart"
    same, count = table.count(Order.SAME), len(table.pairs)
    head = f"{same} of {counted(count, 'pair')} of environments published apart come so here"
    if same == count:
        return f"the order agrees: {head}"
    parts = []
    if others := [pair for pair in table.pairs if pair.order is Order.OTHER]:
        parts.append(f"{len(others)} the other way round ({_named(others)})")
    for order, words in ((Order.EQUIVALENT, "equivalent here"), (Order.OPEN, "not decided here")):
        if count := table.count(order):
            parts.append(f"{count} {words}")
    verdict = "does not agree" if table.count(Order.OTHER) else "is not decided"
    if table.count(Order.EQUIVALENT) and not table.count(Order.OPEN):
        verdict = "does not agree"
    return f"the order {verdict}: {head}, {listed(parts)}"


def _named(pairs: list[OrderedPair]) -> str:
    shown = [f"here {pair.second} is ahead of {pair.first}" for pair in pairs[:_PAIRS_SHOWN]]
    more = len(pairs) - len(shown)
    return ", ".join([*shown, *([f"{more} more"] if more else [])])


def _off(table: BesideTable, baseline: str) -> str:
    off = [row.off_ratio for row in table.rows if row.off_ratio is not None]
    if not off:
        return ""
    low, high = ratio_digits(min(off)), ratio_digits(max(off))
    if len(off) == 1 or low == high:
        return f"the ratio to {baseline} is {low} times the published one"
    return f"the ratios to {baseline} are {low} to {high} times the published ones"


def _table(table: BesideTable, findings: Findings) -> BesideTableText:
    return BesideTableText(
        workload=table.workload,
        sentence=order_sentence(table, findings),
        rows=tuple(_row(row, findings) for row in table.rows),
    )


def _row(row: BesideRow, findings: Findings) -> BesideRowText:
    return BesideRowText(
        label=label_of(row.environment, findings.emulated),
        clients=row.clients,
        here=format_tps(row.per_s) if math.isfinite(row.per_s) else NOTHING,
        published=_span(row.published_per_s, is_ratio=False),
        ratio=format_ratio(row.ratio),
        interval=format_span(row.low, row.high, format_ratio),
        published_ratio=_span(row.published_ratio, is_ratio=True),
        off=NOTHING if row.off_ratio is None else format_ratio(row.off_ratio),
        answer="baseline" if row.answer is None else _answer(row.answer, row),
    )


def _answer(answer: Answer, row: BesideRow) -> str:
    """Say what came out here, and what is published where that is not the same."""
    published = _ORDERS.get(row.order)
    if published is None:
        is_faster = row.published_ratio is not None and row.published_ratio.low > 1
        published = f"published {(Answer.FASTER if is_faster else Answer.SLOWER).value}"
    return f"{answer.value}, {published}"


def _span(span: Span | None, *, is_ratio: bool) -> str:
    if span is None:
        return NOTHING
    write = format_ratio if is_ratio else format_tps
    low, high = write(span.low), write(span.high)
    return low if low == high else f"{low} to {high}"
