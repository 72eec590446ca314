"""Who burns the processors: the server, the load tool, groundspeed; all others are the rest.

It follows the processes of /proc once a second and remembers those that are none of ours, so that
only ours are read. What processes did that ended is not lost: their parent's stat tells.
"""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.probes.kernel_files import KeptFile, read_bytes, whole_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# The kernel keeps 15 bytes of a program's name.
_NAME_BYTES = 15
# Places of fields in /proc/PID/stat, counted behind the name (proc(5): field number - 3).
_PARENT, _USER, _SYSTEM, _REAPED_USER, _REAPED_SYSTEM, _START = 1, 11, 12, 13, 14, 19
_PROCESSOR = 36
_MOST_STAT_BYTES = 2048
# Kept open at once; far below what a process may have by default (1024).
_MOST_FILES_COUNT = 400


class Owner(Enum):
    """Whom a process belongs to."""

    SERVER = "server"
    LOAD = "load"
    OWN = "own"
    OTHER = "other"


class Process(NamedTuple):
    """One process of ours; times in clock ticks. `reaped` is what its ended children used."""

    pid: int
    parent: int
    name: bytes
    start: int
    used: int
    reaped: int
    processor: int
    owner: Owner = Owner.OTHER


class Burnt(NamedTuple):
    """Clock ticks that each owner used since the last look."""

    server: int = 0
    load: int = 0
    own: int = 0


class _Owed(NamedTuple):
    ticks: int
    owner: Owner


class Processes:
    """The server, the load tool and groundspeed among the processes of a machine.

    The server is `server_pid` and its descendants, also where groundspeed started it; the load
    tool is what bears its name below groundspeed, with its descendants.
    """

    def __init__(
        self, *, groundspeed_pid: int, server_pid: int | None, load_program: str, proc: Path
    ) -> None:
        self._groundspeed_pid = groundspeed_pid
        self._server_pid = server_pid
        self._load_name = os.fsencode(load_program)[:_NAME_BYTES]
        self._proc = str(proc)
        self._ours: dict[int, Process] = {}
        self._others: set[int] = set()
        self._owed: dict[int, _Owed] = {}
        self._files: dict[int, KeptFile] = {}
        self._texts: dict[int, bytes] = {}

    def of(self, owner: Owner) -> tuple[Process, ...]:
        """Give the processes of one owner, as the last look found them."""
        return tuple(p for p in self._ours.values() if p.owner is owner)

    def begin(self) -> None:
        """Look for the first time; all that was used until now does not count."""
        self.close()
        self._ours, self._others, self._owed = {}, set(), {}
        self._ours = self._look()

    def advance(self) -> Burnt:
        """Look again and tell what was used in between, each tick once.

        A process in sight counts what it used itself. When it ends, its parent's `reaped` grows by
        all that it ever used. What was counted of that until the last look is taken off (`_owed`);
        the rest goes to the process that ended, or, where none was seen (it came and went between
        two looks), to the parent.
        """
        before, now = self._ours, self._look()
        self._ours = now
        self._note_ended(before, now)
        ticks = dict.fromkeys(Owner, 0)
        for new in now.values():
            old = before.get(new.pid)
            used, reaped = (old.used, old.reaped) if old and _is_same(old, new) else (0, 0)
            ticks[new.owner] += max(0, new.used - used)
            if new.reaped > reaped:
                owed = self._owed.pop(new.pid, _Owed(0, new.owner))
                rest = new.reaped - reaped - owed.ticks
                ticks[owed.owner] += max(0, rest)
                if rest < 0:
                    self._owed[new.pid] = owed._replace(ticks=-rest)
        return Burnt(ticks[Owner.SERVER], ticks[Owner.LOAD], ticks[Owner.OWN])

    def _note_ended(self, before: Mapping[int, Process], now: Mapping[int, Process]) -> None:
        """Book what was counted of ended processes at the parent that took it over, or will.

        It stays booked until the parent shows it: a process may end after its parent was read.
        """
        ended = {pid: old for pid, old in before.items() if not _is_same(old, now.get(pid))}
        for pid, old in ended.items():
            heir = old.parent
            while heir in ended:
                heir = ended[heir].parent
            earlier = self._owed.pop(pid, _Owed(0, old.owner))
            ticks = old.used + old.reaped + earlier.ticks
            there = self._owed.get(heir, _Owed(0, old.owner))
            owner = old.owner if ticks >= there.ticks else there.owner
            self._owed[heir] = _Owed(there.ticks + ticks, owner)
        self._owed = {pid: owed for pid, owed in self._owed.items() if pid in now}

    def _look(self) -> dict[int, Process]:
        pids = {int(name) for name in _names(self._proc) if name.isdigit()}
        # What once was none of ours stays so: a process keeps its parent or gets init. Its number
        # is free again when it is gone for a whole second; the kernel does not come round so fast.
        self._others &= pids
        # Parents first: what ends after its parent was read shows there at the next look. The other
        # way round it would be seen alive and as reaped at once.
        roots = (self._groundspeed_pid, self._server_pid)
        order = sorted(pids - self._others, key=lambda pid: (pid not in roots, pid))
        read = {pid: process for pid in order if (process := self._read(pid))}
        found: dict[int, Process] = {}
        for pid, process in read.items():
            is_known = process is self._ours.get(pid)
            owner = process.owner if is_known else self._owner(process, read)
            if owner is Owner.OTHER:
                self._others.add(pid)
            else:
                found[pid] = process if is_known else process._replace(owner=owner)
        for pid in self._files.keys() - found.keys():
            self._files.pop(pid).close()
            self._texts.pop(pid, None)
        return found

    def _owner(self, process: Process, read: Mapping[int, Process]) -> Owner:
        """Walk up to the server or to groundspeed, whichever is nearer."""
        is_load = False
        kept = Owner.OTHER
        step: Process | None = process
        visited: set[int] = set()
        while step and step.pid not in visited:
            if step.pid == self._server_pid:
                return Owner.SERVER
            if step.pid == self._groundspeed_pid:
                kept = Owner.OWN
                break
            visited.add(step.pid)
            is_load = is_load or step.name == self._load_name
            known = self._ours.get(step.pid)
            if kept is Owner.OTHER and known and _is_same(known, step):
                # Should its parent have ended and init have taken it in, it is whose it was.
                kept = known.owner
            # A parent may end after the listing was made; then the last look knows it.
            step = read.get(step.parent) or self._ours.get(step.parent)
        return Owner.LOAD if kept is Owner.OWN and is_load else kept

    def _read(self, pid: int) -> Process | None:
        """Read a process; gives the one of the last look itself where nothing changed."""
        path = f"{self._proc}/{pid}/stat"
        known = self._ours.get(pid)
        if not known or (pid not in self._files and len(self._files) >= _MOST_FILES_COUNT):
            return _parse(pid, read_bytes(path, _MOST_STAT_BYTES))
        # Of those that stay the file is kept open: opening it costs as much as reading it. When
        # the process ends, so does the file, whoever gets its number.
        file = self._files.get(pid) or self._files.setdefault(pid, KeptFile(path))
        text = file.read_record(_MOST_STAT_BYTES)
        if text and text == self._texts.get(pid):
            return known
        self._texts[pid] = text
        return _parse(pid, text)

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files.values():
            file.close()
        self._files, self._texts = {}, {}


