"""Clients against throughput times latency, in every cell that prints both.

Little's law (J. D. C. Little, 1961): on average, rate x mean time inside = number inside. In a
closed loop that number is at most the clients; what is missing from it were clients that did not
wait for an answer. So more than the clients is a contradiction, and less needs a reason: think
time, a rate, a new connection each time, or the load tool's own work.
"""

from __future__ import annotations

import re
from decimal import Decimal

import msgspec

from groundspeed.audit.cube import Cube, Datum
from groundspeed.audit.figures import Span, show
from groundspeed.audit.quantities import Kind
from groundspeed.audit.remark import Check, Remark, Severity

# Beyond what rounding explains. Tools take connecting and their own work into one figure and not
# into the other; with pgbench that stays below 5% except with many clients to a thread.
_SLACK = Decimal("0.05")
_FAR = Decimal("0.15")
_SAME_FACTOR = Decimal("0.15")
_LEAST_FOR_PATTERN = 3
_IDLE = (
    r"think[- ]?time|think(?:s|ing)? for|\\sleep|\bsleep\b|rate[- ]limit|--rate\b|"
    "target rate|open[- ]loop"
    "|pacing|keying|fixed rate|arrival rate|pgbouncer|pooler|(?:through|behind|"
    r"with|via) an? (?:connection )?pool|pgbench[^|;]* -R\b"
    r"|new connection (?:for|per)|reconnect|pgbench[^|;]* -C\b|wait(?:s|ed|ing)? .{0,30}between"
)
_PIPELINE = r"pipelin|redis-benchmark[^|;]* -P \d|async(?:hronous)? (?:client|driver|quer)"


class _Pair(msgspec.Struct, frozen=True, kw_only=True):
    rate: Datum
    time: Datum
    clients: Decimal

    @property
    def busy(self) -> Span:
        """Clients inside, as far as the printed digits tell."""
        return self.rate.figure.span.times(self.time.figure.span)

    @property
    def centre(self) -> Decimal:
        return self.rate.figure.value * self.time.figure.value

    @property
    def miss(self) -> Decimal:
        """How far off beyond rounding, as a share of the clients; above 0 is too many."""
        low, high = self.busy.low / self.clients, self.busy.high / self.clients
        return low - 1 if low > 1 else min(high - 1, Decimal(0))

    @property
    def sum(self) -> str:
        seconds = self.time.figure.value
        return (
            f"{self.rate.printed} x {self.time.printed} = {show(self.rate.figure.value)}/s x "
            f"{show(seconds)} s = {show(self.centre)} at once; there are "
            f"{show(self.clients)} clients"
        )


def check(cube: Cube) -> list[Remark]:
    """Compare every pair of throughput and mean latency with its clients."""
    groups: dict[tuple[int, int], list[_Pair]] = {}
    for pair in _pairs(cube):
        groups.setdefault((pair.rate.table, pair.time.table), []).append(pair)
    made: list[Remark] = []
    for pairs in groups.values():
        pattern = _same_factor(pairs)
        made += [pattern] if pattern is not None else _rows(cube, pairs)
    return made


def _pairs(cube: Cube) -> list[_Pair]:
    rates = [d for d in cube.data if d.measure.kind is Kind.THROUGHPUT and d.measure.unit != "iops"]
    times = [
        d
        for d in cube.data
        if d.measure.kind is Kind.LATENCY and d.measure.qualifier in {"", "mean"}
    ]
    if any(d.measure.unit == "tps" for d in rates):
        # A transaction has many queries; its latency goes with transactions.
        rates = [d for d in rates if d.measure.unit != "qps"]
    told = _told_clients(cube)
    pairs = []
    for rate in rates:
        partner = _partner(rate, rates, times)
        clients = rate.clients if rate.clients is not None else told
        if partner is not None and clients is not None and clients > 0:
            pairs.append(_Pair(rate=rate, time=partner, clients=clients))
    return pairs


