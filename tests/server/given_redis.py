"""A Redis that the tests own and groundspeed does not."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import signal
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.targets import redis_client, redis_programs
from groundspeed.targets.redis_client import Address
from tests.server.given import _certificate, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.tools.resp import Reply

_POLL_S = 0.02
_START_POLLS = 1500


class GivenServer(msgspec.Struct, frozen=True, kw_only=True):
    """How the tests reach it, with all rights."""

    home: Path
    port: int
    password: str

    @property
    def socket(self) -> str:
        return f"unix://{self.home}/s"

    @property
    def owner(self) -> Address:
        return Address(url=self.socket.replace("//", "//default@", 1), password=self.password)

    def ask(self, *parts: bytes | str | int) -> Reply:
        with redis_client.connect(self.owner) as client:
            return client.ask(*parts)

    def keys(self) -> set[bytes]:
        found = self.ask("KEYS", "*")
        assert isinstance(found, tuple)
        return {key for key in found if isinstance(key, bytes)}

    def settings(self) -> dict[str, str]:
        with redis_client.connect(self.owner) as client:
            return client.pairs("CONFIG", "GET", "*")

    def user(self, name: str, *rules: str) -> str:
        """Make a user with a password of its own; gives that back."""
        password = f"secret-of-{name}-{secrets.token_hex(8)}"
        self.ask("ACL", "SETUSER", name, "reset", "on", f">{password}", *rules)
        return password


# That of a cluster's own talk is so much higher, and has to be a port too.
_HIGHEST_PORT = 65535 - 10_000


def _port() -> int:
    return next(port for port in iter(free_port, 0) if port <= _HIGHEST_PORT)


@contextmanager
def serve(*, tls: bool = False, more: tuple[str, ...] = ()) -> Iterator[GivenServer]:
    """Start a server with a password on its socket and on loopback; it is ended by its id."""
    program = redis_programs.find_server(None).path
    home = Path(tempfile.mkdtemp(prefix="given-redis-", dir="/tmp"))
    server = GivenServer(
        home=home, port=_port(), password=f"password-of-owner-{secrets.token_hex(8)}"
    )
    lines = [f"unixsocket {home}/s", f"requirepass {server.password}", 'save ""', f"dir {home}"]
    lines += [f"port {0 if tls else server.port}", "bind 127.0.0.1", *more]
    if tls:
        _certificate(home)
        lines += [f"tls-port {server.port}", f"tls-cert-file {home / 'server.crt'}"]
        lines += [f"tls-key-file {home / 'server.key'}", "tls-auth-clients no"]
        lines += [f"tls-ca-cert-file {home / 'server.crt'}"]
    (home / "conf").write_text("\n".join(lines) + "\n")
    try:
        with (home / "log").open("wb") as log:
            process = subprocess.Popen([program, home / "conf"], stdout=log, stderr=log, cwd="/")
        try:
            _wait_until_ready(process, server)
            yield server
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()
    finally:
        shutil.rmtree(home)


def _wait_until_ready(process: subprocess.Popen[bytes], server: GivenServer) -> None:
    for _ in range(_START_POLLS):
        assert process.poll() is None, (server.home / "log").read_text()
        try:
            server.ask("PING")
        except TargetError:
            select.select([], [], [], _POLL_S)
        else:
            return
    raise AssertionError((server.home / "log").read_text())


def processes_with(text: str) -> list[tuple[int, str]]:
    """Processes whose command line or environment has a text: (id, command line)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        if int(folder.name) == os.getpid():
            continue
        try:
            cmdline = (folder / "cmdline").read_bytes()
            seen = cmdline + (folder / "environ").read_bytes()
        except OSError:
            continue
        if text.encode() in seen:
            found.append((int(folder.name), cmdline.decode(errors="replace")))
    return found
