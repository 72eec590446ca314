"""What a run is about to own, written down before it exists; and the sweep after a dead run.

A lease is a file with a kernel lock that ends with its process. The next groundspeed command takes
every lease that nobody holds, removes exactly what it names, and then the lease itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

import msgspec
import platformdirs

from groundspeed.errors import TargetError
from groundspeed.targets import remains
from groundspeed.targets.remains import OwnedProcess

if TYPE_CHECKING:
    from collections.abc import Callable

LEASE_FORMAT = 1
# Part of the name of every directory a run makes; nothing without it is ever removed.
OWNED_NAME = "groundspeed-"


class OwnedDatabase(msgspec.Struct, frozen=True, kw_only=True):
    """A database on a given server; dropped only while it carries our comment."""

    conninfo: str
    name: str
    password_env: str | None
    comment: str


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """All that one running groundspeed owns. `parents` are removed only when they are empty."""

    format: int = LEASE_FORMAT
    run_id: str
    directories: tuple[str, ...] = ()
    parents: tuple[str, ...] = ()
    processes: tuple[OwnedProcess, ...] = ()
    databases: tuple[OwnedDatabase, ...] = ()
    shared_memory: tuple[str, ...] = ()
    # Files in those directories: while a process maps one, the whole lease stands. A server that a
    # command started on emulated storage outlives both the command and us.
    kept_while_mapped: tuple[str, ...] = ()


def state_directory() -> Path:
    """Where leases are; GROUNDSPEED_STATE_DIR overrides the user's state directory."""
    override = os.environ.get("GROUNDSPEED_STATE_DIR")
    return Path(override) if override else platformdirs.user_state_path("groundspeed")


class LeaseFile:
    """The lease of this process; a context manager. Every change is on disk before it returns."""

    def __init__(self, run_id: str) -> None:
        self._path = state_directory() / f"{run_id}.{os.getpid()}.lease"
        self._lease = Lease(run_id=run_id)
        self._file: IO[bytes] | None = None

    def __enter__(self) -> Self:
        """Take the lease. Raises TargetError when the state directory cannot be written."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file = self._take()
        except OSError as error:
            raise TargetError(
                f"{self._path.parent}: {error.strerror}",
                "set GROUNDSPEED_STATE_DIR to a directory you may write",
            ) from None
        self._write()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what is still owned, and the lease; all of it stays while it is in use."""
        if not in_use(self._lease) and not release(self._lease, drop_database=None):
            self._path.unlink(missing_ok=True)
        if self._file is not None:
            self._file.close()

    def _take(self) -> IO[bytes]:
        while True:
            file = self._path.open("ab")
            fcntl.flock(file, fcntl.LOCK_EX)
            # A sweep between the two may have taken the empty file for a dead run's and removed it.
            with contextlib.suppress(FileNotFoundError):
                if self._path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                    return file
            file.close()

    def _write(self) -> None:
        if self._file is None:
            raise RuntimeError("a lease is entered before it is used")
        # Appended, a line a state: replacing the file would lose the lock, writing over it could
        # be torn. The last whole line is what is owned.
        self._file.write(msgspec.json.encode(self._lease) + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _change(self, **changes: object) -> None:
        self._lease = msgspec.structs.replace(self._lease, **changes)
        self._write()

    def own_directory(self, path: Path) -> None:
        """Note a directory that is about to be made. Its name must tell that it is ours."""
        if OWNED_NAME not in path.name:
            msg = f"{path} does not carry {OWNED_NAME}"
            raise ValueError(msg)
        missing = [p for p in path.parents if not p.exists()]
        self._change(
            directories=(*self._lease.directories, str(path)),
            parents=(*self._lease.parents, *map(str, missing)),
        )

    def own_process(self, pid: int) -> OwnedProcess:
        """Note a process that was just started."""
        owned = remains.identify(pid)
        self._change(processes=(*self._lease.processes, owned))
        return owned

    def own_shared_memory(self, names: tuple[str, ...]) -> None:
        """Note POSIX shared memory (paths) that a server made and that outlives its SIGKILL."""
        self._change(shared_memory=(*self._lease.shared_memory, *names))

    def keep_while_mapped(self, path: Path) -> None:
        """Note a file whose users may outlive us: until they end, nothing of this lease goes."""
        self._change(kept_while_mapped=(*self._lease.kept_while_mapped, str(path)))

    def own_database(self, database: OwnedDatabase) -> None:
        """Note a database that is about to be created."""
        self._change(databases=(*self._lease.databases, database))

    def disown_process(self, owned: OwnedProcess) -> None:
        """Forget a process that has ended."""
        self._change(processes=tuple(p for p in self._lease.processes if p != owned))

    def disown_shared_memory(self, names: tuple[str, ...]) -> None:
        """Forget the shared memory of a server that has ended; one that was killed left it."""
        for name in names:
            remains.remove_shared_memory(name)
        self._change(shared_memory=tuple(n for n in self._lease.shared_memory if n not in names))

    def disown_directory(self, path: Path) -> None:
        """Forget a directory that is gone."""
        self._change(directories=tuple(d for d in self._lease.directories if d != str(path)))

    def disown_database(self, database: OwnedDatabase) -> None:
        """Forget a database that was dropped."""
        self._change(databases=tuple(d for d in self._lease.databases if d != database))


def in_use(lease: Lease) -> bool:
    """Tell whether a process that we do not own uses what a lease names."""
    return any(remains.users_of(Path(path)) for path in lease.kept_while_mapped)


def remove_directory(path: Path) -> None:
    """Remove a directory of ours, with what a dead server left outside it. Raises OSError."""
    if OWNED_NAME not in path.name:
        return
    remains.end_servers_of(path)
    remains.remove_interlock(path / "data")
    if path.exists():
        shutil.rmtree(path)


def release(
    lease: Lease, *, drop_database: Callable[[OwnedDatabase], None] | None
) -> tuple[str, ...]:
    """Remove what a lease names; returns a line for each thing that could not be removed."""
    problems: list[str] = []
    for owned in lease.processes:
        remains.end(owned)
    for name in lease.shared_memory:
        remains.remove_shared_memory(name)
    for directory in lease.directories:
        try:
            remove_directory(Path(directory))
        except OSError as error:
            problems.append(f"{directory}: {error.strerror}")
    for parent in sorted(lease.parents, key=len, reverse=True):
        with contextlib.suppress(OSError):
            Path(parent).rmdir()
    for database in lease.databases:
        try:
            if drop_database is None:
                problems.append(f"database {database.name} was not dropped")
            else:
                drop_database(database)
        except TargetError as error:
            problems.append(f"database {database.name}: {error.message}")
    return tuple(problems)


def sweep(drop_database: Callable[[OwnedDatabase], None] | None) -> tuple[str, ...]:
    """Remove what dead runs left, and only that; returns a line for each thing that is left.

    Leases that a living groundspeed holds are not touched.
    """
    problems: list[str] = []
    for path in sorted(state_directory().glob("*.lease")):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            lines = file.read().split(b"\n")[:-1]
            if not lines:
                # Torn while the first line was written: nothing was made before it was whole.
                path.unlink(missing_ok=True)
                continue
            lease = msgspec.json.decode(lines[-1], type=Lease)
            if in_use(lease):
                continue
            left = release(lease, drop_database=drop_database)
            if not left:
                path.unlink(missing_ok=True)
            problems += [f"left by run {lease.run_id}: {line}" for line in left]
    return tuple(problems)