def _partner(rate: Datum, rates: list[Datum], times: list[Datum]) -> Datum | None:
    """Find the latency of the same cell; none where two could be it."""

    def same(other: Datum) -> bool:
        return other.names == rate.names and other.clients == rate.clients

    near = [t for t in times if same(t) and (t.table, t.row) == (rate.table, rate.row)]
    if not near and len([r for r in rates if same(r)]) == 1:
        near = [t for t in times if same(t)]
    if not near and len({r.column for r in rates if r.table == rate.table}) == 1:
        # A table with one of each: whatever their headers are called.
        row = [t for t in times if (t.table, t.row) == (rate.table, rate.row)]
        near = row if len(row) == 1 else []
    means = [t for t in near if t.measure.qualifier == "mean"]
    near = means or near
    return near[0] if len(near) == 1 else None


def _told_clients(cube: Cube) -> Decimal | None:
    """Take the clients of the load tool's command line, where there is one number in the text."""
    rule = r"(?:pgbench|redis-benchmark)\b[^|;]*?\s-c\s?(\d+)\b"
    found = {m[1] for _, text in cube.document.verbatim for m in re.finditer(rule, text)}
    return Decimal(found.pop()) if len(found) == 1 else None


def _same_factor(pairs: list[_Pair]) -> Remark | None:
    """Say once what holds in every row: another unit, or several operations to a request."""
    factors = sorted(pair.centre / pair.clients for pair in pairs)
    middle = factors[len(factors) // 2]
    alike = all(abs(factor / middle - 1) <= _SAME_FACTOR for factor in factors)
    far = all(abs(pair.miss) > Decimal("0.5") for pair in pairs)
    if len(pairs) < _LEAST_FOR_PATTERN or not alike or not far:
        return None
    first = pairs[0]
    thousands = any(abs(middle * power - 1) <= _SAME_FACTOR for power in (1000, Decimal("0.001")))
    return Remark(
        check=Check.CLIENTS,
        severity=Severity.NOTE if thousands else Severity.DOUBT,
        place=first.rate.place,
        quote=f"{first.rate.printed}, {first.time.printed}, {show(first.clients)} clients",
        message=(
            f"throughput times latency is about {show(middle, 3)} times the clients in every row: "
            "a unit, a decimal mark, or what one operation is differs between the columns"
        ),
        arithmetic=tuple(pair.sum for pair in pairs),
    )


def _rows(cube: Cube, pairs: list[_Pair]) -> list[Remark]:
    fitting = sum(abs(pair.miss) <= _SLACK for pair in pairs)
    most_fit = 2 * fitting > len(pairs) and fitting > 1
    idle, pipelined = cube.document.says(_IDLE), cube.document.says(_PIPELINE)
    made = []
    for pair in pairs:
        # Where most rows fit, clients do not think: idle clients would show in all of them.
        alone = most_fit and abs(pair.miss) > _FAR
        excused = (pipelined if pair.miss > 0 else idle) and not alone
        if abs(pair.miss) <= _SLACK or excused:
            continue
        made.append(_remark(pair, most_fit=most_fit, fitting=fitting, pairs_count=len(pairs)))
    return made


def _remark(pair: _Pair, *, most_fit: bool, fitting: int, pairs_count: int) -> Remark:
    over = pair.miss > 0
    far = abs(pair.miss) > _FAR
    if over:
        severity = Severity.ERROR if far else Severity.DOUBT
        message = "more requests are in flight than there are clients"
    else:
        severity = Severity.DOUBT if far else Severity.NOTE
        if far and most_fit:
            severity = Severity.ERROR
        message = (
            f"throughput times latency accounts for {show(pair.busy.high, 3)} of the clients at "
            "most: the others were not waiting for the database, or a figure is wrong"
        )
    lines = [pair.sum, f"with the digits printed: {show(pair.busy.low)} to {show(pair.busy.high)}"]
    if far and most_fit:
        lines.append(
            f"{fitting} of the {pairs_count} rows fit within 5%, so the columns belong together"
        )
    return Remark(
        check=Check.CLIENTS,
        severity=severity,
        place=pair.rate.place,
        quote=f"{pair.rate.printed}, {pair.time.printed}, {show(pair.clients)} clients",
        message=message,
        arithmetic=tuple(lines),
    )
