"""A storage device described by numbers: what `probe` writes, the catalogue holds, the shim plays.

Pure data in base units. How it is written in YAML is `storage.decode`'s; how it becomes the shim's
configuration is `storage.device_config`'s.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """How long one request takes: log-normal by its median and p99, or by quantiles.

    `quantiles` are (ratio in (0, 1), seconds) in ascending order, both strictly and weakly; where
    they are given they decide, interpolated linearly in log time. Zero everywhere costs nothing.
    """

    median_s: float
    p99_s: float
    quantiles: tuple[tuple[float, float], ...] = ()


NO_TIME = Latency(median_s=0.0, p99_s=0.0)


class Counted(Enum):
    """What a limit counts."""

    REQUESTS = "requests"
    BYTES = "bytes"


class Direction(Enum):
    """Which requests a limit counts."""

    READ = "read"
    WRITE = "write"
    BOTH = "both"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A cap on requests or bytes a second, shared by all; a token bucket.

    Without credits nothing may exceed the rate. With them, work above the rate spends credits, one
    a request or byte, and they come back at the rate; `start_ratio` of the bucket is there at
    first. With a slice, all that the rate lets through in one slice of time may go at its start, as
    the throttling of Linux has it; 0 spreads it evenly.
    """

    of: Counted
    on: Direction = Direction.BOTH
    rate_per_s: float
    credits_count: float = 0.0
    start_ratio: float = 1.0
    slice_s: float = 0.0


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One device, or the front that stands before replicated ones.

    `parallel_count` requests are served at once, 0 for any number; more wait in the order in
    which they came. `sync` is what a flush takes after the data is written.
    """

    read: Latency = NO_TIME
    write: Latency = NO_TIME
    sync: Latency = NO_TIME
    parallel_count: int
    limits: tuple[Limit, ...] = ()


class ReadsFrom(Enum):
    """Which replica serves a read."""

    LOCAL = "local"
    SPREAD = "spread"


class Replication(msgspec.Struct, frozen=True, kw_only=True):
    """Copies of each write on several devices of one kind.

    A write is done when `acknowledge_count` of them have it. One of them is reached without a
    round trip where `one_is_local`.
    """

    replicas_count: int
    acknowledge_count: int
    round_trip: Latency
    reads: ReadsFrom = ReadsFrom.LOCAL
    one_is_local: bool = False
    link_bytes_per_s: float | None = None


class CpuTime(msgspec.Struct, frozen=True, kw_only=True):
    """What one call that waits for the device keeps a processor of the host busy, within its wait.

    The kernel's way to the device and back. `write` is of one past the page cache, `sync` of
    a flush with the writes that it sends.
    """

    read_s: float = 0.0
    write_s: float = 0.0
    sync_s: float = 0.0


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """What goes wrong on purpose: a stall, errors, a device that gets full."""

    stall_after_s: float | None = None
    stall_s: float = 0.0
    read_error_ratio: float = 0.0
    write_error_ratio: float = 0.0
    size_bytes: int | None = None


class Standing(Enum):
    """How a figure of a profile is known."""

    PUBLISHED = "published"
    DERIVED = "derived"
    FITTED = "fitted"
    ASSUMED = "assumed"
    MEASURED = "measured"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """Where a figure of a profile comes from."""

    what: str
    standing: Standing
    source: str
    date: str


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A storage device with the provenance of its figures.

    `request_bytes` is the largest request: adjacent pages are merged up to it. `parameters` are
    what was provisioned, such as ("iops", "16000"), and belong to its label.
    """

    name: str
    about: str
    device: Device
    request_bytes: int
    front: Device | None = None
    replication: Replication | None = None
    trouble: Trouble = Trouble()
    cpu: CpuTime = CpuTime()
    readahead_bytes: int = 131072
    writeback_depth_count: int = 64
    parameters: tuple[tuple[str, str], ...] = ()
    figures: tuple[Figure, ...] = ()

    @property
    def label(self) -> str:
        """Its name with what was provisioned: "aws-gp3 (iops=16000)"."""
        provisioned = ", ".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.name} ({provisioned})" if provisioned else self.name
