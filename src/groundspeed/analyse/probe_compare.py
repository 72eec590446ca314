"""Two probed devices side by side: by what factor the second exceeds the first, figure by figure.

Figures come from the rows that a probe kept; of a profile without them, from the profile alone and
then without an interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.probed import Probed, What
from groundspeed.stats.median_quotient import median_quotient
from groundspeed.stats.paired_ratio import RatioInterval
from groundspeed.storage.distribution import quantile_s
from groundspeed.storage.profile import Counted, Direction, Profile
from groundspeed.tools import probe_plan
from groundspeed.tools.fio import Access
from groundspeed.units import Better, Metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.storage.profile import Latency

_IN_FLIGHT = "requests/s"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """A device to compare: its profile, and what was probed where that is kept."""

    name: str
    profile: Profile
    probed: Probed | None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of both; `ratio` is the second over the first, None where one of them is 0."""

    metric: Metric
    first: tuple[float, ...]
    second: tuple[float, ...]
    ratio: RatioInterval | None


def compare(first: Side, second: Side) -> tuple[Compared, ...]:
    """Compare all figures that both have, in one order."""
    kept = first.probed is not None and second.probed is not None
    of_first, of_second = (dict(_values(side, kept=kept)) for side in (first, second))
    return tuple(
        Compared(
            metric=metric,
            first=values,
            second=of_second[metric],
            ratio=_ratio(of_second[metric], values),
        )
        for metric, values in of_first.items()
        if metric in of_second
    )


def _ratio(over: tuple[float, ...], under: tuple[float, ...]) -> RatioInterval | None:
    if min(*over, *under, 1.0) <= 0:
        return None
    return median_quotient(over, under, CONFIDENCE_RATIO)


def _values(side: Side, *, kept: bool) -> Iterator[tuple[Metric, tuple[float, ...]]]:
    if kept and side.probed is not None:
        yield from _of_probed(side.probed)
    else:
        yield from _of_profile(side.profile)


def _of_probed(probed: Probed) -> Iterator[tuple[Metric, tuple[float, ...]]]:
    singles = (
        ("random read", probe_plan.random_name(Access.RANDOM_READ, 1), What.READ),
        ("random write", probe_plan.random_name(Access.RANDOM_WRITE, 1), What.WRITE),
        ("write and fdatasync", probe_plan.SYNC_NAME, What.SYNC),
    )
    for told, load, what in singles:
        row = probed.row(load, what)
        yield _time(f"{told}, p50"), row.p50_s
        yield _time(f"{told}, p99"), row.p99_s
    for row in probed.rows:
        if row.access in (Access.RANDOM_READ, Access.RANDOM_WRITE):
            yield _rate(f"random {row.what.value}s, depth {row.depth_count}"), row.rates_per_s
    for row in probed.rows:
        if row.access in (Access.READ, Access.WRITE) and row.block_bytes > probe_plan.PAGE_BYTES:
            told = f"sequential {row.what.value}s, {row.block_bytes // 1024} KiB"
            yield Metric(name=told, unit="bytes/s", better=Better.HIGHER), row.bytes_per_s


def _of_profile(profile: Profile) -> Iterator[tuple[Metric, tuple[float, ...]]]:
    device = profile.device
    for told, latency in (("read", device.read), ("write", device.write), ("sync", device.sync)):
        yield _time(f"device {told}, p50"), (_at(latency, 0.5),)
        yield _time(f"device {told}, p99"), (_at(latency, 0.99),)
    yield (
        Metric(name="requests served at once", unit="", better=Better.HIGHER),
        (float(device.parallel_count),),
    )
    for limit in device.limits:
        on = "reads and writes" if limit.on is Direction.BOTH else f"{limit.on.value}s"
        unit = _IN_FLIGHT if limit.of is Counted.REQUESTS else "bytes/s"
        told = f"cap on {limit.of.value} of {on}"
        yield Metric(name=told, unit=unit, better=Better.HIGHER), (limit.rate_per_s,)


def _at(latency: Latency, ratio: float) -> float:
    if any(value_s > 0 for _, value_s in latency.quantiles):
        return quantile_s(latency.quantiles, ratio)
    return latency.median_s if ratio == 0.5 else latency.p99_s  # noqa: PLR2004 - a median


def _time(name: str) -> Metric:
    return Metric(name=name, unit="s", better=Better.LOWER)


def _rate(name: str) -> Metric:
    return Metric(name=name, unit=_IN_FLIGHT, better=Better.HIGHER)
