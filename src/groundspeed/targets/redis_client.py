"""A connection to a Redis server, ours or given: unix socket, TCP or TLS; one request at a time.

It is open only while it is needed: none of ours is there while load is measured.
"""

from __future__ import annotations

import socket
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec

from groundspeed.errors import TargetError
from groundspeed.tools import redis_load, resp
from groundspeed.tools.resp import ErrorReply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.tools import redis_benchmark
    from groundspeed.tools.resp import Reply

_CLIENT_NAME = "groundspeed"
# A server that is short of processors or waits for its disk answers late, and is no dead one.
_PATIENCE_S = 60.0
_CONNECT_S = 10.0
_READ_BYTES = 65536
_DEFAULT_USER = "default"


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach a server. The password never shows in a repr or a message."""

    url: str
    password: str | None = None

    def __repr__(self) -> str:
        """Show everything but the password."""
        return f"Address({self.url!r})"


class RefusedError(TargetError):
    """The server answered with an error; `code` is its first word, such as NOAUTH."""

    def __init__(self, reply: ErrorReply) -> None:
        super().__init__(f"Redis: {reply}", _hint(reply))
        self.code = reply.partition(" ")[0]


_HINTS = (
    (("WRONGPASS", "NOAUTH"), "check the user in the URL, and the variable named by password_env"),
    (("NOPERM",), "grant the right, or name a user in the URL that has it"),
    (("MISCONF",), "the server cannot write its files: look for room and rights of its disk"),
    (("OOM",), "raise maxmemory or make the data set smaller"),
)


def _hint(reply: ErrorReply) -> str:
    code = reply.partition(" ")[0]
    told = [hint for codes, hint in _HINTS if code in codes]
    return told[0] if told else "look into the log of that server"


class Client:
    """One open connection; see `connect`."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection
        self._data = b""

    def ask(self, *parts: bytes | str | int) -> Reply:
        """Send a request and return its reply. Raises RefusedError for an error."""
        reply = self.try_asking(*parts)
        if isinstance(reply, ErrorReply):
            raise RefusedError(reply)
        return reply

    def try_asking(self, *parts: bytes | str | int) -> Reply:
        """Send a request and return its reply, an error among them. Raises TargetError."""
        (reply,) = self._exchange((parts,))
        return reply

    def do_all(self, requests: tuple[tuple[bytes | str | int, ...], ...]) -> None:
        """Send requests at once, with replies that fit the buffers of a socket.

        Raises RefusedError for the first one that is refused.
        """
        for reply in self._exchange(requests):
            if isinstance(reply, ErrorReply):
                raise RefusedError(reply)

    def _exchange(self, requests: tuple[tuple[bytes | str | int, ...], ...]) -> tuple[Reply, ...]:
        try:
            self.socket.sendall(b"".join(resp.encode(*parts) for parts in requests))
            return tuple(self._reply() for _ in requests)
        except (OSError, ValueError) as error:
            raise _gone(error) from None

    def _reply(self) -> Reply:
        while (found := resp.decode(self._data)) is None:
            data = self.socket.recv(_READ_BYTES)
            if not data:
                raise ConnectionResetError(0, "the server closed the connection")
            self._data += data
        reply, end = found
        self._data = self._data[end:]
        return reply

    def text(self, *parts: bytes | str | int) -> str:
        """Ask for what is text, such as INFO. Raises TargetError."""
        reply = self.ask(*parts)
        return reply.decode(errors="backslashreplace") if isinstance(reply, bytes) else str(reply)

    def number(self, *parts: bytes | str | int) -> int:
        """Ask for a number, such as DBSIZE. Raises TargetError."""
        reply = self.ask(*parts)
        if not isinstance(reply, int):
            raise _gone(ValueError(f"{parts[0]!s} gave no number"))
        return reply

    def pairs(self, *parts: bytes | str | int) -> dict[str, str]:
        """Ask for names and values in turn, such as CONFIG GET. Raises TargetError."""
        reply = self.ask(*parts)
        items = reply if isinstance(reply, tuple) else ()
        words = [i.decode(errors="backslashreplace") for i in items if isinstance(i, bytes)]
        return dict(zip(words[0::2], words[1::2], strict=False))


def _gone(error: Exception) -> TargetError:
    if isinstance(error, TimeoutError):
        why = "it does not answer"
    elif isinstance(error, ssl.SSLCertVerificationError):
        why = f"its certificate is not trusted ({error.verify_message})"
    elif isinstance(error, OSError):
        why = error.strerror or str(error)
    else:
        why = str(error)
    return TargetError(f"Redis: {why}", "check that the server runs and that the URL names it")


@contextmanager
def connect(address: Address) -> Iterator[Client]:
    """Open a connection, with its user. Raises TargetError for whatever comes in between."""
    try:
        where = redis_load.address_of(address.url)
    except ValueError as error:
        raise TargetError(f"{address.url}: {error}", "write redis://user@host:6379") from None
    try:
        connection = _open(where)
    except (OSError, ValueError) as error:
        raise _gone(error) from None
    with connection:
        connection.settimeout(_PATIENCE_S)
        client = Client(connection)
        if address.password is not None:
            client.ask("AUTH", where.user or _DEFAULT_USER, address.password)
        # A user may be without the right, and nothing hangs on it.
        client.try_asking("CLIENT", "SETNAME", _CLIENT_NAME)
        yield client


def _open(where: redis_benchmark.Address) -> socket.socket:
    if where.socket is not None:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(_CONNECT_S)
            connection.connect(where.socket)
        except OSError:
            connection.close()
            raise
        return connection
    plain = socket.create_connection((where.host, where.port), _CONNECT_S)
    if where.tls is None:
        return plain
    try:
        context = ssl.create_default_context(cafile=where.tls.ca_file)
        if where.tls.certificate_file is not None:
            context.load_cert_chain(where.tls.certificate_file, where.tls.key_file)
        return context.wrap_socket(plain, server_hostname=where.host)
    except (OSError, ValueError):
        plain.close()
        raise


def answers(address: Address) -> bool:
    """Tell whether the server answers; also one that refuses to write or is loading lives."""
    try:
        with connect(address) as client:
            client.try_asking("PING")
    except TargetError:
        return False
    return True
