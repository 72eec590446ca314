"""The life of a try of durability: write, end it badly, start again, count what is missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

import msgspec

from groundspeed import __version__
from groundspeed.errors import TargetError
from groundspeed.plan import EnvironmentPlan
from groundspeed.ports import Clock, DurableTarget
from groundspeed.record.losses import Ending, LossRecord
from groundspeed.run.crew import timestamp
from groundspeed.tools import engines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.plan import Plan
    from groundspeed.ports import Entry

_SCALE = 1


class LossTry(msgspec.Struct, frozen=True, kw_only=True):
    """One try that is asked for; `write_s` is how long entries are written before the end."""

    environment: str
    ending: Ending
    attempt: int
    write_s: float


class LossCrew(msgspec.Struct, frozen=True, kw_only=True):
    """What tries work with. `make` gives a target that stands nowhere yet, for each try its own."""

    make: Callable[[EnvironmentPlan], DurableTarget]
    clock: Clock
    note: Callable[[str], None]


def tries(plan: Plan, crew: LossCrew, asked: Sequence[LossTry]) -> Iterator[LossRecord]:
    """Do each try on a server of its own, and yield its record; nothing is left behind."""
    for one in asked:
        crew.note(f"{one.environment}: {one.ending.value}, {one.attempt}")
        yield _Try(plan, crew, one).run()


class _Try:
    """One try, step by step."""

    def __init__(self, plan: Plan, crew: LossCrew, asked: LossTry) -> None:
        self._crew = crew
        self._asked = asked
        self._environment = plan.environment(asked.environment)
        self._promise = engines.find(plan.engine).promise(self._environment)
        self._found: dict[str, object] = {}

    def run(self) -> LossRecord:
        started_at = timestamp(self._crew.clock.wall_s())
        with ExitStack() as stack:
            try:
                target = self._crew.make(self._environment)
                stack.callback(target.remove)
                self._live(target)
            except TargetError as error:
                # Before the end, or it is told there: a try that says nothing of losses.
                self._found.setdefault("failure", error.message)
        kept = {
            "written_s": 0.0,
            "acknowledged_count": 0,
            "missing_count": None,
            "oldest_missing_s": None,
            "recovery_s": None,
            **self._found,
        }
        return msgspec.convert(
            {
                **kept,
                "groundspeed_version": __version__,
                "environment": self._asked.environment,
                "ending": self._asked.ending,
                "attempt": self._asked.attempt,
                "started_at": started_at,
                "promise": self._promise,
            },
            LossRecord,
        )

    def _live(self, target: DurableTarget) -> None:
        target.provide()
        target.prepare(_SCALE)
        target.start()
        self._found["server_version"] = target.server_facts().version
        self._found["storage"] = target.storage_facts()
        ledger = target.ledger()
        ledger.open()
        began_s = self._crew.clock.monotonic_s()
        try:
            ledger.write_for(self._asked.write_s)
            target.kill()
        finally:
            entries = ledger.close()
        written_s = self._crew.clock.monotonic_s() - began_s
        if self._asked.ending is Ending.POWER_CUT:
            self._found["dropped_bytes"] = target.cut_power()
        # Only now: a try whose end failed says nothing of losses.
        self._found["written_s"] = written_s
        self._found["acknowledged_count"] = len(entries)
        self._ask_again(target, entries)

    def _ask_again(self, target: DurableTarget, entries: tuple[Entry, ...]) -> None:
        began_s = self._crew.clock.monotonic_s()
        try:
            target.start()
            self._found["recovery_s"] = self._crew.clock.monotonic_s() - began_s
            present = target.ledger().present()
        except TargetError as error:
            self._found["failure"] = f"did not come back: {error.message}"
            return
        missing = [entry for entry in entries if entry.name not in present]
        self._found["missing_count"] = len(missing)
        if missing:
            last_ns = max(entry.at_ns for entry in entries)
            oldest_ns = min(entry.at_ns for entry in missing)
            # To the last acknowledgement, which is the end as far as a client could tell.
            self._found["oldest_missing_s"] = (last_ns - oldest_ns) / 1e9
