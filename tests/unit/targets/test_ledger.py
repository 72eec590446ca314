"""Writers of numbered entries: what counts is what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from groundspeed.errors import TargetError
from groundspeed.targets.ledger import WRITER_COUNT, EntryWriters


class GoneError(Exception):
    """What a client raises when its server is gone."""


class Server:
    """Acknowledges so many entries of each connection, then is gone."""

    def __init__(self, room: int | None = None) -> None:
        self.kept: list[str] = []
        self.closed_count = 0
        self.gone = threading.Event()
        self._room = room
        self._lock = threading.Lock()

    def connect(self) -> Connection:
        return Connection(self)

    def keep(self, connection: Connection, name: str) -> None:
        full = self._room is not None and connection.written_count >= self._room
        if full or self.gone.is_set():
            raise GoneError
        connection.written_count += 1
        with self._lock:
            self.kept.append(name)

    def forget(self) -> None:
        with self._lock:
            self.closed_count += 1


class Connection:
    """One of its clients."""

    def __init__(self, server: Server) -> None:
        self.written_count = 0
        self._server = server

    def write(self, name: str) -> None:
        self._server.keep(self, name)
        # As over a network: others get their turn.
        time.sleep(0)

    def close(self) -> None:
        self._server.forget()


def test_every_acknowledged_entry_counts_once_and_in_order() -> None:
    server = Server()
    writers = EntryWriters(server.connect)
    writers.write_for(0.05)
    server.gone.set()
    entries = writers.close()
    assert Counter(entry.name for entry in entries) == Counter(server.kept)
    by_writer: dict[str, list[int]] = {}
    for entry in entries:
        by_writer.setdefault(entry.name.partition(":")[0], []).append(entry.at_ns)
    assert len(by_writer) == WRITER_COUNT
    assert all(times == sorted(times) for times in by_writer.values())
    assert server.closed_count == WRITER_COUNT


def test_it_ends_where_the_server_lives_on() -> None:
    server = Server()
    writers = EntryWriters(server.connect)
    writers.write_for(0.01)
    entries = writers.close()
    assert sorted(entry.name for entry in entries) == sorted(server.kept)
    assert server.closed_count == WRITER_COUNT


def test_a_server_that_is_gone_before_its_time_is_told() -> None:
    server = Server(room=3)
    writers = EntryWriters(server.connect)
    with pytest.raises(TargetError, match="no writer could write any more"):
        writers.write_for(60.0)
    assert len(writers.close()) == 3 * WRITER_COUNT


def test_a_server_that_cannot_be_reached_is_told() -> None:
    def refuse() -> Connection:
        raise TargetError("connection refused", "start it")

    with pytest.raises(TargetError, match="connection refused"):
        EntryWriters(refuse).write_for(60.0)
