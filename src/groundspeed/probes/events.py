"""Events on the time line: checkpoints, autovacuums, log segments; pure, from looks to events.

No version from 13 to 18 shows a checkpoint in a view of its own. Two things are known: ten times a
second whether the checkpointer is out of its idle loop, which gives begin and end; and once a
second its counters, which give the reason, confirm what was seen, and show the checkpoint that was
over between two looks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from groundspeed.record.evidence import EventKind, ServerEvent

if TYPE_CHECKING:
    from groundspeed.probes.rates import Rates

# How long after its end the counters of a checkpoint may still come: those of PostgreSQL 13 and 14
# travel through a file that is written twice a second.
_CONFIRMATION_S = 2.0
_AUTOVACUUM = re.compile(
    r"autovacuum: (?:VACUUM ANALYZE|VACUUM|ANALYZE|BRIN summarize) (.+?)"
    r"(?: \(to prevent wraparound\))?",
    re.DOTALL,
)


class _Checkpoint:
    """A checkpoint as far as it is known."""

    def __init__(self, at_s: float) -> None:
        self.at_s = at_s
        self.end_s: float | None = None
        self.reason = ""
        self.is_confirmed = False

    def event(self) -> ServerEvent:
        elapsed_s = None if self.end_s is None else self.end_s - self.at_s
        return ServerEvent(
            kind=EventKind.CHECKPOINT, at_s=self.at_s, elapsed_s=elapsed_s, detail=self.reason
        )


class Timeline:
    """Gathers the events of one trial; times are seconds since it began, and never go back.

    `segment_bytes` is the size of a log segment, None where it is unknown.
    """

    def __init__(self, segment_bytes: int | None) -> None:
        self._segment_bytes = segment_bytes
        self._checkpoints: list[_Checkpoint] = []
        self._open: _Checkpoint | None = None
        self._vacuums: dict[tuple[int, str], float] = {}
        self._done: list[ServerEvent] = []
        self._last: tuple[float, Rates] | None = None

    def look(
        self, at_s: float, *, is_checkpointing: bool, tasks: frozenset[tuple[int, str]]
    ) -> None:
        """Take in one look: whether the checkpointer is at work, and (pid, query) of autovacuums.

        What was under way at the first look begins there.
        """
        if is_checkpointing and self._open is None:
            self._open = _Checkpoint(at_s)
            self._checkpoints.append(self._open)
        elif not is_checkpointing and self._open is not None:
            self._open.end_s = at_s
            self._open = None
        for key in [key for key in self._vacuums if key not in tasks]:
            self._done.append(_vacuum(key[1], self._vacuums.pop(key), at_s))
        for key in tasks:
            # A worker that starts shows no table yet.
            if _AUTOVACUUM.fullmatch(key[1]):
                self._vacuums.setdefault(key, at_s)

    def count(self, at_s: float, rates: Rates) -> None:
        """Take in counters; the first ones are what growth is reckoned from."""
        if self._last is not None:
            before_s, before = self._last
            self._count_segments(before_s, before, at_s, rates)
            self._count_checkpoints(before_s, before, at_s, rates)
        self._last = (at_s, rates)

    def events(self) -> tuple[ServerEvent, ...]:
        """Give all events by time; what has not ended has no length.

        A single look at a busy checkpointer that no counter confirms is left out: it also wakes up
        to take in requests of others.
        """
        checkpoints = [
            checkpoint.event()
            for checkpoint in self._checkpoints
            if checkpoint.is_confirmed or self._last is None
        ]
        vacuums = [_vacuum(task, at_s, None) for (_, task), at_s in self._vacuums.items()]
        return tuple(sorted([*self._done, *checkpoints, *vacuums], key=lambda event: event.at_s))

    def _count_segments(self, before_s: float, before: Rates, at_s: float, rates: Rates) -> None:
        first, last = before.wal_position_bytes, rates.wal_position_bytes
        if not self._segment_bytes or first is None or last is None or last <= first:
            return
        boundary = (first // self._segment_bytes + 1) * self._segment_bytes
        switches = last // self._segment_bytes - first // self._segment_bytes
        if switches > 0:
            # The log is taken to have grown evenly since the last look.
            at = before_s + (at_s - before_s) * (boundary - first) / (last - first)
            detail = "" if switches == 1 else f"{switches} segments"
            self._done.append(ServerEvent(kind=EventKind.WAL_SWITCH, at_s=at, detail=detail))

    def _count_checkpoints(self, before_s: float, before: Rates, at_s: float, rates: Rates) -> None:
        requested = rates.requested_count > before.requested_count
        started = requested or rates.timed_count > before.timed_count
        worked_s = rates.work_s - before.work_s
        worked = worked_s > 0 or rates.buffer_count > before.buffer_count
        fitting = [
            checkpoint
            for checkpoint in self._checkpoints
            if checkpoint.end_s is None or checkpoint.end_s > before_s - _CONFIRMATION_S
        ]
        if started or worked:
            for checkpoint in fitting:
                checkpoint.is_confirmed = True
        if not started:
            return
        reason = "requested" if requested else "timed"
        unexplained = [checkpoint for checkpoint in fitting if not checkpoint.reason]
        if unexplained:
            unexplained[0].reason = reason
        elif requested or worked:
            # A timed one that did no work was skipped: nothing had changed since the last.
            self._add_unseen(before_s, at_s, worked_s, reason)

    def _add_unseen(self, before_s: float, at_s: float, worked_s: float, reason: str) -> None:
        checkpoint = _Checkpoint((before_s + at_s) / 2)
        checkpoint.end_s = checkpoint.at_s + max(0.0, worked_s)
        checkpoint.reason = reason
        checkpoint.is_confirmed = True
        self._checkpoints.append(checkpoint)


def _vacuum(task: str, at_s: float, end_s: float | None) -> ServerEvent:
    match = _AUTOVACUUM.fullmatch(task)
    return ServerEvent(
        kind=EventKind.AUTOVACUUM,
        at_s=at_s,
        elapsed_s=None if end_s is None else end_s - at_s,
        detail=match[1] if match else task,
    )
