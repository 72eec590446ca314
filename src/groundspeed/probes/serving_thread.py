"""The one thread that serves all clients, as the kernel shows it: at work, in a call, or idle.

A server that keeps its data in memory answers from one thread: while that waits for a device, all
clients do. Another of its threads syncs the log in the background, which holds the log's writes
back: what the one is at beside that is counted apart. It reads /proc, changes nothing and stops
nobody. What it cannot see it says.
"""

from __future__ import annotations

import os
import stat
from enum import Enum
from typing import NamedTuple

from groundspeed.probes.kernel_files import KeptFile, read_bytes
from groundspeed.record.evidence import WaitCount, WaitGroup

# Numbers of system calls by machine (asm/unistd.h): waiting for clients, syncing, writing, asleep.
_IDLE = {"x86_64": {7, 23, 232, 270, 271, 281, 441}, "aarch64": {22, 72, 73, 441}}
_SYNC = {"x86_64": {26, 74, 75, 277}, "aarch64": {82, 83, 84, 227}}
_WRITE = {"x86_64": {1, 18, 20}, "aarch64": {64, 66, 68}}
# No server of this kind pauses while it serves: an emulated device lets it sleep.
_SLEEP = {"x86_64": {35, 230}, "aarch64": {101, 115}}
# What a thread is called that syncs the log: bio_aof_fsync of Redis 6 and 7.0, later bio_aof. It
# does nothing else, so it is at a sync unless it waits for the next (futex).
_SYNCS_LOG = b"bio_aof"
_RESTING = {"x86_64": {202}, "aarch64": {98}}
_MOST_BYTES = 256
_NS_PER_S = 1e9


class Doing(Enum):
    """What the thread is at; the word is that of its column in a series."""

    IDLE = "idle"
    CPU = "cpu"
    # At work while another thread syncs the log, and what would be written waits in memory.
    HELD = "held"
    LOG_SYNC = "log"
    LOG_WRITE = "log write"
    DEVICE = "device"
    OTHER = "other"


_WAITS = {
    Doing.CPU: ("CPU", ""),
    Doing.HELD: ("CPU", "LogHeld"),
    Doing.LOG_SYNC: ("IO", "LogSync"),
    Doing.LOG_WRITE: ("IO", "LogWrite"),
    Doing.DEVICE: ("IO", "Device"),
    Doing.OTHER: ("Other", ""),
}
# Work, and syncing and writing the log, are one column each; they are apart in the sums.
_COLUMNS = {
    "main_cpu_ratio": (Doing.CPU, Doing.HELD),
    "main_log_ratio": (Doing.LOG_SYNC, Doing.LOG_WRITE),
    "main_device_ratio": (Doing.DEVICE,),
    "main_other_ratio": (Doing.OTHER,),
}


class Times(NamedTuple):
    """Seconds on a core and ready for one, since the thread began."""

    busy_s: float
    ready_s: float


