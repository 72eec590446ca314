"""Waits: samples of who is at work become counts and mean sessions; pure, from rows to counts."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from groundspeed.record.evidence import WaitCount, WaitGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HIDDEN = "hidden"
CHECKPOINTER = "checkpointer"
AUTOVACUUM_WORKER = "autovacuum worker"
CLASSES = (
    "cpu",
    "lwlock",
    "lock",
    "io",
    "ipc",
    "client",
    "bufferpin",
    "timeout",
    "extension",
    "other",
)


class ActivityRow(msgspec.Struct, frozen=True, kw_only=True):
    """Sessions in one wait at one moment; `pid` is 0 and `backend_type` "" for clients.

    `task` is what an autovacuum worker says it does. A `backend_type` of HIDDEN is a session that
    the role may not look into.
    """

    pid: int
    backend_type: str
    wait_class: str
    event: str
    task: str
    session_count: int


class ProfileRow(msgspec.Struct, frozen=True, kw_only=True):
    """What pg_wait_sampling counted for one process in one wait, ever since it runs."""

    pid: int
    wait_class: str
    event: str
    sample_count: int


class WaitTally:
    """Counts samples of one trial, and those of the second that runs."""

    def __init__(self) -> None:
        self.sample_count = 0
        self._counts: Counter[tuple[WaitGroup, str, str, str]] = Counter()
        self._second: Counter[tuple[WaitGroup, str]] = Counter()
        self._second_sample_count = 0

    def add(self, rows: Iterable[ActivityRow]) -> None:
        """Add one sample; hidden sessions do not count."""
        self.sample_count += 1
        self._second_sample_count += 1
        for row in rows:
            if row.backend_type == HIDDEN:
                continue
            group = WaitGroup.BACKGROUND if row.backend_type else WaitGroup.CLIENT
            key = (group, row.backend_type, row.wait_class, row.event)
            self._counts[key] += row.session_count
            self._second[group, _class_of(row.wait_class)] += row.session_count

    def take_second(self, groups: Iterable[WaitGroup]) -> dict[str, float | None]:
        """Give mean sessions by class over the samples since the last call, and start anew.

        All are None where there was no sample.
        """
        samples = self._second_sample_count
        values = {
            f"{_PREFIXES[group]}_{name}_count": self._second[group, name] / samples
            if samples
            else None
            for group in groups
            for name in CLASSES
        }
        self._second.clear()
        self._second_sample_count = 0
        return values

    def counts(self) -> tuple[WaitCount, ...]:
        """Give all counts, the most frequent first."""
        return _wait_counts(self._counts)


_PREFIXES = {WaitGroup.CLIENT: "wait", WaitGroup.BACKGROUND: "background"}
# Idle: the loop of a server's process, that of an extension's, a client that thinks.
_IDLE_CLASSES = frozenset({"Activity"})
_IDLE_BACKGROUND_CLASSES = frozenset({"Activity", "Extension"})
_IDLE_EVENT = ("Client", "ClientRead")


def profile_growth(
    before: Iterable[ProfileRow],
    after: Iterable[ProfileRow],
    *,
    background: Mapping[int, str],
    own_pid: int,
) -> tuple[tuple[WaitCount, ...], int] | None:
    """Subtract two profiles of pg_wait_sampling: waits, and how many samples were taken.

    `background` gives the type of the server's own processes by pid; all others are clients, also
    of other databases, and gone by the time this is asked. The number of samples is what the
    process seen most often has, idle or not: those of the server are there all the time. None where
    that is unknown, or the profile was reset in between.
    """
    earlier = {(row.pid, row.wait_class, row.event): row.sample_count for row in before}
    counts: Counter[tuple[WaitGroup, str, str, str]] = Counter()
    seen: Counter[int] = Counter()
    for row in after:
        growth = row.sample_count - earlier.pop((row.pid, row.wait_class, row.event), 0)
        if growth < 0:
            return None
        if row.pid in background:
            seen[row.pid] += growth
        if growth == 0 or row.pid == own_pid or _is_idle(row, background):
            continue
        backend_type = background.get(row.pid, "")
        group = WaitGroup.BACKGROUND if backend_type else WaitGroup.CLIENT
        counts[group, backend_type, row.wait_class, row.event] += growth
    if earlier or not any(seen.values()):
        return None
    return _wait_counts(counts), max(seen.values())


def _is_idle(row: ProfileRow, background: Mapping[int, str]) -> bool:
    idle = _IDLE_BACKGROUND_CLASSES if row.pid in background else _IDLE_CLASSES
    return row.wait_class in idle or (row.wait_class, row.event) == _IDLE_EVENT


def _class_of(wait_class: str) -> str:
    name = wait_class.lower()
    return name if name in CLASSES else "other"


def _wait_counts(
    counts: Counter[tuple[WaitGroup, str, str, str]],
) -> tuple[WaitCount, ...]:
    return tuple(
        WaitCount(
            group=group,
            backend_type=backend_type,
            wait_class=wait_class,
            event=event,
            sample_count=count,
        )
        for (group, backend_type, wait_class, event), count in counts.most_common()
    )
