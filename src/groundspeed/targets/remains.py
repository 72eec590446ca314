"""What a server that was killed leaves outside its directory: processes, shared memory.

PostgreSQL takes both along when it ends in any way but SIGKILL. Only what is ours is touched:
processes by an identity that is never given twice, memory by the names its owner had mapped.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import msgspec

from groundspeed.targets import process

# Debian's redis-server is a link to its redis-check-rdb.
_REDIS_PROGRAMS = frozenset(
    {
        *("redis-server", "redis-check-rdb", "redis-benchmark"),
        *("valkey-server", "valkey-check-rdb", "valkey-benchmark"),
    }
)
_SERVER_PROGRAMS = frozenset({"postgres", "initdb", "pgbench"}) | _REDIS_PROGRAMS
_SHARED_MEMORY = re.compile(r"/dev/shm/PostgreSQL\.(\d+)")  # noqa: S108 - PostgreSQL's own
# A control segment has some ten thousand bytes; the largest that is worth reading.
_CONTROL_BYTES = 1024 * 1024


class OwnedProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process, by the one identity that is never given twice."""

    pid: int
    start_ticks: int
    boot_id: str


def identify(pid: int) -> OwnedProcess:
    """Give a process its lasting identity."""
    return OwnedProcess(
        pid=pid, start_ticks=process.start_ticks(pid) or 0, boot_id=process.boot_id()
    )


def shared_memory_of(pid: int) -> tuple[str, ...]:
    """POSIX shared memory (paths) that a server has mapped; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ()
    return tuple(sorted({match[0] for match in _SHARED_MEMORY.finditer(text)}))


def children_of(pid: int) -> tuple[int, ...]:
    """Children of a process now; empty when it is gone."""
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return ()
    return tuple(int(child) for child in text.split())


def maps_file(pid: int, path: Path) -> bool | None:
    """Tell whether a process has a file mapped; None where that cannot be seen or it is gone."""
    try:
        text = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return None
    # The kernel names the real path: /dev/shm itself is a symbolic link on some systems.
    end = f" {path.resolve()}"
    # A process that has ended and was not waited for yet maps nothing at all.
    return any(line.endswith(end) for line in text.splitlines()) if text else None


def users_of(path: Path) -> tuple[int, ...]:
    """Processes that have a file mapped, as far as this user may see them."""
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return tuple(sorted(pid for pid in pids if maps_file(pid, path)))


def remove_shared_memory(name: str) -> None:
    """Remove a segment that a killed server left, and those that it lists.

    The first segment of a server, its control segment, holds the numbers of all others. Where in it
    they stand differs by version, so any of its words that is the number of a segment counts; a
    number is random in four billion.
    """
    if not _SHARED_MEMORY.fullmatch(name):
        return
    path = Path(name)
    with contextlib.suppress(OSError):
        with path.open("rb") as file:
            data = file.read(_CONTROL_BYTES)
        numbers = {number for (number,) in struct.iter_unpack("=I", data[: len(data) // 4 * 4])}
        for other in path.parent.glob("PostgreSQL.*"):
            same_owner = other.stat().st_uid == path.stat().st_uid
            if same_owner and int(other.name.partition(".")[2]) in numbers:
                other.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def _is_running(owned: OwnedProcess) -> bool:
    return (
        owned.boot_id == process.boot_id() and process.start_ticks(owned.pid) == owned.start_ticks
    )


def end(owned: OwnedProcess) -> None:
    """End a process, if it is still the one that was noted."""
    # SIGQUIT is PostgreSQL's immediate shutdown: it takes its backends and shared memory along. To
    # a Redis it would be the order to write its memory into a core file.
    first = [] if _program_of(owned.pid) in _REDIS_PROGRAMS else [signal.SIGQUIT]
    for number, patience_s in ((number, 5.0) for number in (*first, signal.SIGKILL)):
        if not _is_running(owned):
            return
        try:
            descriptor = os.pidfd_open(owned.pid)
        except ProcessLookupError:
            return
        try:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, signal.SIGCONT)
                signal.pidfd_send_signal(descriptor, number)
            _wait_gone(descriptor, patience_s)
        finally:
            os.close(descriptor)


def _program_of(pid: int) -> str | None:
    """Name of the program that a process is; None where that cannot be seen."""
    try:
        name = Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return None
    return name.removesuffix(" (deleted)")


def _wait_gone(pidfd: int, patience_s: float) -> None:
    select.select([pidfd], [], [], patience_s)


def _servers_of(path: Path) -> list[OwnedProcess]:
    """Processes that work in a directory of ours, or were told to by initdb."""
    mark = f"PGDATA={path}/".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # Never a person's shell that happens to stand there.
            if _program_of(int(folder.name)) not in _SERVER_PROGRAMS:
                continue
            inside = (folder / "cwd").readlink().is_relative_to(path)
            if inside or mark in (folder / "environ").read_bytes():
                found.append(identify(int(folder.name)))
    return found


def end_servers_of(path: Path) -> None:
    """End every server program that works in a directory of ours, with its shared memory."""
    # The children of an initdb or a postmaster that was killed write on for a while, under names
    # and ids that no lease holds. A few rounds, as a shell among them may just start the next.
    for _ in range(5):
        servers = [owned for owned in _servers_of(path) if owned.pid != os.getpid()]
        if not servers:
            return
        for owned in servers:
            # A server that initdb started leaves it even when it ends by SIGQUIT.
            shared_memory = shared_memory_of(owned.pid)
            end(owned)
            for name in shared_memory:
                remove_shared_memory(name)


def remove_interlock(data_directory: Path) -> None:
    """Remove the System V segment that a SIGKILLed postmaster leaves, once nobody uses it."""
    try:
        lines = (data_directory / "postmaster.pid").read_text().splitlines()
        shared_memory_id = lines[6].split()[1]
    except (OSError, IndexError):
        return
    for row in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
        columns = row.split()
        if columns[1] == shared_memory_id and columns[6] == "0" and shutil.which("ipcrm"):
            subprocess.run(
                ["ipcrm", "-m", shared_memory_id],  # noqa: S607
                check=False,
                capture_output=True,
                env=process.kept_variables(),
            )
