"""Fills a Redis with numbered keys, pipelined, over a connection that is open and authenticated.

Raw bytes of the protocol: a client library makes each request anew, and takes most of the time with
small values (docs/decisions). `DEBUG POPULATE` would be faster still, and is not used: it passes by
the append-only file and the replicas, so what it makes is gone with the first restart.
"""

from __future__ import annotations

import select
import ssl
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.tools import resp

if TYPE_CHECKING:
    import random
    import socket
    from collections.abc import Callable

# Names as redis-benchmark makes them, so that its -r finds what was preloaded.
_KEY_DIGITS = 12
# What is under way at once: enough to keep the server at work, too little to fill its buffers.
_BATCH_BYTES = 1024 * 1024
_LARGEST_BATCH_COUNT = 1024
_READ_BYTES = 256 * 1024
_PATIENCE_S = 60.0
# Values are stretches of this; so no two neighbours are alike and nothing is made for each.
_NOISE_BYTES = 64 * 1024
_OK = b"+OK\r\n"
# With TLS, what cannot be done now says so in its own way.
_NOT_NOW = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def key_name(number: int) -> bytes:
    """Name of a key, such as key:000000000042."""
    return b"key:%0*d" % (_KEY_DIGITS, number)


def preload(  # noqa: PLR0913 - each is one independent quantity
    connection: socket.socket,
    *,
    key_count: int,
    payload_bytes: int,
    rng: random.Random,
    on_progress: Callable[[int], None],
    first_number: int = 0,
) -> None:
    """Set so many keys to values that do not compress; tell how many are set, batch by batch.

    The connection does not block from then on.

    Raises TargetError with the server's words when it refuses one, is gone or does not answer.
    """
    batch_count = max(1, min(_LARGEST_BATCH_COUNT, _BATCH_BYTES // payload_bytes))
    noise = rng.randbytes(payload_bytes + _NOISE_BYTES)
    connection.setblocking(False)  # noqa: FBT003 - the parameter has no name
    loader = _Loader(connection)
    for start in range(0, key_count, batch_count):
        numbers = range(start, min(start + batch_count, key_count))
        batch = b"".join(
            _set(first_number + number, noise, payload_bytes, rng) for number in numbers
        )
        loader.exchange(batch, len(numbers))
        on_progress(numbers.stop)


def _set(number: int, noise: bytes, payload_bytes: int, rng: random.Random) -> bytes:
    offset = int(rng.random() * _NOISE_BYTES)
    value = noise[offset : offset + payload_bytes]
    return b"*3\r\n$3\r\nSET\r\n$16\r\n%b\r\n$%d\r\n%b\r\n" % (key_name(number), len(value), value)


class _Loader:
    """Sends batches; reads replies while it sends, so that neither side waits for the other."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def exchange(self, batch: bytes, count: int) -> None:
        """Send a batch and take its replies. Raises TargetError."""
        unsent, replies = memoryview(batch), b""
        while unsent or len(replies) < count * len(_OK):
            waiting = [self._connection]
            readable, writable, _ = select.select(
                waiting, waiting if unsent else [], [], _PATIENCE_S
            )
            if not readable and not writable:
                raise TargetError(
                    f"the server took no data for {_PATIENCE_S:g} s while it was preloaded",
                    "preload fewer or smaller keys, or look whether its disk is full",
                )
            unsent = unsent[self._send(unsent) :] if writable else unsent
            replies += self._read() if readable else b""
            _refuse_errors(replies)

    def _send(self, unsent: memoryview) -> int:
        try:
            return self._connection.send(unsent)
        except _NOT_NOW:
            return 0
        except OSError as error:
            raise _gone(error) from None

    def _read(self) -> bytes:
        try:
            data = self._connection.recv(_READ_BYTES)
        except _NOT_NOW:
            return b""
        except OSError as error:
            raise _gone(error) from None
        if not data:
            raise _gone(None)
        return data


def _gone(error: OSError | None) -> TargetError:
    why = f": {error.strerror}" if error is not None else ""
    return TargetError(
        f"the server closed the connection while it was preloaded{why}",
        "look into its log: memory may have run out",
    )


def _refuse_errors(replies: bytes) -> None:
    """Raise TargetError for the first reply that is no OK."""
    wrong = replies.find(b"-") if b"-" in replies else -1
    one = resp.decode(replies, wrong) if wrong >= 0 else None
    if one is not None:
        raise TargetError(
            f"the server refused a preloaded key: {one[0]!s}",
            "preload fewer or smaller keys, or allow more in maxmemory",
        )
