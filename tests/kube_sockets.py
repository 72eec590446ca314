"""Programs and their websocket, as the API server of `kube_server` answers `exec`."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import struct
import subprocess
import threading
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from socket import socket

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10
STDIN, STDOUT, STDERR, ERROR, CLOSE_CHANNEL = 0, 1, 2, 3, 255


def accepting(key: str) -> str:
    return base64.b64encode(hashlib.sha1(key.encode() + _MAGIC).digest()).decode()


class Socket:
    """The server's end of a websocket, after its handshake."""

    def __init__(self, read: IO[bytes], connection: socket) -> None:
        self._read = read
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, data: bytes, opcode: int = _BINARY) -> None:
        length = len(data)
        if length < 126:
            head = struct.pack("!BB", 0x80 | opcode, length)
        elif length < 1 << 16:
            head = struct.pack("!BBH", 0x80 | opcode, 126, length)
        else:
            head = struct.pack("!BBQ", 0x80 | opcode, 127, length)
        with self._lock:
            self._connection.sendall(head + data)

    def receive(self) -> bytes | None:
        """The next message; None when the other side has gone."""
        while True:
            head = self._read.read(2)
            if len(head) < 2:
                return None
            opcode, length = head[0] & 0xF, head[1] & 0x7F
            if length == 126:
                length = struct.unpack("!H", self._read.read(2))[0]
            elif length == 127:
                length = struct.unpack("!Q", self._read.read(8))[0]
            mask, data = self._read.read(4), self._read.read(length)
            key = int.from_bytes((mask * (length // 4 + 1))[:length], "big")
            plain = (int.from_bytes(data, "big") ^ key).to_bytes(length, "big")
            if opcode == _CLOSE:
                return None
            if opcode == _PING:
                self.send(plain, _PONG)
                continue
            return plain

    def cut(self) -> None:
        with contextlib.suppress(OSError):
            self._connection.shutdown(2)

    def goodbye(self) -> None:
        self.send(struct.pack("!H", 1000), _CLOSE)


class Running:
    """A local program in the place of one in a pod."""

    def __init__(self, argv: Sequence[str], sock: Socket, *, has_input: bool) -> None:
        pipe = subprocess.PIPE
        self._socket = sock
        self._process = subprocess.Popen(
            argv, stdin=pipe if has_input else subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
        self._readers = [
            threading.Thread(target=self._relay, args=(channel, stream), daemon=True)
            for channel, stream in (
                (STDOUT, self._process.stdout),
                (STDERR, self._process.stderr),
            )
        ]

    def relay(self) -> None:
        """Pass on all of it, until the program ends."""
        for reader in self._readers:
            reader.start()
        listener = threading.Thread(target=self._listen, daemon=True)
        listener.start()
        for reader in self._readers:
            reader.join()
        self._process.wait()
        with contextlib.suppress(OSError):
            self._socket.send(bytes((ERROR,)) + json.dumps(self._ended()).encode())
            self._socket.goodbye()
        listener.join()
        self._close_pipes()

    def _close_pipes(self) -> None:
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None and not stream.closed:
                with contextlib.suppress(OSError):
                    stream.close()

    def cut(self) -> None:
        """Lose the connection; the program reads the end of its input, and may go on."""
        self._socket.cut()

    def kill(self) -> None:
        self._process.kill()

    def _relay(self, channel: int, stream: IO[bytes]) -> None:
        # As the real one: an empty message first, when the channel is open.
        data = b""
        try:
            self._socket.send(bytes((channel,)))
            while data := stream.read1(1 << 15):  # type: ignore[attr-defined]
                self._socket.send(bytes((channel,)) + data)
        except OSError:
            # Whoever listened has gone; the program is read to its end all the same.
            stream.read()

    def _listen(self) -> None:
        stdin = self._process.stdin
        try:
            while (data := self._socket.receive()) is not None:
                if stdin is None or stdin.closed:
                    continue
                if data == bytes((CLOSE_CHANNEL, STDIN)):
                    stdin.close()
                elif data[:1] == bytes((STDIN,)):
                    stdin.write(data[1:])
                    stdin.flush()
        except (OSError, ValueError):
            pass
        finally:
            if stdin is not None and not stdin.closed:
                with contextlib.suppress(OSError):
                    stdin.close()

    def _ended(self) -> dict[str, object]:
        code = self._process.returncode
        # A signal is told as a shell does it.
        code = 128 - code if code < 0 else code
        if code == 0:
            return {"metadata": {}, "status": "Success"}
        return {
            "metadata": {},
            "status": "Failure",
            "message": f"command terminated with non-zero exit code: exit status {code}",
            "reason": "NonZeroExitCode",
            "details": {"causes": [{"reason": "ExitCode", "message": str(code)}]},
        }


def cannot_start(program: str) -> bytes:
    status = {
        "metadata": {},
        "status": "Failure",
        "message": "Internal error occurred: error executing command in container: failed to exec "
        'in container: failed to start exec "0": OCI runtime exec failed: exec failed: unable to '
        f'start container process: exec: "{program}": executable file not found in $PATH: unknown',
        "reason": "InternalError",
        "code": 500,
    }
    return bytes((ERROR,)) + json.dumps(status).encode()
