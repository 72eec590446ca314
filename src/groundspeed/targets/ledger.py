"""Writers of numbered entries: several threads, each with a connection, until the server is gone.

What an engine needs for it is `EntryWriter`; the rest is here. Entries are named "writer:number",
and one counts only once the server has acknowledged it.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

from groundspeed.errors import TargetError
from groundspeed.ports import Entry

if TYPE_CHECKING:
    from collections.abc import Callable

WRITER_COUNT = 4
_JOIN_LIMIT_S = 30.0


class EntryWriter(Protocol):
    """One connection that writes. Any exception of `write` ends it: the server is gone."""

    def write(self, name: str) -> None:
        """Write an entry, and come back when it is acknowledged."""
        ...

    def close(self) -> None:
        """Give the connection up; never fails."""
        ...


class EntryWriters:
    """All writers of one try."""

    def __init__(self, connect: Callable[[], EntryWriter]) -> None:
        """Start nothing yet."""
        self._connect = connect
        self._stop = threading.Event()
        self._idle = threading.Semaphore(0)
        self._threads: list[threading.Thread] = []
        self._entries: list[list[Entry]] = []

    def write_for(self, limit_s: float) -> None:
        """Write for so long. Raises TargetError when a writer could not even connect."""
        connections = [self._connect() for _ in range(WRITER_COUNT)]
        for index, connection in enumerate(connections):
            entries: list[Entry] = []
            self._entries.append(entries)
            thread = threading.Thread(
                target=self._write, args=(index, connection, entries), daemon=True
            )
            self._threads.append(thread)
            thread.start()
        deadline_s = time.monotonic() + limit_s
        for _ in connections:
            # Given back only by a writer that has ended: before its time, nobody has.
            if not self._idle.acquire(timeout=max(0.0, deadline_s - time.monotonic())):
                return
        raise TargetError("no writer could write any more", "see the server's log")

    def _write(self, index: int, connection: EntryWriter, entries: list[Entry]) -> None:
        number = 0
        try:
            while not self._stop.is_set():
                name = f"{index}:{number}"
                connection.write(name)
                entries.append(Entry(name=name, at_ns=time.monotonic_ns()))
                number += 1
        except Exception:  # noqa: BLE001 - each client has its own for a server that is gone
            return
        finally:
            connection.close()
            self._idle.release()

    def close(self) -> tuple[Entry, ...]:
        """End all writers and give what was acknowledged. Raises TargetError when one hangs."""
        self._stop.set()
        for thread in self._threads:
            thread.join(_JOIN_LIMIT_S)
            if thread.is_alive():
                raise TargetError("a writer hangs", "see the server's log")
        return tuple(entry for entries in self._entries for entry in entries)
