"""Which caps a device showed: rates that more requests, or larger ones, did not raise.

A cap that was not reached is not claimed, and neither is one that may be the processor's.
"""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.probed import What
from groundspeed.stats.cliff import LEAST_SIDE_COUNT
from groundspeed.stats.median import median_interval
from groundspeed.storage.profile import Counted, Direction, Limit
from groundspeed.tools import probe_plan
from groundspeed.tools.fio import Access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.probed import Burst, Probed, Row

# Rates are equal when they differ by no more than their own scatter, within these bounds: a few
# values scatter little by chance, and values that scatter wildly are equal to anything.
_LEAST_NOISE_RATIO, _MOST_NOISE_RATIO = 0.05, 0.15
# Of what depth over latency promises. Above it, one cannot tell a cap from the depth itself.
_BELOW_DEPTH_RATIO = 0.8
_BUSY_CPU_RATIO = 0.8
# The least fall that counts as one, see `stats.cliff`.
_SUSTAINED_RATIO = 1.25
# Half an interval of this size holds a level and its double: nothing can be told.
_HOPELESS_SCATTER_RATIO = 1 / 3


class Cap(msgspec.Struct, frozen=True, kw_only=True):
    """A cap, or the highest rate seen where there was none; a value for each block.

    `why` is a phrase for people. `credits_count` is what a burst spent before it ended.
    """

    of: Counted
    on: Direction
    reached: bool
    rates_per_s: tuple[float, ...]
    why: str
    credits_count: float = 0.0

    @property
    def rate_per_s(self) -> float:
        """The median of the rates."""
        return median(self.rates_per_s)


def find_caps(probed: Probed) -> tuple[Cap, ...]:
    """Find caps on requests and on bytes, of reads, writes or both together."""
    requests = [
        _of_requests(probed, Access.RANDOM_READ, What.READ),
        _of_requests(probed, Access.RANDOM_WRITE, What.WRITE),
    ]
    streams = [
        _of_bytes(probed, Access.READ, What.READ),
        _of_bytes(probed, Access.WRITE, What.WRITE),
    ]
    mixed = _added([r.rates_per_s for r in probed.rows if r.access is Access.MIXED])
    both = _added([r.bytes_per_s for r in probed.rows if r.access is Access.BOTH])
    of_bytes = _shared(streams, both)
    found = [_unless_bandwidth(cap, of_bytes) for cap in _shared(requests, mixed)] + of_bytes
    for burst in probed.bursts:
        found = _with_burst(found, burst)
    return tuple(found)


def credits_of(burst: Burst) -> float:
    """Tell what a burst spent above the level after it; requests or bytes; 0 without a fall."""
    if burst.cliff is None:
        return 0.0
    # The window that was left out at the start was served at the high level too.
    seconds_s = (burst.cliff.before_count + 1) * burst.window_s
    unit = 1 if burst.access is Access.RANDOM_READ else burst.block_bytes
    return (burst.cliff.before - burst.cliff.after) * seconds_s * unit


def limits(caps: Sequence[Cap]) -> tuple[tuple[Limit, str], ...]:
    """Make the limits of a profile of the caps that were reached, each with its why."""
    return tuple(
        (
            Limit(
                of=cap.of,
                on=cap.on,
                rate_per_s=float(round(cap.rate_per_s)),
                credits_count=float(round(cap.credits_count)),
            ),
            cap.why,
        )
        for cap in caps
        if cap.reached
    )


def equal(over: Sequence[float], under: Sequence[float]) -> bool:
    """Tell whether two groups of rates have one median, as far as their scatter tells."""
    noise = max(_scatter(over), _scatter(under), _LEAST_NOISE_RATIO)
    return abs(median(over) / median(under) - 1) <= min(noise, _MOST_NOISE_RATIO)


def _scatter(values: Sequence[float]) -> float:
    found = median_interval(values)
    low = min(values) if found.low is None else found.low
    high = max(values) if found.high is None else found.high
    return (high - low) / 2 / found.median


def _of_requests(probed: Probed, access: Access, what: What) -> Cap:
    rows = [probed.row(probe_plan.random_name(access, d), what) for d in probe_plan.DEPTHS]
    last = rows[-1]
    # Not more than three: the first depths of a plateau are often not quite on it.
    level = [row for row in rows[-3:] if equal(row.rates_per_s, last.rates_per_s)]
    promised = last.depth_count / median(rows[0].mean_s)
    depths = ", ".join(str(row.depth_count) for row in level)
    flat = rows[-2] in level and median(last.rates_per_s) < _BELOW_DEPTH_RATIO * promised
    why = f"equal at depths {depths}" if flat else f"still rising at depth {last.depth_count}"
    reached, why = _unless_doubtful(probed, rows[-2:], flat=flat, why=why)
    pooled = _pooled([row.rates_per_s for row in level]) if flat else last.rates_per_s
    return Cap(
        of=Counted.REQUESTS,
        on=Direction(what.value),
        reached=reached,
        rates_per_s=pooled,
        why=why,
    )


