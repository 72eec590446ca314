"""Real servers lose the power of an emulated device: what they had promised is there, or is not."""

from __future__ import annotations

import contextlib
import shutil
import threading
from typing import TYPE_CHECKING

import psycopg
import pytest

from groundspeed.errors import TargetError
from groundspeed.targets import emulation, installation, process, remains
from groundspeed.targets.postmaster import Postmaster
from tests.server.power_cuts import RedisServer, losing
from tests.small_runs import account, needs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from groundspeed.storage.power_cut import DroppedWork
    from tests.server.power_cuts import Losing
    from tests.small_runs import Place

WRITERS = 4
FAR = 1_000_000


@pytest.fixture
def at(place: Place) -> Iterator[Losing]:
    try:
        emulation.shim_path()
    except TargetError as error:
        pytest.skip(error.message)
    with losing(place) as made:
        yield made


# -- PostgreSQL


class Database:
    """A PostgreSQL on the device."""

    def __init__(self, at: Losing) -> None:
        needs(16)
        programs = installation.find(16)
        self._at = at
        self._data = at.home / "data" / "cluster"
        arguments = ("-D", self._data, "-U", "owner", "-A", "trust", "-N", "--locale=C")
        made = process.run([programs.program("initdb"), *arguments], account=account(), cwd=at.home)
        assert made.returncode == 0, made.stderr
        with (self._data / "postgresql.conf").open("a") as file:
            file.write(f"unix_socket_directories='{at.home}'\nlisten_addresses=''\n")
            file.write("shared_buffers=16MB\nwal_writer_delay=2s\n")
        self._postmaster = Postmaster(
            programs.program("postgres"),
            self._data,
            at.home / "log",
            account=account(),
            lease=at.lease,
            variables=at.device.variables(),
        )

    def connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(f"host={self._at.home} user=owner dbname=postgres", autocommit=True)

    def execute(self, statement: str, setting: str | None = None) -> list[tuple[object, ...]]:
        with self.connect() as connection:
            if setting is not None:
                connection.execute(f"SET {setting}".encode())
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def running(self, **settings: str) -> Iterator[None]:
        """Run it, to an end in order unless it is killed meanwhile."""
        lines = "".join(f"{name} = '{value}'\n" for name, value in settings.items())
        (self._data / "postgresql.auto.conf").write_text(lines)
        # A server without fsync leaves it empty, and that stops the next, as after a real cut.
        lock = self._data / "postmaster.pid"
        if lock.exists() and not lock.read_text():
            lock.unlink()
        self._postmaster.start()
        assert self._postmaster.pid is not None
        try:
            yield
        finally:
            self._postmaster.stop()

    def numbers(self) -> set[int]:
        return {int(str(row[0])) for row in self.execute("SELECT number FROM written")}

    def written(self, at_least: int, *, since: int = 0) -> set[int]:
        """Commit numbers over several connections until the power goes; those acknowledged."""
        acknowledged: set[int] = set()
        enough = threading.Event()

        def write(first: int) -> None:
            number = since + first
            with contextlib.suppress(psycopg.OperationalError), self.connect() as connection:
                while True:
                    connection.execute("INSERT INTO written VALUES (%s)", [number])
                    acknowledged.add(number)
                    number += WRITERS
                    if len(acknowledged) >= at_least:
                        enough.set()

        writers = [threading.Thread(target=write, args=[first]) for first in range(WRITERS)]
        for writer in writers:
            writer.start()
        assert enough.wait(120)
        self._dropped = self._at.kill_and_cut()
        for writer in writers:
            writer.join()
        return acknowledged

    @property
    def dropped(self) -> DroppedWork:
        return self._dropped


