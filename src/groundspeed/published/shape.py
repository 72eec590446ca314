"""The JSON file of a publication, as it is written; whatever else it holds is left alone."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

_Above0 = Annotated[float, msgspec.Meta(gt=0)]
_Count = Annotated[int, msgspec.Meta(ge=1)]
# One figure, or the lowest and the highest of several.
Figure = _Above0 | Annotated[list[_Above0], msgspec.Meta(min_length=2, max_length=2)]


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of pgbench: a row of a table."""

    workload: str
    clients: _Count
    threads: _Count | None = None
    tps: _Above0
    latency_ms: _Above0 | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one command of redis-benchmark."""

    rps: Figure
    avg_ms: Figure | None = None
    p99_ms: _Above0 | None = None
    max_ms: _Above0 | None = None


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    """One environment with its figures: `points` of pgbench, or commands of redis-benchmark."""

    environment: Annotated[str, msgspec.Meta(min_length=1)]
    label: str = ""
    platform: str | None = None
    instance: str | None = None
    region: str | None = None
    disk: str | None = None
    storage: str | dict[str, Any] | None = None
    scale: _Count | None = None
    duration_s: _Count | None = None
    postgres: str | None = None
    settings: dict[str, Any] = {}
    points: list[Point] = []
    aof: bool | None = None
    rdb: str | None = None
    dataset_keys: int | None = None
    set: Command | None = None
    get: Command | None = None
    ping: Command | None = None


class File(msgspec.Struct, frozen=True, kw_only=True):
    """A whole file. `source` is "title (author, date)"; the later keys win over its parts."""

    source: Annotated[str, msgspec.Meta(min_length=1)]
    author: str | None = None
    date: str | None = None
    url: str | None = None
    tool: str = ""
    note: str = ""
    environments: Annotated[list[Environment], msgspec.Meta(min_length=1)]
