"""Finds what a run left on the machine: processes, directories, leases, shared memory.

Looks in two ways that do not trust each other: at everything its leases ever named, and at
everything on the machine that carries the run's id.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.targets import process
from groundspeed.targets.leases import Lease

if TYPE_CHECKING:
    from groundspeed.targets.remains import OwnedProcess

PUBLIC_DIRECTORIES = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))


def leases(state: Path) -> list[Path]:
    """The leases that are there, of living and of dead runs."""
    return sorted(state.glob("*.lease"))


def is_running(owned: OwnedProcess) -> bool:
    # One that has ended stays as a zombie where its new parent, the init of a container, sleeps.
    here = process.start_ticks(owned.pid) == owned.start_ticks
    return here and _state(Path(f"/proc/{owned.pid}")) != "Z"


def processes_of(mark: str) -> list[tuple[int, str]]:
    """Processes whose command line, directory or environment has the mark; not this one."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        if int(path.name) == os.getpid():
            continue
        cmdline = _read(path / "cmdline")
        seen = cmdline + _link(path / "cwd") + _read(path / "environ")
        if mark in seen and _state(path) != "Z":
            found.append((int(path.name), cmdline.replace("\0", " ").strip()))
    return found


def servers_of(mark: str) -> list[int]:
    """Postmasters whose data directory carries the mark."""
    found = [
        pid
        for pid, cmdline in processes_of(mark)
        if re.search(r"bin/postgres -D ", cmdline) and "setpriv" not in cmdline
    ]
    # A backend that was just forked has the command line of its postmaster for a moment.
    forked = {child for pid in found for child in children_of(pid)}
    return [pid for pid in found if pid not in forked]


def system_v_segments() -> dict[str, int]:
    """System V shared memory: id and the process that made it."""
    rows = [row.split() for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {row[1]: int(row[4]) for row in rows}


def shared_memory_of(pid: int) -> set[Path]:
    """Files of POSIX shared memory that a process has mapped."""
    maps = _read(Path("/proc") / str(pid) / "maps")
    return {Path(name) for name in re.findall(r"(/dev/shm/PostgreSQL\.\d+)", maps)}


def children_of(pid: int) -> list[int]:
    """The backends of a postmaster: they map segments that it does not."""
    return [int(child) for child in _read(Path(f"/proc/{pid}/task/{pid}/children")).split()]


class Watch:
    """Remembers everything that the leases of a run named while it was looked at."""

    def __init__(self, state: Path, run_id: str, *directories: Path) -> None:
        self.run_id = run_id
        self.directories: set[Path] = set()
        self.processes: set[OwnedProcess] = set()
        self.shared_memory: set[Path] = set()
        self.segments: set[str] = set()
        self._state = state
        self._also = directories

    def look(self) -> None:
        """Read the leases and the machine as they are now."""
        for path in leases(self._state):
            if not path.name.startswith(self.run_id):
                continue
            for line in path.read_bytes().split(b"\n")[:-1]:
                lease = msgspec.json.decode(line, type=Lease)
                self.directories |= {Path(name) for name in lease.directories}
                self.processes |= set(lease.processes)
                self.shared_memory |= {Path(name) for name in lease.shared_memory}
        makers = {owned.pid for owned in self.processes}
        self.segments |= {name for name, pid in system_v_segments().items() if pid in makers}
        for maker in makers:
            for pid in (maker, *children_of(maker)):
                self.shared_memory |= shared_memory_of(pid)

    def leases_of(self, pid: int) -> list[Path]:
        """The leases that a process of the run took."""
        return [p for p in leases(self._state) if p.name == f"{self.run_id}.{pid}.lease"]

    def left(self) -> list[str]:
        """A line for each thing of the run that is still there."""
        lines = [f"process {pid}: {cmdline}" for pid, cmdline in processes_of(self.run_id)]
        lines += [f"process {owned.pid}" for owned in self.processes if is_running(owned)]
        named = {path for place in (*PUBLIC_DIRECTORIES, *self._also) for path in _owned(place)}
        lines += [f"directory {path}" for path in named if self.run_id in path.name]
        lines += [f"directory {path}" for path in self.directories if path.exists()]
        lines += [f"memory {path}" for path in self.shared_memory if path.exists()]
        lines += [f"segment {name}" for name in self.segments if name in system_v_segments()]
        lines += [f"lease {p}" for p in leases(self._state) if p.name.startswith(self.run_id)]
        return sorted(set(lines))


def _owned(place: Path) -> list[Path]:
    return list(place.glob("groundspeed-*"))


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _state(path: Path) -> str:
    stat = _read(path / "stat")
    return stat.rpartition(")")[2].split()[0] if stat else "Z"
