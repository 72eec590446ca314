"""A profile from what was read: YAML as people write it, JSON as plans carry it.

It reads no file and knows no catalogue; where a profile is based on another one, the caller says
which that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec
from pydantic import BaseModel, ValidationError

from groundspeed import spec
from groundspeed.errors import SpecError
from groundspeed.storage.distribution import quantile_s
from groundspeed.storage.profile import (
    NO_TIME,
    Counted,
    CpuTime,
    Device,
    Direction,
    Figure,
    Latency,
    Limit,
    Profile,
    ReadsFrom,
    Replication,
    Standing,
    Trouble,
)
from groundspeed.storage.written import (
    WrittenDevice,
    WrittenLatency,
    WrittenLimit,
    WrittenProfile,
    WrittenReplication,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_MEDIAN, _P99 = 0.5, 0.99


def check(data: object, *, source: str) -> WrittenProfile:
    """Check decoded YAML of a profile.

    `source` is what complaints start with. Raises SpecError with every complaint found.
    """
    if not isinstance(data, dict):
        raise SpecError(f"{source}: not a profile", "a profile starts with  profile: NAME")
    try:
        return WrittenProfile.model_validate(data)
    except ValidationError as error:
        form = spec.Form("profile", _keys_at, "see docs/profiles.md")
        first, *further = spec.complaints(source, error, form)
        raise SpecError(*first, further=tuple(further)) from None


def to_profile(written: WrittenProfile, base: Callable[[str], Profile]) -> Profile:
    """Turn a checked profile into base units.

    `base` gives the profile that `based_on` names, and may raise; its device and the figures of
    that device are taken over.
    """
    based_on = None if written.based_on is None else base(written.based_on)
    device = _device(written.device) if written.device else None
    figures = tuple(
        Figure(what=f.what, standing=Standing(f.standing), source=f.source, date=f.date)
        for f in written.figures
    )
    if based_on is not None:
        device = based_on.device
        figures += device_figures(based_on)
    assert device is not None  # noqa: S101 - checked: one of the two is there
    return Profile(
        name=written.profile,
        about=written.about,
        device=device,
        front=None if written.front is None else _device(written.front),
        replication=None if written.replication is None else _replication(written.replication),
        request_bytes=written.request_size,
        readahead_bytes=written.readahead,
        writeback_depth_count=written.writeback_depth,
        cpu=CpuTime(read_s=written.cpu.read, write_s=written.cpu.write, sync_s=written.cpu.sync),
        trouble=Trouble(
            stall_after_s=written.trouble.stall_after,
            stall_s=written.trouble.stall,
            read_error_ratio=written.trouble.read_errors,
            write_error_ratio=written.trouble.write_errors,
            size_bytes=written.trouble.size,
        ),
        parameters=tuple(written.provisioned.items()),
        figures=figures,
    )


def device_figures(profile: Profile) -> tuple[Figure, ...]:
    """List the figures of a profile whose device became the replica of another one."""
    return tuple(
        msgspec.structs.replace(figure, what=f"each replica ({profile.name}): {figure.what}")
        for figure in profile.figures
    )


def decode_json(text: str) -> Profile:
    """Read a profile as `encode.encode_json` wrote it. Raises SpecError when it is none."""
    try:
        return msgspec.json.decode(text, type=Profile)
    except msgspec.DecodeError as error:
        raise SpecError(
            f"the profile in the plan cannot be read: {error}", "make the plan again from its suite"
        ) from None


def latency_of(median_s: float | None, p99_s: float | None, points: dict[float, float]) -> Latency:
    """Make a latency; a median and a p99 that are not given are read off the quantiles."""
    quantiles = tuple(sorted(points.items()))
    if median_s is None:
        median_s = quantile_s(quantiles, _MEDIAN)
    if p99_s is None:
        p99_s = quantile_s(quantiles, _P99)
    return Latency(median_s=median_s, p99_s=p99_s, quantiles=quantiles)


def _latency(written: WrittenLatency | None) -> Latency:
    if written is None:
        return NO_TIME
    return latency_of(written.median, written.p99, dict(written.quantiles or {}))


def _device(written: WrittenDevice) -> Device:
    return Device(
        read=_latency(written.read),
        write=_latency(written.write),
        sync=_latency(written.sync),
        parallel_count=written.parallel,
        limits=tuple(map(_limit, written.limits)),
    )


def _limit(written: WrittenLimit) -> Limit:
    return Limit(
        of=Counted(written.of),
        on=Direction(written.direction),
        rate_per_s=written.rate_per_s,
        credits_count=written.credits_count,
        start_ratio=written.start,
        slice_s=written.slice,
    )


def _replication(written: WrittenReplication) -> Replication:
    return Replication(
        replicas_count=written.replicas,
        acknowledge_count=written.acknowledge or written.replicas,
        round_trip=_latency(written.round_trip),
        reads=ReadsFrom(written.reads),
        one_is_local=written.one_is_local,
        link_bytes_per_s=written.link,
    )


def _keys_at(location: Sequence[str | int]) -> list[str]:
    """List the keys that the model at a path of a validation error knows."""
    model: type[BaseModel] = WrittenProfile
    for part in location:
        field = model.model_fields.get(str(part))
        if field is not None:
            model = next(_models_in(field.annotation), model)
    return list(model.model_fields)


def _models_in(annotation: Any) -> Any:  # noqa: ANN401 - whatever typing makes
    """Yield the models that an annotation holds, however wrapped."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)