def lost(at: Losing, settings: dict[str, str], at_least: int) -> tuple[int, int, DroppedWork]:
    """How many acknowledged numbers are gone, and how many there were; it has to recover."""
    database = Database(at)
    with database.running():
        database.execute("CREATE TABLE written (number int PRIMARY KEY)")
        database.execute("CHECKPOINT")
    with database.running(**settings):
        acknowledged = database.written(at_least)
    with database.running():
        there = database.numbers()
        # It goes on, and what it promises now is kept, too.
        again = database.written(at_least, since=FAR)
    with database.running():
        assert again <= database.numbers()
        by_index = "SELECT number FROM written WHERE number >= 0 ORDER BY number"
        assert "Index" in str(database.execute(f"EXPLAIN {by_index}", "enable_seqscan=off"))
        found = database.execute(by_index, "enable_seqscan=off")
        assert {int(str(row[0])) for row in found} == database.numbers()
    assert remains.users_of(at.device.state_file) == ()
    return len(acknowledged - there), len(acknowledged), database.dropped


@pytest.mark.parametrize(
    "settings",
    [
        {"synchronous_commit": "on"},
        {"synchronous_commit": "local"},
        {"wal_sync_method": "fsync"},
        {"wal_sync_method": "open_datasync"},
        {"full_page_writes": "on", "wal_recycle": "off", "wal_init_zero": "off"},
    ],
    ids=lambda settings: ", ".join(f"{name}={value}" for name, value in settings.items()),
)
def test_postgres_loses_no_transaction_it_synced(at: Losing, settings: dict[str, str]) -> None:
    missing, acknowledged, dropped = lost(at, settings, 400)
    assert missing == 0
    assert acknowledged >= 400
    assert not dropped.is_nothing


def test_postgres_without_synchronous_commit_loses_the_last_and_recovers(at: Losing) -> None:
    missing, acknowledged, _ = lost(at, {"synchronous_commit": "off"}, 2000)
    assert 0 < missing < acknowledged


def test_postgres_without_fsync_loses_what_it_promised(at: Losing) -> None:
    """Nothing is synced, and too little is dirty for the kernel to write back: all is lost."""
    database = Database(at)
    with database.running():
        database.execute("CREATE TABLE written (number int PRIMARY KEY)")
    with database.running(fsync="off"):
        acknowledged = database.written(2000)
    assert database.dropped.bytes > 0
    with database.running():
        assert acknowledged - database.numbers()


# -- Redis


def kept(
    at: Losing,
    policy: str,
    enough: Callable[[int, int], bool],
) -> tuple[list[int], list[int]]:
    """Set numbers until `enough(set, syncs so far)`, cut the power, and tell set and kept ones."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server here")
    settings = ("--appendonly", "yes", "--appendfsync", policy, "--save", "")
    server = RedisServer(at, program, *settings)
    connection = server.connect()
    done: list[int] = []
    try:
        while not enough(len(done), at.device.counters().syncs.calls_count):
            for number in range(len(done), len(done) + 10):
                assert connection.ask("SET", number, "x" * 100) == b"OK"
                done.append(number)
        at.kill_and_cut()
    finally:
        connection.close()
        server.end()
    server = RedisServer(at, program, *settings)
    connection = server.connect()
    try:
        there = [number for number in done if connection.ask("EXISTS", number) == b"1"]
    finally:
        connection.close()
        server.end()
    return done, there


def test_redis_that_always_syncs_loses_nothing(at: Losing) -> None:
    done, there = kept(at, "always", lambda count, _: count >= 500)
    assert there == done


def test_redis_that_syncs_every_second_loses_what_came_since(at: Losing) -> None:
    """What was set before the last sync but one is there; of what came after, the end is not."""
    marks: list[tuple[int, int]] = []

    def enough(count: int, syncs: int) -> bool:
        if not marks or marks[-1][1] != syncs:
            marks.append((count, syncs))
        # Three more of them than there were at the start, and something since.
        return len(marks) > 3 and count > marks[-1][0] + 200

    done, there = kept(at, "everysec", enough)
    assert there == done[: len(there)]
    assert marks[-2][0] <= len(there) < len(done)


def test_redis_that_never_syncs_keeps_what_the_kernel_wrote_back(at: Losing) -> None:
    """All of it is younger than the 30 s after which the kernel would have."""
    done, there = kept(at, "no", lambda count, _: count >= 2000)
    assert len(done) >= 2000
    assert there == []
