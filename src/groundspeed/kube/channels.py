"""The connection to a program in a pod: several channels in one websocket, by one thread.

Of the official client it takes how proxies and certificates are passed on. Not its WSClient: that
sends without reading, so a program which answers while it is written to (cat, with more than the
buffers on the way hold) stops both sides for ever. Nor a thread that reads beside one that writes:
OpenSSL does not allow that on one connection.
"""

from __future__ import annotations

import select
import ssl
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from groundspeed.kube.refusals import one_line
from groundspeed.kube.wire import KEEP_ALIVE, CutError

if TYPE_CHECKING:
    from collections.abc import Callable

    import websocket

STDIN, STDOUT, STDERR, ERROR = 0, 1, 2, 3
_READ = (b"\1", b"\2", b"\3")
_CLOSE = 255
# With v5 an input can be ended (Kubernetes 1.30 and newer); with v4 the connection only as a whole.
V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
_CONNECT_LIMIT_S = 15.0
# Frames of this size pass the API server and the kubelet without being put together again.
_FRAME_BYTES = 1 << 15
# A balancer drops a connection that is silent for a minute; a program may be silent for longer.
_PING_AFTER_S = 20.0


class Dialled(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to connect to: a URL, the configuration of the client, and its Authorization header."""

    url: str
    configuration: Any
    token: str | None
    protocols: tuple[str, ...] = (V5, V4)


def dial(to: Dialled) -> websocket.WebSocket:
    """Open a websocket. Raises what the websocket library raises, or OSError."""
    import websocket  # noqa: PLC0415 - see connecting
    from kubernetes.stream import ws_client  # noqa: PLC0415 - see connecting

    config = to.configuration
    scheme, *rest = urlsplit(to.url)
    options: dict[str, Any] = {
        "header": [f"authorization: {to.token}"] if to.token else [],
        "subprotocols": list(to.protocols),
        "timeout": _CONNECT_LIMIT_S,
    }
    if config.proxy or config.proxy_headers:
        options = ws_client.websocket_proxycare(options, config, to.url, {})
    found = websocket.WebSocket(sslopt=_tls(config), sockopt=list(KEEP_ALIVE))
    found.connect(urlunsplit(({"https": "wss"}.get(scheme, "ws"), *rest)), **options)
    return found


def _tls(config: Any) -> dict[str, Any]:  # noqa: ANN401 - a Configuration
    found: dict[str, Any] = {"cert_reqs": ssl.CERT_REQUIRED if config.verify_ssl else ssl.CERT_NONE}
    if not config.verify_ssl:
        found["check_hostname"] = False
    named = {
        "ca_certs": config.ssl_ca_cert if config.verify_ssl else None,
        "certfile": config.cert_file,
        "keyfile": config.key_file,
        "server_hostname": config.tls_server_name,
    }
    return found | {name: value for name, value in named.items() if value}


class Channels:
    """What goes through a websocket, by channel. Whoever waits in it also sends what is due."""

    def __init__(self, sock: websocket.WebSocket, now_s: Callable[[], float]) -> None:
        sock.settimeout(0)
        self.can_end_input = sock.subprotocol == V5
        self.is_open = True
        self.received = {STDOUT: bytearray(), STDERR: bytearray(), ERROR: bytearray()}
        self._sock = sock
        self._now_s = now_s
        self._to_send = bytearray()
        self._moved_s = now_s()
        self._channel = STDOUT

    @property
    def is_sent(self) -> bool:
        """Whether all that was put in has left."""
        return not self._to_send

    def put(self, channel: int, data: bytes) -> None:
        """Take data to be sent; it goes while somebody waits."""
        for start in range(0, len(data), _FRAME_BYTES):
            piece = data[start : start + _FRAME_BYTES]
            self._put_frame(bytes((channel,)) + piece, "OPCODE_BINARY")

    def end_input(self) -> None:
        """End the program's input, once what was put in before is sent."""
        self._put_frame(bytes((_CLOSE, STDIN)), "OPCODE_BINARY")

    def _put_frame(self, data: bytes, opcode: str) -> None:
        from websocket import ABNF  # noqa: PLC0415 - see connecting

        self._to_send += ABNF.create_frame(data, getattr(ABNF, opcode)).format()

    def wait(self, until: Callable[[], bool], limit_s: float) -> bool:
        """Send and receive until something is so; False when the limit was over before.

        Raises CutError when the connection breaks; when the other side ends it in order, `is_open`
        is False then, and it comes back at once.
        """
        deadline_s = self._now_s() + limit_s
        while True:
            moved = self._send_some() + self._receive_some()
            if until() or not self.is_open:
                return until()
            left_s = deadline_s - self._now_s()
            if left_s <= 0:
                return False
            if not moved:
                self._poll(left_s)

    def _poll(self, limit_s: float) -> None:
        if self._now_s() - self._moved_s > _PING_AFTER_S and self.is_sent:
            self._put_frame(b"", "OPCODE_PING")
        poll = select.poll()
        poll.register(self._sock.fileno(), select.POLLIN | (0 if self.is_sent else select.POLLOUT))
        poll.poll(max(min(limit_s, _PING_AFTER_S), 0.0) * 1000)

    def _send_some(self) -> int:
        if not self._to_send:
            return 0
        sock = self._sock.sock
        if sock is None:
            raise CutError("it is closed")
        try:
            sent = int(sock.send(bytes(self._to_send[: 1 << 18])))
        except (ssl.SSLWantWriteError, ssl.SSLWantReadError, BlockingIOError):
            return 0
        except OSError as error:
            # What the program said before it went may wait to be read.
            self._to_send.clear()
            if self._receive_some() == 0:
                raise CutError(one_line(str(error))) from error
            return 0
        del self._to_send[:sent]
        self._moved_s = self._now_s()
        return sent

    def _receive_some(self) -> int:
        import websocket  # noqa: PLC0415 - see connecting

        count = 0
        while self.is_open:
            try:
                frame = self._sock.recv_frame()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
                break
            except (websocket.WebSocketException, OSError) as error:
                self.is_open = False
                raise CutError(one_line(str(error))) from error
            count += 1
            self._take(frame)
        if count:
            self._moved_s = self._now_s()
        return count

    def _take(self, frame: websocket.ABNF) -> None:
        from websocket import ABNF  # noqa: PLC0415 - see connecting

        data = frame.data
        if not isinstance(data, bytes):
            data = data.encode()
        if frame.opcode == ABNF.OPCODE_CLOSE:
            self.is_open = False
        elif frame.opcode == ABNF.OPCODE_PING:
            self._put_frame(data, "OPCODE_PONG")
        elif frame.opcode == ABNF.OPCODE_CONT:
            self.received[self._channel] += data
        elif frame.opcode in (ABNF.OPCODE_BINARY, ABNF.OPCODE_TEXT) and data[:1] in _READ:
            self._channel = data[0]
            self.received[self._channel] += data[1:]

    def close(self) -> None:
        """Hang up."""
        self.is_open = False
        self._sock.shutdown()