class ServingThread:
    """The first thread of process `pid`; of a server elsewhere (None) nothing is seen."""

    def __init__(self, pid: int | None, *, proc: str = "/proc", machine: str | None = None) -> None:
        self._process = None if pid is None else f"{proc}/{pid}"
        task = f"{proc}/{pid}/task/{pid}"
        self._call = KeptFile(f"{task}/syscall")
        self._account = KeptFile(f"{task}/schedstat")
        self._log_call: KeptFile | None = None
        self._machine = os.uname().machine if machine is None else machine
        self._counts: dict[Doing, int] = {}
        self._second: dict[Doing, int] = {}

    @property
    def source(self) -> str:
        """Where its calls are seen."""
        return "/proc/PID/syscall of the serving thread"

    @property
    def sample_count(self) -> int:
        """How often it was seen since `begin`."""
        return sum(self._counts.values())

    def why_unseen(self) -> str | None:
        """Say why its calls cannot be seen; None where they can."""
        if self._process is None:
            return "the server runs elsewhere"
        if self._machine not in _IDLE:
            return f"system calls of {self._machine} are not known here"
        if not self._call.read_record(_MOST_BYTES):
            return "the kernel does not let this user see the server's calls (/proc/PID/syscall)"
        return None

    def begin(self) -> None:
        """Forget what was seen; find who syncs the log, as a server may have been started anew."""
        self._counts, self._second = {}, {}
        if self._log_call is not None:
            self._log_call.close()
        self._log_call = self._find_log_call()

    def look(self) -> None:
        """Note what it is at."""
        doing = self._doing()
        if doing is Doing.CPU and self._is_log_in_sync():
            doing = Doing.HELD
        if doing is not None:
            self._counts[doing] = self._counts.get(doing, 0) + 1
            self._second[doing] = self._second.get(doing, 0) + 1

    def take_second(self) -> dict[str, float]:
        """Give shares of the looks since the last call, by column of a series; none without any."""
        seen, self._second = self._second, {}
        total = sum(seen.values())
        if not total:
            return {}
        return {
            column: sum(seen.get(doing, 0) for doing in doings) / total
            for column, doings in _COLUMNS.items()
        }

    def waits(self) -> tuple[WaitCount, ...]:
        """Sum up where it was, the most frequent first, without waiting for clients."""
        ranked = sorted(self._counts.items(), key=lambda item: -item[1])
        return tuple(
            WaitCount(
                group=WaitGroup.CLIENT,
                wait_class=_WAITS[doing][0],
                event=_WAITS[doing][1],
                sample_count=count,
            )
            for doing, count in ranked
            if doing in _WAITS
        )

    def times(self) -> Times | None:
        """Read the scheduler's account of it; None where there is none."""
        words = b"" if self._process is None else self._account.read_record(_MOST_BYTES)
        parts = words.split()
        if len(parts) < 2 or not (parts[0] + parts[1]).isdigit():  # noqa: PLR2004 - two are read
            return None
        return Times(int(parts[0]) / _NS_PER_S, int(parts[1]) / _NS_PER_S)

    def close(self) -> None:
        """Let go of the files."""
        self._call.close()
        self._account.close()
        if self._log_call is not None:
            self._log_call.close()

    def _find_log_call(self) -> KeptFile | None:
        if self._process is None or self._machine not in _IDLE:
            return None
        try:
            tasks = os.listdir(f"{self._process}/task")  # noqa: PTH208 - names are all it takes
        except OSError:
            return None
        for task in tasks:
            name = read_bytes(f"{self._process}/task/{task}/comm")
            if name.startswith(_SYNCS_LOG):
                return KeptFile(f"{self._process}/task/{task}/syscall")
        return None

    def _is_log_in_sync(self) -> bool:
        """Whether a sync of the log is under way in the background, on its device or in line."""
        words = b"" if self._log_call is None else self._log_call.read_record(_MOST_BYTES)
        call = words.split()[:1]
        if not call or not call[0].isdigit():
            return call == [b"running"]
        return int(call[0]) not in _RESTING[self._machine]

    def _doing(self) -> Doing | None:
        if self._process is None or self._machine not in _IDLE:
            return None
        words = self._call.read_record(_MOST_BYTES).split()
        if not words:
            return None
        # "running" is also who is ready to run, and waits for a core.
        if words[0] == b"running":
            return Doing.CPU
        if not words[0].isdigit():
            return Doing.OTHER
        return self._in_call(int(words[0]), words)

    def _in_call(self, number: int, words: list[bytes]) -> Doing:
        machine = self._machine
        if number in _IDLE[machine]:
            return Doing.IDLE
        if number in _SYNC[machine]:
            return Doing.LOG_SYNC
        if number in _SLEEP[machine]:
            return Doing.DEVICE
        if number in _WRITE[machine]:
            return Doing.LOG_WRITE if self._is_file(words[1:2]) else Doing.CPU
        return Doing.OTHER

    def _is_file(self, words: list[bytes]) -> bool:
        """Whether the call's first argument, a descriptor, is a file and no client's socket."""
        try:
            found = os.stat(f"{self._process}/fd/{int(words[0], 16)}")  # noqa: PTH116 - ten times a second; Path objects cost the double
        except (OSError, ValueError, IndexError):
            return False
        return stat.S_ISREG(found.st_mode)