def _parse(pid: int, text: bytes) -> Process | None:
    # A name may hold blanks and parentheses; nothing behind it does.
    end = text.rfind(b")")
    fields = text[end + 1 :].split()
    if end < 0 or len(fields) <= _PROCESSOR:
        return None
    try:
        return Process(
            pid=pid,
            parent=int(fields[_PARENT]),
            name=text[text.find(b"(") + 1 : end],
            start=int(fields[_START]),
            used=int(fields[_USER]) + int(fields[_SYSTEM]),
            reaped=int(fields[_REAPED_USER]) + int(fields[_REAPED_SYSTEM]),
            processor=int(fields[_PROCESSOR]),
        )
    except ValueError:
        return None


class _Thread(NamedTuple):
    first: int
    since_s: float
    last: int
    at_s: float


class LoadThreads:
    """The threads of the load tool: a tool with one thread is full at one core."""

    def __init__(self, proc: Path) -> None:
        self._proc = str(proc)
        self._threads: dict[tuple[int, int], _Thread] = {}
        self._looked_at_s = 0.0

    def begin(self, pids: tuple[int, ...], now_s: float) -> None:
        """Forget an earlier load; threads that are there already count from here."""
        self._threads = {}
        for thread, ticks in self._read(pids):
            self._threads[thread] = _Thread(ticks, now_s, ticks, now_s)
        self._looked_at_s = now_s

    def advance(self, pids: tuple[int, ...], now_s: float) -> None:
        """Look at all threads; a new one began after the last look, with nothing used."""
        for thread, ticks in self._read(pids):
            known = self._threads.get(thread) or _Thread(0, self._looked_at_s, 0, now_s)
            self._threads[thread] = known._replace(last=ticks, at_s=now_s)
        self._looked_at_s = now_s

    def busiest_ratio(self, ticks_per_s: float) -> float | None:
        """Give the busiest thread's share of one core, as long as it was seen; None without any."""
        return max(
            (
                min(1.0, (t.last - t.first) / ticks_per_s / (t.at_s - t.since_s))
                for t in self._threads.values()
                if t.at_s > t.since_s
            ),
            default=None,
        )

    def _read(self, pids: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], int]]:
        for pid in pids:
            folder = f"{self._proc}/{pid}/task"
            for name in _names(folder):
                text = read_bytes(f"{folder}/{name}/stat", _MOST_STAT_BYTES)
                fields = text[text.rfind(b")") + 1 :].split(None, _SYSTEM + 1)
                if len(fields) > _SYSTEM and name.isdigit():
                    ticks = [whole_number(fields[place]) or 0 for place in (_USER, _SYSTEM)]
                    yield (pid, int(name)), sum(ticks)


def _is_same(one: Process, other: Process | None) -> bool:
    # The number alone may have been given to another process.
    return other is not None and one.pid == other.pid and one.start == other.start


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - once a second; Path objects cost the double
    except OSError:
        return []
