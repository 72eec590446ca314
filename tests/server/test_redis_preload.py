"""Configuration and preloading, with a real redis-server on a unix socket."""

from __future__ import annotations

import random
import select
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import TargetError
from groundspeed.targets import redis_keys
from groundspeed.targets.redis_client import Address
from groundspeed.targets.redis_keys import KeySpace, Load
from groundspeed.targets.redis_preload import key_name, preload
from groundspeed.tools import redis_info, redis_server, resp
from groundspeed.tools.redis_server import Mode, Persistence, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(
    shutil.which("redis-server") is None, reason="redis-server is not installed"
)


class Server:
    """A server that may be killed and started again on the same files."""

    def __init__(self, directory: Path, mode: Mode, **settings: str) -> None:
        self.directory = directory
        place = Place(directory=str(directory))
        self.socket = redis_server.socket_path(place)
        self.config = directory / redis_server.CONFIG_NAME
        self.config.write_text(
            redis_server.configuration(
                place, Persistence(mode=mode), settings=tuple(settings.items())
            )
        )
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(["redis-server", str(self.config)])
        for _ in range(500):
            try:
                if self.ask("PING") == b"PONG":
                    return
            except OSError:
                pass
            assert self.process.poll() is None
            select.select([], [], [], 0.02)
        pytest.fail("the server does not answer")

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(self.socket)
        except OSError:
            connection.close()
            raise
        return connection

    def ask(self, *parts: str | bytes) -> resp.Reply:
        with self.connect() as connection:
            connection.sendall(resp.encode(*parts))
            data = b""
            while (decoded := resp.decode(data)) is None:
                data += connection.recv(65_536)
            return decoded[0]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def directory() -> Iterator[Path]:
    # pytest's own is longer than a unix socket's path may be.
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def filled(server: Server, key_count: int, payload_bytes: int) -> list[int]:
    told: list[int] = []
    with server.connect() as connection:
        preload(
            connection,
            key_count=key_count,
            payload_bytes=payload_bytes,
            rng=random.Random(1),
            on_progress=told.append,
        )
    return told


@pytest.mark.parametrize(("key_count", "payload_bytes"), [(3000, 100), (12, 180_000), (1, 1)])
def test_every_key_is_there_with_a_value_that_does_not_compress(
    directory: Path, key_count: int, payload_bytes: int
) -> None:
    server = Server(directory, Mode.NONE)
    try:
        told = filled(server, key_count, payload_bytes)
        assert told == sorted(told)
        assert told[-1] == server.ask("DBSIZE") == key_count
        value = server.ask("GET", key_name(key_count - 1))
        assert isinstance(value, bytes)
        assert len(value) == payload_bytes
        assert len(set(value)) > min(payload_bytes, 200) // 2
    finally:
        server.kill()


def test_with_a_log_the_keys_survive_a_kill(directory: Path) -> None:
    server = Server(directory, Mode.AOF_ALWAYS)
    try:
        filled(server, 2000, 100)
        server.kill()
        server.start()
        assert server.ask("DBSIZE") == 2000
    finally:
        server.kill()


def test_without_one_they_do_not(directory: Path) -> None:
    server = Server(directory, Mode.NONE)
    try:
        filled(server, 2000, 100)
        server.kill()
        server.start()
        assert server.ask("DBSIZE") == 0
    finally:
        server.kill()


def test_a_full_memory_is_told_in_the_servers_words(directory: Path) -> None:
    server = Server(directory, Mode.NONE, maxmemory="4mb")
    try:
        with pytest.raises(TargetError, match="OOM command not allowed"):
            filled(server, 100, 180_000)
    finally:
        server.kill()


def read_by(server: Server, key_count: int, payload_bytes: int) -> int:
    load = Load(
        spaces=(KeySpace(prefix="key:", count=key_count),),
        payload_bytes=payload_bytes,
        reads_values=True,
    )
    return redis_keys.seed(Address(url=f"unix://{server.socket}"), load)


# Fewer than a batch holds, more, and values of which few fit into one.
@pytest.mark.parametrize(("key_count", "payload_bytes"), [(5, 100), (2500, 100), (30, 180_000)])
def test_keys_that_will_be_read_are_made_where_they_are_missing(
    directory: Path, key_count: int, payload_bytes: int
) -> None:
    server = Server(directory, Mode.AOF_ALWAYS)
    try:
        kept, lost = key_name(key_count - 1), key_name(key_count - 2)
        server.ask("SET", kept, "mine")
        assert read_by(server, key_count, payload_bytes) == key_count - 1
        assert server.ask("DBSIZE") == key_count
        assert server.ask("GET", kept) == b"mine"
        assert server.ask("STRLEN", lost) == payload_bytes
        server.ask("DEL", lost)
        assert read_by(server, key_count, payload_bytes) == 1
        assert read_by(server, key_count, payload_bytes) == 0
    finally:
        server.kill()


def test_a_key_that_is_refused_is_told_of(directory: Path) -> None:
    server = Server(directory, Mode.NONE, maxmemory="4mb")
    try:
        with pytest.raises(TargetError, match="OOM command not allowed"):
            read_by(server, 100, 180_000)
    finally:
        server.kill()


def test_the_server_has_what_was_written_and_nothing_else(directory: Path) -> None:
    server = Server(directory, Mode.AOF_EVERYSEC, maxmemory="1gb")
    try:
        told = server.ask("INFO")
        assert isinstance(told, bytes)
        info = redis_info.parse_info(told.decode())
        assert (info.aof_enabled, info.memory_limit_bytes) == (True, 1024**3)
        assert server.ask("CONFIG", "GET", "save") == (b"save", b"")
        assert server.ask("CONFIG", "GET", "appendfsync") == (b"appendfsync", b"everysec")
        assert server.ask("CONFIG", "GET", "unixsocketperm") == (b"unixsocketperm", b"700")
    finally:
        server.kill()
