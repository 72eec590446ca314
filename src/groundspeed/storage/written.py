"""A profile as people write it: the keys of its YAML, their units, and what is refused.

Only the form is here. What it means in base units is made by `decode`, and the other way round by
`encode`.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from groundspeed import units
from groundspeed.spec import quantities

# What native/storage_layout.h has room for.
MOST_PARALLEL, MOST_REPLICAS, MOST_LIMITS = 256, 8, 8
_PAGE_BYTES = 4096
_LONGEST_S = 3600.0


def _text(value: object) -> object:
    # YAML reads 2026-03-01 as a date and 2026 as a number.
    return str(value) if isinstance(value, dt.date | int | float) else value


def _a_number_or_all(value: object) -> object:
    return None if value == "all" else value


def _a_latency(value: object) -> object:
    """Take a bare duration for one that never varies."""
    return {"median": value, "p99": value} if isinstance(value, str) else value


def _below_an_hour(value_s: float) -> float:
    # The shim counts nanoseconds, and an hour for one request is no storage.
    if value_s > _LONGEST_S:
        msg = "takes more than an hour: write the time of one request"
        raise ValueError(msg)
    return value_s


RequestTime = Annotated[quantities.Duration, AfterValidator(_below_an_hour)]
PositiveRequestTime = Annotated[quantities.PositiveDuration, AfterValidator(_below_an_hour)]
Bandwidth = Annotated[
    float,
    quantities.from_text(units.parse_bytes_per_s, "1Gbit/s"),
    Field(gt=0),
    WithJsonSchema({"type": "string", "examples": ["1Gbit/s"]}),
]
Ratio = Annotated[float, Field(ge=0, le=1)]
_SIZE_SCHEMA = WithJsonSchema({"type": "string", "examples": ["128KiB"]})


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class WrittenLatency(_Model):
    """How long one request takes: a median and a p99, or quantiles."""

    median: RequestTime | None = Field(default=None, description="Half of all take less.")
    p99: RequestTime | None = Field(default=None, description="One in a hundred takes more.")
    quantiles: Mapping[float, PositiveRequestTime] | None = Field(
        default=None, description="Quantiles by their ratio, as in {0.5: 1ms, 0.99: 4ms}."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> WrittenLatency:
        if self.quantiles is not None:
            _refuse_odd_quantiles(self.quantiles)
        elif self.median is None or self.p99 is None:
            msg = "is not whole: write both median and p99, or quantiles"
            raise ValueError(msg)
        if self.median is None or self.p99 is None:
            return self
        if self.p99 < self.median:
            msg = "has a p99 below its median: write the larger one as p99"
            raise ValueError(msg)
        if self.median == 0 < self.p99:
            msg = "has a median of 0 and a p99 above it: write 0s for both, or a median above 0"
            raise ValueError(msg)
        return self


def _refuse_odd_quantiles(quantiles: Mapping[float, float]) -> None:
    points = sorted(quantiles.items())
    if len(points) < 2:  # noqa: PLR2004 - a line needs two
        msg = "has too few quantiles: write at least two, as in {0.5: 1ms, 0.99: 4ms}"
        raise ValueError(msg)
    if not all(0 < ratio < 1 for ratio, _ in points):
        msg = "has a quantile outside of 0 to 1: write the p99 as 0.99"
        raise ValueError(msg)
    values = [value for _, value in points]
    if values != sorted(values):
        msg = "has quantiles that are not ascending: a higher quantile takes at least as long"
        raise ValueError(msg)


Latency = Annotated[
    WrittenLatency, BeforeValidator(_a_latency, json_schema_input_type=str | WrittenLatency)
]


class WrittenLimit(_Model):
    """A cap on requests or bytes a second, with or without credits to exceed it."""

    of: Literal["requests", "bytes"] = Field(description="What it counts.")
    # Not "on", which YAML 1.1 reads as true.
    direction: Literal["read", "write", "both"] = Field(
        default="both", description="Which requests it counts."
    )
    rate: str = Field(description="3000/s of requests, 125MiB/s of bytes.")
    credits: Annotated[str, BeforeValidator(_text, json_schema_input_type=str | float)] = Field(
        default="0",
        description="A number of requests, or a size: what may exceed the rate at once.",
    )
    start: Ratio = Field(default=1.0, description="Share of the credits that is there at first.")
    slice: RequestTime = Field(
        default=0.0, description="What passes in so much time may pass at its start, all at once."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> WrittenLimit:
        if not 0 < self.rate_per_s < math.inf:
            msg = f"has the rate {self.rate!r}: write a rate above 0, or leave the limit out"
            raise ValueError(msg)
        if not 0 <= self.credits_count < math.inf:
            msg = f"has the credits {self.credits!r}: leave credits out where there are none"
            raise ValueError(msg)
        if self.credits_count == 0 and self.start != 1:
            msg = "has a start without credits: write credits too, or leave start out"
            raise ValueError(msg)
        return self

    @property
    def rate_per_s(self) -> float:
        """Requests or bytes a second. Raises ValueError when the unit is another one's."""
        if self.of == "bytes":
            return units.parse_bytes_per_s(self.rate)
        return units.parse_rate_per_s(self.rate)

    @property
    def credits_count(self) -> float:
        """Requests or bytes. Raises ValueError when the unit is another one's."""
        if self.of == "bytes":
            return float(units.parse_bytes(self.credits))
        try:
            return float(self.credits)
        except ValueError:
            msg = f"{self.credits!r} is not a number: write credits of requests without a unit"
            raise ValueError(msg) from None


