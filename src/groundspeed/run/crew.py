"""What a run works with, and what it knows of the environments that stand."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from groundspeed.ports import Clock, Listener, Store, Target, Watcher
from groundspeed.record import HostFacts

if TYPE_CHECKING:
    from groundspeed.plan import Cell, Trial
    from groundspeed.record import Caution, ServerFacts, StorageFacts
    from groundspeed.run.upkeep import Upkeep


class Crew(msgspec.Struct, frozen=True, kw_only=True):
    """All that a run works with. `unavailable` maps an environment to why it has no target.

    `is_warm`: targets keep their servers between trials, and are brought back now and then only.
    """

    targets: Mapping[str, Target]
    unavailable: Mapping[str, str]
    store: Store
    clock: Clock
    listener: Listener
    host: HostFacts
    watcher: Watcher
    is_warm: bool = False


class EnvironmentState:
    """What the run knows of an environment that stands."""

    def __init__(self, upkeep: Upkeep) -> None:
        self.dirty = False
        self.upkeep = upkeep
        # Of the last checkpoint: they ride on every trial that follows it.
        self.checkpoint_cautions: tuple[Caution, ...] = ()
        # Transactions a second of the last measured trial of each cell.
        self.tps_per_s: dict[Cell, float] = {}
        self.tool_version = ""
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
