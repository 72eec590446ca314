"""What a run works with, and what it knows of the environments that stand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from groundspeed.ports import Clock, Listener, Store, Target, Watcher
from groundspeed.record import HostFacts

if TYPE_CHECKING:
    from groundspeed.plan import Trial
    from groundspeed.record import ServerFacts, StorageFacts


class Crew(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run works with. `unavailable` maps an environment to why it has no target."""

    targets: Mapping[str, Target]
    unavailable: Mapping[str, str]
    store: Store
    clock: Clock
    listener: Listener
    host: HostFacts
    watcher: Watcher


class EnvironmentState:
    """What the run knows of an environment that stands."""

    def __init__(self) -> None:
        self.dirty = False
        self.pgbench_version = ""
        self.server: ServerFacts | None = None
        self.storage: StorageFacts | None = None


def attempt_number(crew: Crew, trial: Trial) -> int:
    """Count attempts from 1, those of earlier processes among them."""
    earlier = sum(r.trial.trial_id == trial.trial_id for r in crew.store.records())
    return earlier + 1


def timestamp(wall_s: float) -> str:
    """Write seconds since 1970 for people, in UTC."""
    moment = dt.datetime.fromtimestamp(wall_s, tz=dt.UTC)
    return moment.isoformat(timespec="milliseconds")
