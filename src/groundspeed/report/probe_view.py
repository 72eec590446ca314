"""What a probe found, as worded tables; terminal and HTML only lay them out."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse import ratio_digits
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.probe_caps import credits_of
from groundspeed.analyse.probed import What
from groundspeed.report.probe_units import BYTES_RATE, RATE, SECONDS, Unit, estimate
from groundspeed.report.scaling import (
    NOTHING,
    format_bytes,
    format_ratio,
    format_span,
)
from groundspeed.stats.median import median_interval
from groundspeed.storage.profile import Counted, Direction
from groundspeed.tools import probe_plan
from groundspeed.tools.fio import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.probe_caps import Cap
    from groundspeed.analyse.probe_compare import Compared, Side
    from groundspeed.analyse.probe_profile import Outcome
    from groundspeed.analyse.probed import Burst, Probed, Row
    from groundspeed.units import Metric


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table in words; the first column is a name, the others are figures unless `prose`."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    prose: bool = False
    # The same with less in a cell, for where `rows` does not fit.
    narrow_rows: tuple[tuple[str, ...], ...] = ()


class ProbeView(msgspec.Struct, frozen=True, kw_only=True):
    """All that a report of a probe says."""

    title: str
    about: str
    tables: tuple[Table, ...]
    cautions: tuple[str, ...]


def view(probed: Probed, outcome: Outcome) -> ProbeView:
    """Word a probe."""
    return ProbeView(
        title=f"Storage profile {probed.circumstances.name}",
        about=outcome.fit.profile.about,
        tables=(
            _latencies(probed),
            _by_depth(probed),
            _streams(probed),
            _caps(probed, outcome.caps),
            _fits(outcome),
        ),
        cautions=outcome.cautions,
    )


def view_comparison(first: Side, second: Side, compared: Sequence[Compared]) -> ProbeView:
    """Word a comparison of two devices."""
    return ProbeView(
        title=f"{second.name} compared to {first.name}",
        about=f"Ratios are {second.name} over {first.name}.",
        tables=(
            Table(
                title="Side by side",
                columns=("", first.name, second.name, "ratio"),
                rows=tuple(_compared(row, estimate) for row in compared),
                narrow_rows=tuple(_compared(row, _bare) for row in compared),
                note=_interval_note(compared),
            ),
        ),
        cautions=_kept_cautions(first, second),
    )


def _interval_note(compared: Sequence[Compared]) -> str:
    if any(row.ratio is not None and row.ratio.low is not None for row in compared):
        return f"In brackets: {CONFIDENCE_RATIO:.0%} intervals."
    return (
        "No intervals can be given: they take 7 blocks of each, which is a --time of 45s or more."
    )


def _kept_cautions(first: Side, second: Side) -> tuple[str, ...]:
    return tuple(
        f"{side.name}: what was measured is not beside the profile, so only figures of profiles are"
        " compared, without intervals"
        for side in (first, second)
        if side.probed is None
    )


def _bare(values: Sequence[float], unit: Unit) -> str:
    return unit.text(median(values))


def _compared(
    row: Compared, text: Callable[[Sequence[float], Unit], str]
) -> tuple[str, str, str, str]:
    unit = _unit_of(row.metric)
    ratio = NOTHING
    if row.ratio is not None:
        ratio = format_ratio(row.ratio.ratio)
        if row.ratio.low is not None:
            ratio += f" {format_span(row.ratio.low, row.ratio.high, ratio_digits)}"
    return (row.metric.name, text(row.first, unit), text(row.second, unit), ratio)


def _unit_of(metric: Metric) -> Unit:
    return {"s": SECONDS, "bytes/s": BYTES_RATE}.get(metric.unit, RATE)


def _latencies(probed: Probed) -> Table:
    loads = (
        ("random read", probe_plan.random_name(Access.RANDOM_READ, 1), What.READ),
        ("random write", probe_plan.random_name(Access.RANDOM_WRITE, 1), What.WRITE),
        ("write+fdatasync", probe_plan.SYNC_NAME, What.SYNC),
    )
    rows = [(told, probed.row(load, what)) for told, load, what in loads]
    return Table(
        title="Latency of 8 KiB, one request at a time",
        columns=("", "p50", "p95", "p99", "requests"),
        rows=tuple(
            (
                told,
                estimate(row.p50_s, SECONDS),
                SECONDS.text(median(row.p95_s)),
                estimate(row.p99_s, SECONDS),
                f"{row.count:,}",
            )
            for told, row in rows
        ),
        note=_block_note(probed),
    )


def _block_note(probed: Probed) -> str:
    n = probed.block_count
    if median_interval([1.0] * n, CONFIDENCE_RATIO).low is not None:
        return f"Medians of {n} blocks, in brackets their {CONFIDENCE_RATIO:.0%} intervals."
    if n == 1:
        return "One block, so there is no interval."
    return f"Medians of {n} blocks; too few for intervals, so in parentheses least and most."


def depth_rows(probed: Probed, what: What) -> tuple[Row, ...]:
    """List the rows of random reads or writes by depth."""
    access = Access.RANDOM_READ if what is What.READ else Access.RANDOM_WRITE
    return tuple(probed.row(probe_plan.random_name(access, d), what) for d in probe_plan.DEPTHS)


def _by_depth(probed: Probed) -> Table:
    reads, writes = depth_rows(probed, What.READ), depth_rows(probed, What.WRITE)
    mixed = [row for row in probed.rows if row.access is Access.MIXED]
    both = tuple(map(sum, zip(*(row.rates_per_s for row in mixed), strict=True)))
    return Table(
        title="Random requests of 8 KiB a second, by requests in flight",
        columns=("in flight", "reads/s", "p99", "writes/s", "p99"),
        rows=tuple(
            (
                str(read.depth_count),
                estimate(read.rates_per_s, RATE),
                SECONDS.text(median(read.p99_s)),
                estimate(write.rates_per_s, RATE),
                SECONDS.text(median(write.p99_s)),
            )
            for read, write in zip(reads, writes, strict=True)
        ),
        note=f"70% reads and 30% writes at depth {mixed[0].depth_count}:"
        f" {estimate(both, RATE)} requests/s together.",
    )


def _streams(probed: Probed) -> Table:
    blocks = probe_plan.STREAM_BLOCKS_BYTES

    def told(access: Access, what: What, block_bytes: int) -> str:
        row = probed.row(probe_plan.stream_name(access, block_bytes), what)
        return estimate(row.bytes_per_s, BYTES_RATE)

    return Table(
        title=f"Bandwidth in order, {probe_plan.STREAM_DEPTH} requests in flight",
        columns=("blocks of", "read", "write"),
        rows=tuple(
            (
                format_bytes(block_bytes),
                told(Access.READ, What.READ, block_bytes),
                told(Access.WRITE, What.WRITE, block_bytes),
            )
            for block_bytes in blocks
        ),
    )


def _caps(probed: Probed, caps: Sequence[Cap]) -> Table:
    rows = [_cap(cap) for cap in caps]
    rows += [_burst(burst) for burst in probed.bursts]
    return Table(title="Caps", columns=("", "found", "why"), rows=tuple(rows), prose=True)


def _cap(cap: Cap) -> tuple[str, str, str]:
    on = "reads and writes" if cap.on is Direction.BOTH else f"{cap.on.value}s"
    requests = cap.of is Counted.REQUESTS
    told = estimate(cap.rates_per_s, RATE if requests else BYTES_RATE)
    found = f"{told}/s" if requests else told
    if not cap.reached:
        least = f"{RATE.text(cap.rate_per_s)}/s" if requests else BYTES_RATE.text(cap.rate_per_s)
        found = f"not reached: at least {least}"
    return (f"{'requests' if requests else 'bandwidth'}, {on}", found, cap.why)


def _burst(burst: Burst) -> tuple[str, str, str]:
    reads = burst.access is Access.RANDOM_READ
    what = "burst of random reads" if reads else "burst of writes in order"
    lasted_s = len(burst.rates_per_s) * burst.window_s
    if burst.cliff is None:
        return (what, f"no end within {lasted_s:.1f} s", "a longer --time looks further")

    def told(rate: float) -> str:
        return f"{RATE.text(rate)}/s" if reads else BYTES_RATE.text(rate * burst.block_bytes)

    spent = credits_of(burst)
    amount = f"{spent:,.0f} requests" if reads else format_bytes(spent)
    after_s = (burst.cliff.before_count + 1) * burst.window_s
    return (
        what,
        f"ended after {after_s:.1f} s",
        f"from {told(burst.cliff.before)} to {told(burst.cliff.after)}: {amount} of credits",
    )


def _fits(outcome: Outcome) -> Table:
    fitted = outcome.fit
    rows = [
        (
            f"{what} served at once",
            f"{parallel.servers_count:.1f}"
            if parallel.reached
            else f"not reached: at least {parallel.servers_count:.0f}",
            f"residual {parallel.residual_ratio:.0%}",
        )
        for what, parallel in (("reads", fitted.reads), ("writes", fitted.writes))
    ]
    sync = fitted.profile.device.sync
    rows.append(
        (
            "flush beyond its write, p50",
            SECONDS.text(sync.median_s),
            f"sum of both within {fitted.flush.residual_ratio:.1%}",
        )
    )
    return Table(
        title="Fitted for the profile", columns=("", "value", "fit"), rows=tuple(rows), prose=True
    )
