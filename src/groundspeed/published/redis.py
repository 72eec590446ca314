"""Published figures of redis-benchmark, cell by cell."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.published import shape
    from groundspeed.published.publication import Publication


class Persistence(Enum):
    """What a server writes to its disk for each change."""

    APPEND_ONLY_FILE = "AOF on"
    NO_APPEND_ONLY_FILE = "AOF off"
    UNKNOWN = "unknown"


class Span(NamedTuple):
    """The lowest and the highest of what was published; alike where it is one figure."""

    low: float
    high: float


class RequestCell(msgspec.Struct, frozen=True, kw_only=True):
    """One command in one environment; None where the publication does not say.

    `snapshots` is what is told of RDB, `keys_count` how many keys were in it before the load.
    """

    environment: str
    storage: str
    persistence: Persistence
    snapshots: str
    keys_count: int | None
    command: str
    requests_per_s: Span
    mean_s: Span | None
    p99_s: float | None
    max_s: float | None


def request_cells(publication: Publication) -> tuple[RequestCell, ...]:
    """List the cells of a publication of redis-benchmark, in its order; empty for any other."""
    return tuple(cell for told in publication.file.environments for cell in _cells(told))


def _cells(told: shape.Environment) -> Iterator[RequestCell]:
    persistence = Persistence.UNKNOWN
    if told.aof is not None:
        persistence = Persistence.APPEND_ONLY_FILE if told.aof else Persistence.NO_APPEND_ONLY_FILE
    for name, command in (("set", told.set), ("get", told.get), ("ping", told.ping)):
        if command is None:
            continue
        yield RequestCell(
            environment=told.environment,
            storage=told.storage if isinstance(told.storage, str) else "unknown",
            persistence=persistence,
            snapshots=told.rdb or "unknown",
            keys_count=told.dataset_keys,
            command=name,
            requests_per_s=_span(command.rps),
            mean_s=None if command.avg_ms is None else _span(command.avg_ms, 1e-3),
            p99_s=None if command.p99_ms is None else command.p99_ms / 1000,
            max_s=None if command.max_ms is None else command.max_ms / 1000,
        )


def _span(figure: shape.Figure, factor: float = 1.0) -> Span:
    low, high = figure if isinstance(figure, list) else (figure, figure)
    return Span(low * factor, high * factor)
