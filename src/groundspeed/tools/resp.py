"""RESP 2, the protocol of Redis: requests become bytes, bytes become replies. Opens nothing."""

from __future__ import annotations

from typing import TypeAlias

Reply: TypeAlias = "bytes | int | ErrorReply | tuple[Reply, ...] | None"

_END = b"\r\n"


class ErrorReply(str):
    """What the server refused with, such as "NOAUTH Authentication required."."""

    __slots__ = ()


def encode(*parts: bytes | str | int) -> bytes:
    """Write one request."""
    encoded = [part if isinstance(part, bytes) else str(part).encode() for part in parts]
    body = b"".join(b"$%d\r\n%b\r\n" % (len(part), part) for part in encoded)
    return b"*%d\r\n%b" % (len(encoded), body)


def decode(data: bytes, start: int = 0) -> tuple[Reply, int] | None:
    """Read one reply that begins at `start`: it and where the next begins; None while it is torn.

    Raises ValueError for what is no RESP 2.
    """
    line_end = data.find(_END, start)
    if line_end < 0:
        return None
    kind, text, after = data[start : start + 1], data[start + 1 : line_end], line_end + len(_END)
    if kind == b"+":
        return text, after
    if kind == b"-":
        return ErrorReply(text.decode(errors="backslashreplace")), after
    if kind == b":":
        return int(text), after
    if kind == b"$":
        return _bulk(data, int(text), after)
    if kind == b"*":
        return _array(data, int(text), after)
    raise ValueError(f"a reply of Redis cannot begin with {kind!r}")


def _bulk(data: bytes, size_bytes: int, start: int) -> tuple[Reply, int] | None:
    if size_bytes < 0:
        return None, start
    end = start + size_bytes
    return None if len(data) < end + len(_END) else (data[start:end], end + len(_END))


def _array(data: bytes, count: int, start: int) -> tuple[Reply, int] | None:
    if count < 0:
        return None, start
    items: list[Reply] = []
    for _ in range(count):
        if (one := decode(data, start)) is None:
            return None
        item, start = one
        items.append(item)
    return tuple(items), start
