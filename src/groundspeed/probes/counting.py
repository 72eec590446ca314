"""One measured load as samplers count it: ticks on a fixed schedule, whole seconds, the sum.

It keeps time and knows no probe. A sampler that breaks its promise and raises is absent from then
on and takes no other with it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeVar

from groundspeed.ports import Seen
from groundspeed.probes.sampling import Part
from groundspeed.record.evidence import Absent, Evidence, ProbeCost, ProbeLevel, Series

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from groundspeed.probes.sampling import Sampler

_Result = TypeVar("_Result")

# What `ProbeCost.probe` says of the whole process, in which the cost of every sampler is.
WHOLE_PROCESS = "probe process"
TICKS_PER_S = {ProbeLevel.LIGHT: 1, ProbeLevel.FULL: 10}
# Of a tick; what floating point loses of a moment that is just reached.
_SLACK = 1e-6


class Guarded:
    """A sampler that may break: it is absent then, with its reason."""

    def __init__(self, what: str, open_sampler: Callable[[], Sampler], secret: str | None) -> None:
        """Open the sampler. `secret` is blotted out in what is told of its end."""
        self._what = what
        self._secret = secret
        self.absent: Absent | None = None
        self._sampler = self._guarded(open_sampler)

    def begin(self) -> None:
        """Begin to count."""
        if self._sampler is not None:
            self._guarded(self._sampler.begin)

    def tick(self) -> None:
        """Sample what changes fast."""
        if self._sampler is not None and self.absent is None:
            self._guarded(self._sampler.tick)

    def second(self) -> Mapping[str, float | None]:
        """Give the values of the second that just ended; none where it is absent."""
        if self._sampler is None or self.absent is not None:
            return {}
        return self._guarded(self._sampler.second) or {}

    def end(self) -> Part:
        """Sum up; of one that is absent there is no more than that."""
        part = None
        if self._sampler is not None and self.absent is None:
            part = self._guarded(self._sampler.end)
        if part is None:
            return Part(absent=() if self.absent is None else (self.absent,))
        return part

    def close(self) -> None:
        """Let go."""
        if self._sampler is not None:
            self._guarded(self._sampler.close)

    def _guarded(self, act: Callable[[], _Result]) -> _Result | None:
        try:
            return act()
        except Exception as error:  # noqa: BLE001 - whatever it is: no probe fails a trial
            told = " ".join(f"{type(error).__name__}: {error}".split())
            told = told.replace(self._secret, "***") if self._secret else told
            self.absent = self.absent or Absent(what=self._what, reason=told)
            return None


class Count:
    """Counts from its making to `end`.

    Ticks are due at whole tenths of a second (whole seconds, where there is nothing fast to see)
    since the begin, by the monotonic clock. One that comes late is made once, and those that were
    due meanwhile are left out: bunched samples would weigh one moment several times.
    """

    def __init__(
        self,
        level: ProbeLevel,
        samplers: Sequence[Guarded],
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """Take every sampler's first snapshot; second 0 begins after the last."""
        self._level = level
        self._samplers = samplers
        self._monotonic_s = monotonic_s
        self._ticks_per_s = TICKS_PER_S[level]
        self._rows: list[Mapping[str, float | None]] = []
        self._turn_count = 0
        self._elapsed_s = 0.0
        self._slowest_s = 0.0
        self._due_index = 1
        # Slow ones first: what is cheap to read is then read nearest to the load.
        for sampler in reversed(samplers):
            sampler.begin()
        self._started_at_s = wall_s()
        self._begin_s = monotonic_s()
        self._begin_cpu_s = time.process_time()

    def wait_s(self) -> float:
        """Tell how long it is until the next tick; 0 when it is due."""
        due_s = self._begin_s + self._due_index / self._ticks_per_s
        return max(0.0, due_s - self._monotonic_s())

    def turn(self) -> None:
        """Make the tick that is due, and end the second with it where it was the last of one."""
        started_s = self._monotonic_s()
        index = self._index_at(started_s)
        if index < self._due_index:
            return
        if self._level is ProbeLevel.FULL:
            for sampler in self._samplers:
                sampler.tick()
        whole_seconds = index // self._ticks_per_s
        if whole_seconds > len(self._rows):
            self._end_second(whole_seconds)
        ended_s = self._monotonic_s()
        self._due_index = max(index, self._index_at(ended_s)) + 1
        self._turn_count += 1
        self._elapsed_s += ended_s - started_s
        self._slowest_s = max(self._slowest_s, ended_s - started_s)

    def _index_at(self, monotonic_s: float) -> int:
        return int((monotonic_s - self._begin_s) * self._ticks_per_s + _SLACK)

    def _end_second(self, whole_seconds: int) -> None:
        # Seconds that went by without a turn are unknown: a row each, so that indices stay true.
        while len(self._rows) < whole_seconds - 1:
            self._rows.append({})
        row: dict[str, float | None] = {}
        for sampler in self._samplers:
            row.update(sampler.second())
        self._rows.append(row)

    def end(self) -> Seen:
        """Take the last snapshots and merge what was seen."""
        elapsed_s = self._monotonic_s() - self._begin_s
        cost = ProbeCost(
            probe=WHOLE_PROCESS,
            call_count=self._turn_count,
            cpu_s=time.process_time() - self._begin_cpu_s,
            elapsed_s=self._elapsed_s,
            slowest_s=self._slowest_s,
        )
        parts = [sampler.end() for sampler in self._samplers]
        merged = merge([*parts, Part(costs=(cost,))])
        evidence = Evidence(
            level=self._level,
            started_at_s=self._started_at_s,
            elapsed_s=elapsed_s,
            wait_source=merged.wait_source,
            activity_sample_count=merged.activity_sample_count,
            waits=merged.waits,
            events=merged.events,
            postgres=merged.postgres,
            serving=merged.serving,
            persistence=merged.persistence,
            host=merged.host,
            costs=merged.costs,
            absent=merged.absent,
        )
        return Seen(evidence=evidence, series=series_of(self._rows))


def merge(parts: Sequence[Part]) -> Part:
    """Put parts together; of what only one can tell (host, server, source) the first counts."""
    return Part(
        host=next((p.host for p in parts if p.host is not None), None),
        postgres=next((p.postgres for p in parts if p.postgres is not None), None),
        serving=next((p.serving for p in parts if p.serving is not None), None),
        persistence=next((p.persistence for p in parts if p.persistence is not None), None),
        waits=tuple(wait for p in parts for wait in p.waits),
        wait_source=next((p.wait_source for p in parts if p.wait_source is not None), None),
        activity_sample_count=sum(p.activity_sample_count for p in parts),
        events=tuple(sorted((e for p in parts for e in p.events), key=lambda e: e.at_s)),
        costs=tuple(cost for p in parts for cost in p.costs),
        absent=tuple(dict.fromkeys(absent for p in parts for absent in p.absent)),
    )


def series_of(rows: Sequence[Mapping[str, float | None]]) -> Series:
    """Turn rows into columns, in the order in which they first appear; empty without a row."""
    if not rows:
        return Series()
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    columns = [tuple(row.get(name) for row in rows) for name in names]
    indices = tuple(float(index) for index in range(len(rows)))
    return Series(columns=("second_index", *names), values=(indices, *columns))