class WrittenDevice(_Model):
    """One device: what a request takes, how many at once, and how many a second."""

    read: Latency | None = Field(default=None, description="What a read takes.")
    write: Latency | None = Field(default=None, description="What a write takes.")
    sync: Latency | None = Field(default=None, description="What a flush takes after it.")
    parallel: int = Field(
        ge=1, le=MOST_PARALLEL, strict=True, description="Requests served at once."
    )
    limits: tuple[WrittenLimit, ...] = Field(default=(), max_length=MOST_LIMITS)


class WrittenFront(WrittenDevice):
    """What stands before the device or its replicas and every request goes through."""

    parallel: int = Field(
        default=0,
        ge=0,
        le=MOST_PARALLEL,
        strict=True,
        description="Requests served at once; 0 for any number.",
    )


class WrittenReplication(_Model):
    """Copies of each write on several devices of one kind."""

    replicas: int = Field(ge=1, le=MOST_REPLICAS, strict=True, description="Number of copies.")
    acknowledge: Annotated[
        int | None,
        BeforeValidator(_a_number_or_all, json_schema_input_type=Literal["all"] | int),
    ] = Field(default=None, description="How many must have a write before it is done, or all.")
    round_trip: Latency | None = Field(
        default=None, description="Network there and back to a replica that is not local."
    )
    reads: Literal["local", "spread"] = Field(
        default="local", description="From the first replica, or from each in turn."
    )
    one_is_local: bool = Field(
        default=False, description="Whether the first is reached without a round trip."
    )
    link: Bandwidth | None = Field(
        default=None, description="Network that all remote replicas share, as in 1Gbit/s."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> WrittenReplication:
        if self.acknowledge is not None and not 1 <= self.acknowledge <= self.replicas:
            msg = (
                f"waits for {self.acknowledge} of {self.replicas} replicas:"
                f" write a number from 1 to {self.replicas}, or all"
            )
            raise ValueError(msg)
        return self


class WrittenCpu(_Model):
    """What a call that waits for the device keeps a processor of the host busy, within its wait."""

    read: RequestTime = Field(default=0.0, description="A read that goes to the device.")
    write: RequestTime = Field(default=0.0, description="A write past the page cache.")
    sync: RequestTime = Field(default=0.0, description="A flush with the writes that it sends.")


class WrittenTrouble(_Model):
    """What goes wrong on purpose."""

    stall_after: quantities.Duration | None = Field(
        default=None, description="When it stops answering, from the first request on."
    )
    stall: quantities.Duration = Field(default=0.0, description="For how long it does not answer.")
    read_errors: Ratio = Field(default=0.0, description="Share of reads that fail with EIO.")
    write_errors: Ratio = Field(default=0.0, description="Share of writes that fail with EIO.")
    size: quantities.Size | None = Field(
        default=None, description="Size of the device; more than that gives ENOSPC."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> WrittenTrouble:
        if (self.stall_after is None) != (self.stall == 0):
            msg = "has half a stall: write both stall_after and stall"
            raise ValueError(msg)
        return self


class WrittenFigure(_Model):
    """Where a figure comes from."""

    what: str
    standing: Literal["published", "derived", "fitted", "assumed", "measured"]
    source: str
    date: Annotated[str, BeforeValidator(_text)]


class WrittenProfile(_Model):
    """A storage device described by numbers."""

    profile: quantities.Name = Field(description="Its name.")
    about: str = Field(default="", description="What it stands for, and what it leaves out.")
    device: WrittenDevice | None = Field(default=None, description="The device, or each replica.")
    based_on: str | None = Field(
        default=None, description="A profile of the catalogue whose device is taken, in its place."
    )
    front: WrittenFront | None = Field(
        default=None, description="What every request passes before the device or its replicas."
    )
    replication: WrittenReplication | None = None
    request_size: quantities.Size = Field(
        default=128 * 1024, description="Largest request; neighbouring pages go together."
    )
    readahead: Annotated[
        int, quantities.from_text(units.parse_bytes, "128KiB"), Field(ge=0), _SIZE_SCHEMA
    ] = Field(default=128 * 1024, description="How far the kernel reads ahead of sequential reads.")
    writeback_depth: int = Field(
        default=64,
        ge=1,
        le=1024,
        strict=True,
        description="Requests the kernel keeps in flight when it writes back.",
    )
    cpu: WrittenCpu = Field(
        default=WrittenCpu(), description="Processor time of the host, where it was measured."
    )
    trouble: WrittenTrouble = WrittenTrouble()
    provisioning: str | None = Field(
        default=None, description="Whose parameters it takes: the name of a catalogued profile."
    )
    provisioned: Mapping[
        str, Annotated[str, BeforeValidator(_text, json_schema_input_type=str | float)]
    ] = Field(default={}, description="What its limits were provisioned with; part of its label.")
    figures: tuple[WrittenFigure, ...] = Field(
        default=(), description="Where its figures come from."
    )

    @model_validator(mode="after")
    def _makes_sense(self) -> WrittenProfile:
        if (self.device is None) == (self.based_on is None):
            msg = "needs either device or based_on: write one of them"
            raise ValueError(msg)
        if self.request_size < _PAGE_BYTES or self.request_size % _PAGE_BYTES:
            msg = "has an odd request_size: write a multiple of 4KiB, as in 128KiB"
            raise ValueError(msg)
        return self
