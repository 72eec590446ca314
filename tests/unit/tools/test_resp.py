"""The protocol of Redis, torn at every byte."""

from __future__ import annotations

import pytest

from groundspeed.tools import resp

WIRE = b"*5\r\n$2\r\na\n\r\n:-7\r\n$-1\r\n*2\r\n+OK\r\n$0\r\n\r\n-ERR no\r\n"
REPLY = (b"a\n", -7, None, (b"OK", b""), resp.ErrorReply("ERR no"))


def test_a_request() -> None:
    assert resp.encode("SET", b"k\r\n", 12) == b"*3\r\n$3\r\nSET\r\n$3\r\nk\r\n\r\n$2\r\n12\r\n"


def test_a_reply_and_where_the_next_begins() -> None:
    assert resp.decode(b"xx" + WIRE + b":1\r\n", 2) == (REPLY, len(WIRE) + 2)
    assert resp.decode(b"*-1\r\n") == (None, 5)


def test_a_torn_reply_is_waited_for() -> None:
    assert [resp.decode(WIRE[:length]) for length in range(len(WIRE))] == [None] * len(WIRE)


@pytest.mark.parametrize("data", [b"HTTP/1.1 200\r\n", b":x\r\n", b"$x\r\n"])
def test_what_is_no_reply(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"Redis|invalid literal"):
        resp.decode(data)
