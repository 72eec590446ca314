"""Burst buckets of a profile: what they hold, how fast they refill, how long they can last."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from groundspeed.errors import SpecError
from groundspeed.storage.decode import decode_json
from groundspeed.storage.profile import Counted, Direction, ReadsFrom

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.record import StorageWork
    from groundspeed.storage.profile import Device, Limit, Profile

# Above the baseline by less than this is what a refill in the background gives.
_ABOVE_RATIO = 1.05


class Bucket(NamedTuple):
    """One limit with credits: `rate_per_s` is the baseline, `peak_per_s` what is allowed with them.

    In requests or bytes by `of`; `peak_per_s` is None where nothing of the profile caps the burst.
    `share` of the requests reach it: reads that are spread over replicas, each its part.
    """

    tier: str
    of: Counted
    on: Direction
    capacity: float
    start: float
    rate_per_s: float
    peak_per_s: float | None
    share: float = 1.0

    @property
    def lasts_s(self) -> float | None:
        """Seconds until it is empty at full load, at least; None where that has no bound."""
        if self.peak_per_s is None or self.peak_per_s <= self.rate_per_s:
            return None
        return self.start / (self.peak_per_s - self.rate_per_s)

    def asked_per_s(self, work: StorageWork) -> float:
        """Tell how many requests or bytes a second the bucket let through in a trial."""
        is_bytes = self.of is Counted.BYTES
        read = work.read_request_bytes if is_bytes else work.read_request_count
        written = work.write_request_bytes if is_bytes else work.write_request_count
        total = 0.0 if self.on is Direction.WRITE else read * self.share
        total += 0.0 if self.on is Direction.READ else written
        return total / work.elapsed_s if work.elapsed_s > 0 else 0.0

    def was_used_by(self, work: StorageWork) -> bool:
        """Tell whether a trial went faster than the baseline, which only credits allow."""
        return self.asked_per_s(work) > _ABOVE_RATIO * self.rate_per_s

    def left_ratio(self, work: StorageWork) -> float | None:
        """Tell which share of the credits was left at the end of a trial; None where unknown."""
        for left in work.credits:
            same = (left.tier, left.of, left.on) == (self.tier, self.of.value, self.on.value)
            # The state prints whole numbers.
            if same and abs(left.capacity - self.capacity) <= 1:
                return left.left / left.capacity if left.capacity > 0 else None
        return None

    def rate_text(self, value_per_s: float) -> str:
        """Write a rate of what it counts: "3,000 IOPS", "125 MiB/s"."""
        if self.of is Counted.BYTES:
            return f"{value_per_s / 1024**2:,.4g} MiB/s"
        return f"{round(value_per_s):,} IOPS"


def buckets_of(profile_json: str | None) -> tuple[Bucket, ...]:
    """List the burst buckets of a profile as plans and records carry it; none where unreadable."""
    if profile_json is None:
        return ()
    try:
        profile = decode_json(profile_json)
    except SpecError:
        return ()
    front = () if profile.front is None else tuple(_buckets("front", profile.front, 1.0))
    return (*front, *_buckets("device", profile.device, _read_share(profile)))


def _read_share(profile: Profile) -> float:
    copies = profile.replication
    if copies is None or copies.reads is ReadsFrom.LOCAL:
        return 1.0
    return 1.0 / copies.replicas_count


def _buckets(tier: str, device: Device, share: float) -> Iterator[Bucket]:
    for limit in device.limits:
        if limit.credits_count > 0:
            yield Bucket(
                tier=tier,
                of=limit.of,
                on=limit.on,
                capacity=limit.credits_count,
                start=limit.credits_count * limit.start_ratio,
                rate_per_s=limit.rate_per_s,
                peak_per_s=_peak_per_s(device, limit),
                share=share,
            )


def _peak_per_s(device: Device, bucket: Limit) -> float | None:
    """Find what caps a burst: another limit of the same kind, or the requests served at once."""
    caps = [
        other.rate_per_s
        for other in device.limits
        if other is not bucket
        and other.of is bucket.of
        and not other.credits_count
        and other.on in (bucket.on, Direction.BOTH)
    ]
    fastest_s = min(
        (latency.median_s for latency in (device.read, device.write) if latency.median_s > 0),
        default=0.0,
    )
    if bucket.of is Counted.REQUESTS and device.parallel_count and fastest_s:
        caps.append(device.parallel_count / fastest_s)
    return min(caps, default=None)
