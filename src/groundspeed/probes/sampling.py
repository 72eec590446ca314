"""What the watcher asks of each probe while a load is measured; types and a protocol, no logic.

A sampler lives in the probe process. It is opened before the warm-up, so that its own start is no
part of a measurement, and counts between `begin` and `end`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

from groundspeed.record.evidence import (
    Absent,
    PersistenceWork,
    PostgresWork,
    ProbeCost,
    ServerEvent,
    ServingWork,
    WaitCount,
)
from groundspeed.record.machine import HostWork

if TYPE_CHECKING:
    from collections.abc import Mapping


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What one sampler adds to the evidence of a trial."""

    host: HostWork | None = None
    postgres: PostgresWork | None = None
    serving: ServingWork | None = None
    persistence: PersistenceWork | None = None
    waits: tuple[WaitCount, ...] = ()
    wait_source: str | None = None
    activity_sample_count: int = 0
    events: tuple[ServerEvent, ...] = ()
    costs: tuple[ProbeCost, ...] = ()
    absent: tuple[Absent, ...] = ()


class Sampler(Protocol):
    """Sees one side of a trial. None of its methods raises for what cannot be seen."""

    def begin(self) -> None:
        """Take the first snapshot: from here on it counts."""
        ...

    def tick(self) -> None:
        """Ten times a second while it counts: sample what changes fast."""
        ...

    def second(self) -> Mapping[str, float | None]:
        """Give the values of the second that just ended, by column of `record.evidence.Series`."""
        ...

    def end(self) -> Part:
        """Take the last snapshot and sum up; `begin` may follow for the next trial."""
        ...

    def close(self) -> None:
        """Let go of connections and files."""
        ...
