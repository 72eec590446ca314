"""Locks: one groundspeed a results directory, and who has a run open."""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import TYPE_CHECKING, Self

from groundspeed.errors import StoreError
from groundspeed.store.files import store_error

if TYPE_CHECKING:
    import io
    from pathlib import Path

_LOCK_FILE = ".groundspeed.lock"


class RunLock:
    """Holds the results directory of a run for one groundspeed; a context manager.

    The lock is the kernel's and ends with the process, however that ends.
    """

    def __init__(self, results_dir: Path) -> None:
        self._path = results_dir / _LOCK_FILE
        self._file: io.TextIOWrapper | None = None

    def __enter__(self) -> Self:
        """Take the lock. Raises StoreError when another groundspeed has it."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = self._path.open("a+")
        except OSError as error:
            raise store_error(error, self._path.parent) from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip() or "unknown"
            file.close()
            raise StoreError(
                f"{self._path.parent}: another groundspeed (pid {owner}) is measuring into it",
                "wait until it ends: two at once would disturb each other's figures",
            ) from None
        self._file = file
        # Only told to others: a disk too full for it is found, and said, where records are kept.
        with contextlib.suppress(OSError):
            file.truncate(0)
            os.write(file.fileno(), str(os.getpid()).encode())
        return self

    def __exit__(self, *_: object) -> None:
        """Give the lock back."""
        if self._file is not None:
            self._file.close()
            self._file = None


def is_locked(path: Path) -> bool:
    """Tell whether a process holds a lock on a file."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
