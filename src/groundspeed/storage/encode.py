"""A profile as text: YAML for people, JSON for plans. What is written reads back as the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from groundspeed import units
from groundspeed.storage.decode import latency_of
from groundspeed.storage.profile import NO_TIME, Counted, Direction, Latency

if TYPE_CHECKING:
    from groundspeed.storage.profile import (
        CpuTime,
        Device,
        Figure,
        Limit,
        Profile,
        Replication,
        Trouble,
    )


class _FlowStyle(dict[str, Any]):
    """A small mapping, written on one line: {median: 0.5ms, p99: 1ms}."""


class _Dumper(yaml.SafeDumper):
    """Writes small mappings on one line and lists set in, as people do."""

    def increase_indent(
        self,
        flow: bool = False,  # noqa: FBT001, FBT002 - PyYAML's signature
        indentless: bool = False,  # noqa: ARG002, FBT001, FBT002 - the same
    ) -> None:
        super().increase_indent(flow, False)  # noqa: FBT003 - the same


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # Line ends that Unicode knows and most people do not (U+0085, U+2028) are only safe escaped.
    style = None if text.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(
    _FlowStyle,
    lambda dumper, data: dumper.represent_mapping(
        "tag:yaml.org,2002:map", data.items(), flow_style=True
    ),
)


def encode_yaml(profile: Profile) -> str:
    """Write a profile as `decode` reads it, with units and in the order people read."""
    data: dict[str, Any] = {
        "profile": profile.name,
        "about": profile.about or None,
        "device": _device(profile.device),
        "front": None if profile.front is None else _device(profile.front),
        "replication": None if profile.replication is None else _replication(profile.replication),
        "request_size": units.write_bytes(profile.request_bytes),
        "readahead": units.write_bytes(profile.readahead_bytes),
        "writeback_depth": profile.writeback_depth_count,
        "cpu": _cpu(profile.cpu) or None,
        "trouble": _trouble(profile.trouble) or None,
        "provisioned": _FlowStyle(profile.parameters) or None,
        "figures": [_figure(figure) for figure in profile.figures] or None,
    }
    return yaml.dump(
        _without_nothing(data), Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True
    )


def encode_json(profile: Profile) -> str:
    """Write a profile as a plan carries it."""
    return msgspec.json.encode(profile).decode()


def _without_nothing(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def _latency(latency: Latency) -> _FlowStyle | None:
    if latency == NO_TIME:
        return None
    times = _FlowStyle(
        median=units.write_duration(latency.median_s), p99=units.write_duration(latency.p99_s)
    )
    if not latency.quantiles:
        return times
    points = _FlowStyle()
    points.update({r: units.write_duration(s) for r, s in latency.quantiles})  # type: ignore[misc]
    if latency_of(None, None, dict(latency.quantiles)) == latency:
        times.clear()
    times["quantiles"] = points
    return times


def _device(device: Device) -> dict[str, Any]:
    return _without_nothing(
        {
            "read": _latency(device.read),
            "write": _latency(device.write),
            "sync": _latency(device.sync),
            "parallel": device.parallel_count,
            "limits": [_limit(limit) for limit in device.limits] or None,
        }
    )


def _limit(limit: Limit) -> _FlowStyle:
    counts_bytes = limit.of is Counted.BYTES
    rate = units.write_bytes_per_s if counts_bytes else units.write_rate
    written = _FlowStyle(of=limit.of.value)
    if limit.on is not Direction.BOTH:
        written["direction"] = limit.on.value
    written["rate"] = rate(limit.rate_per_s)
    if limit.credits_count:
        written["credits"] = _credits(float(limit.credits_count), counts_bytes=counts_bytes)
    if limit.start_ratio != 1:
        written["start"] = limit.start_ratio
    if limit.slice_s:
        written["slice"] = units.write_duration(limit.slice_s)
    return written


def _credits(count: float, *, counts_bytes: bool) -> str | float:
    if counts_bytes:
        return units.write_bytes(round(count))
    return int(count) if count.is_integer() else count


def _replication(replication: Replication) -> dict[str, Any]:
    everyone = replication.acknowledge_count == replication.replicas_count
    link = replication.link_bytes_per_s
    return _without_nothing(
        {
            "replicas": replication.replicas_count,
            "acknowledge": "all" if everyone else replication.acknowledge_count,
            "round_trip": _latency(replication.round_trip),
            "reads": replication.reads.value,
            "one_is_local": replication.one_is_local,
            "link": None if link is None else units.write_bytes_per_s(link),
        }
    )


def _cpu(cpu: CpuTime) -> _FlowStyle:
    times = {"read": cpu.read_s, "write": cpu.write_s, "sync": cpu.sync_s}
    return _FlowStyle({name: units.write_duration(s) for name, s in times.items() if s})


def _trouble(trouble: Trouble) -> dict[str, Any]:
    written: dict[str, Any] = {}
    if trouble.stall_after_s is not None:
        written["stall_after"] = units.write_duration(trouble.stall_after_s)
        written["stall"] = units.write_duration(trouble.stall_s)
    if trouble.read_error_ratio:
        written["read_errors"] = trouble.read_error_ratio
    if trouble.write_error_ratio:
        written["write_errors"] = trouble.write_error_ratio
    if trouble.size_bytes is not None:
        written["size"] = units.write_bytes(trouble.size_bytes)
    return written


def _figure(figure: Figure) -> dict[str, str]:
    return {
        "what": figure.what,
        "standing": figure.standing.value,
        "source": figure.source,
        "date": figure.date,
    }