def _of_bytes(probed: Probed, access: Access, what: What) -> Cap:
    small, large = (
        probed.row(probe_plan.stream_name(access, block), what)
        for block in probe_plan.STREAM_BLOCKS_BYTES
    )
    sizes = " and ".join(f"{row.block_bytes // 1024} KiB" for row in (small, large))
    flat = equal(small.bytes_per_s, large.bytes_per_s)
    why = f"equal in blocks of {sizes}" if flat else f"differs in blocks of {sizes}"
    reached, why = _unless_doubtful(probed, (small, large), flat=flat, why=why)
    best = max((small, large), key=lambda row: median(row.bytes_per_s)).bytes_per_s
    return Cap(
        of=Counted.BYTES,
        on=Direction(what.value),
        reached=reached,
        rates_per_s=_pooled([small.bytes_per_s, large.bytes_per_s]) if flat else best,
        why=why,
    )


def _unless_doubtful(
    probed: Probed, rows: Sequence[Row], *, flat: bool, why: str
) -> tuple[bool, str]:
    if max(_scatter(row.bytes_per_s) for row in rows) > _HOPELESS_SCATTER_RATIO:
        return False, "rates scatter too much to tell"
    busy_count = max(median(row.cpu_counts) for row in rows)
    if flat and busy_count > _BUSY_CPU_RATIO * probed.circumstances.cpu_count:
        return False, f"{why}, but fio kept the processors busy"
    return flat, why


def _pooled(loads: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Make one value a block of several loads: those of one block share its mood."""
    return tuple(map(median, zip(*loads, strict=True)))


def _unless_bandwidth(cap: Cap, streams: Sequence[Cap]) -> Cap:
    """Do not claim a cap on requests that is the one on bytes, seen with small requests."""
    bytes_per_s = [rate * probe_plan.PAGE_BYTES for rate in cap.rates_per_s]
    for stream in streams:
        same = stream.reached and (stream.on is cap.on or stream.on is Direction.BOTH)
        if cap.reached and same and equal(bytes_per_s, stream.rates_per_s):
            return msgspec.structs.replace(cap, reached=False, why="this is the cap on bandwidth")
    return cap


def _added(sides: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(map(sum, zip(*sides, strict=True)))


def _shared(caps: Sequence[Cap], together: tuple[float, ...]) -> list[Cap]:
    """Make one cap of two where reads and writes at once get no more than either alone."""
    read, write = caps
    pooled = _pooled([read.rates_per_s, write.rates_per_s])
    alike = equal(read.rates_per_s, write.rates_per_s) and equal(pooled, together)
    if not (read.reached and write.reached and alike):
        return list(caps)
    why = f"{read.why}, the same for reads, writes and both at once"
    return [Cap(of=read.of, on=Direction.BOTH, reached=True, rates_per_s=pooled, why=why)]


def _with_burst(caps: list[Cap], burst: Burst) -> list[Cap]:
    """Bring what a long load found to the cap it ran into: the level it came to, and credits.

    Its level counts, not that of the short loads: in the gaps between those, credits come back.
    """
    reads = burst.access is Access.RANDOM_READ
    of = Counted.REQUESTS if reads else Counted.BYTES
    on = {Direction.BOTH, Direction.READ if reads else Direction.WRITE}
    level = sustained(burst)
    if level is None:
        return caps

    def told(cap: Cap) -> Cap:
        if cap.of is not of or cap.on not in on:
            return cap
        if burst.cliff is None and level * _SUSTAINED_RATIO > cap.rate_per_s:
            return cap
        why = "the level after a burst"
        if burst.cliff is None:
            why = "the level of a long load; short ones got more, as if credits came back"
        return msgspec.structs.replace(
            cap, reached=True, why=why, rates_per_s=(level,), credits_count=credits_of(burst)
        )

    return [told(cap) for cap in caps]


def sustained(burst: Burst) -> float | None:
    """Tell the level that a long load came to; requests or bytes a second, None if too short."""
    unit = 1 if burst.access is Access.RANDOM_READ else burst.block_bytes
    if burst.cliff is not None:
        return burst.cliff.after * unit
    if len(burst.rates_per_s) < 2 * LEAST_SIDE_COUNT:
        return None
    return median(burst.rates_per_s[len(burst.rates_per_s) // 2 :]) * unit
