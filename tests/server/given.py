"""A PostgreSQL that the tests own and groundspeed does not."""

from __future__ import annotations

import os
import re
import secrets
import select
import shutil
import signal
import socket
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql

from groundspeed.targets import installation
from tests.small_runs import account, needs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.targets.installation import Installation

_POLL_S = 0.02
_START_POLLS = 1500


class Given:
    """How the tests reach it, as its superuser."""

    def __init__(self, home: Path, port: int, password: str) -> None:
        self.home = home
        self.port = port
        self.password = password

    def dsn(self, *, user: str = "owner", host: str | None = None, **more: str) -> str:
        return psycopg.conninfo.make_conninfo(
            "", host=host or str(self.home), port=self.port, user=user, **more
        )

    def connect(self, dbname: str = "postgres") -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            self.dsn(dbname=dbname, sslmode="prefer", client_encoding="UTF8"),
            password=self.password,
            autocommit=True,
        )

    def execute(self, statement: str, dbname: str = "postgres") -> list[tuple[object, ...]]:
        with self.connect(dbname) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def databases(self) -> set[object]:
        return {row[0] for row in self.execute("SELECT datname FROM pg_database")}

    def create_database(self, name: str) -> None:
        with self.connect() as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))

    def create_user(self, name: str, rights: str) -> str:
        """Make a user with a password of its own; gives that back."""
        password = f"secret-of-{name}-{secrets.token_hex(8)}"
        self.execute(f"DROP ROLE IF EXISTS {name}")
        self.execute(f"CREATE ROLE {name} LOGIN {rights} PASSWORD '{password}'")
        return password


def _run(programs: Installation, name: str, *arguments: str | Path) -> None:
    done = subprocess.run(
        [*_as_nobody(), str(programs.program(name)), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr


def _as_nobody() -> list[str]:
    user = account()
    if user is None:
        return []
    return ["setpriv", "--reuid", str(user.uid), "--regid", str(user.gid), "--clear-groups", "--"]


def _certificate(home: Path) -> None:
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
    done = subprocess.run(
        [
            *command.split(),
            *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"),
            *("-keyout", str(home / "server.key"), "-out", str(home / "server.crt")),
        ],
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (home / "server.key").chmod(0o600)


def _has_tls(programs: Installation) -> bool:
    done = subprocess.run(
        [programs.program("pgbench"), "-i", "host=/nonexistent sslmode=require"],
        capture_output=True,
        text=True,
        check=False,
    )
    return not re.search("SSL support is not compiled in", done.stderr)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serve(version: int, *, tls: bool = False) -> Iterator[Given]:
    """Start a server with scram on its socket and on loopback; it is ended by its id."""
    needs(version)
    programs = installation.find(version)
    if tls and not _has_tls(programs):
        pytest.skip(f"PostgreSQL {programs.version} here has no TLS")
    if tls and shutil.which("openssl") is None:
        pytest.skip("no openssl here to make a certificate")
    home = Path(tempfile.mkdtemp(prefix="given-", dir="/tmp"))
    given = Given(home, free_port(), f"password-of-owner-{secrets.token_hex(8)}")
    (home / "password").write_text(given.password)
    settings = [
        *("-c", f"port={given.port}", "-c", "listen_addresses=127.0.0.1"),
        *("-c", f"unix_socket_directories={home}", "-c", "fsync=off"),
        *("-c", "shared_buffers=16MB", "-c", "log_statement=all"),
    ]
    if tls:
        _certificate(home)
        settings += ["-c", "ssl=on", "-c", f"ssl_cert_file={home / 'server.crt'}"]
        settings += ["-c", f"ssl_key_file={home / 'server.key'}"]
    user = account()
    if user is not None:
        for path in (home, *home.iterdir()):
            os.chown(path, user.uid, user.gid)
    try:
        data = home / "data"
        method = ("-A", "scram-sha-256", f"--pwfile={home / 'password'}")
        _run(programs, "initdb", "-D", data, "-U", "owner", "-N", "--locale=C", *method)
        with (home / "log").open("wb") as log:
            server = subprocess.Popen(
                [*_as_nobody(), str(programs.program("postgres")), "-D", str(data), *settings],
                stdout=log,
                stderr=log,
                cwd="/",
            )
        try:
            _wait_until_ready(server, data, home / "log")
            yield given
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait()
    finally:
        shutil.rmtree(home)


def _wait_until_ready(server: subprocess.Popen[bytes], data: Path, log: Path) -> None:
    for _ in range(_START_POLLS):
        assert server.poll() is None, log.read_text()
        try:
            if "ready" in (data / "postmaster.pid").read_text():
                return
        except OSError:
            pass
        select.select([], [], [], _POLL_S)
    pytest.fail(log.read_text())
