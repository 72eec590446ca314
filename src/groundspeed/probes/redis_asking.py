"""One connection to a Redis under test: asks, counts what asking costs, notes what is refused.

It raises when it is opened and never again: what cannot be asked is None and an `Absent`. A server
that is stuck in a write answers late, and whoever waits for it sees nothing meanwhile: so INFO is
sent, and fetched when its answer is there.
"""

from __future__ import annotations

import re
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING

from groundspeed.errors import TargetError
from groundspeed.record.evidence import Absent, ProbeCost
from groundspeed.tools import redis_load, resp
from groundspeed.tools.resp import ErrorReply

if TYPE_CHECKING:
    from groundspeed.ports import WatchPoints
    from groundspeed.tools.redis_benchmark import Address
    from groundspeed.tools.resp import Reply

_CONNECT_TIMEOUT_S = 10.0
_ANSWER_TIMEOUT_S = 5.0
_ROUND_TRIPS = 20
_READ_BYTES = 65536
_NAME = "groundspeed-probe"
_DEFAULT_USER = "default"


class RedisAsking:
    """Asks the server at `points`. Raises TargetError where it cannot be reached."""

    def __init__(self, points: WatchPoints) -> None:
        self._password = points.password
        self.absent: dict[str, Absent] = {}
        self._refused: set[str] = set()
        self._lost = False
        self._sent = False
        self._data = b""
        self.restart_cost()
        try:
            where = redis_load.address_of(points.conninfo)
            self._connection = _open(where)
            self._connection.settimeout(_ANSWER_TIMEOUT_S)
            self._log_in(where)
        except (OSError, ValueError) as error:
            raise TargetError(
                f"the probe cannot connect: {self._reason(error)}",
                "check that the server has a connection to spare for the probe",
            ) from None

    def _log_in(self, where: Address) -> None:
        if self._password is not None:
            self._put("AUTH", where.user or _DEFAULT_USER, self._password)
            answer = self._take()
            if isinstance(answer, ErrorReply):
                self._connection.close()
                raise ValueError(answer)
        # A user may be without the right, and nothing hangs on it.
        self._put("CLIENT", "SETNAME", _NAME)
        self._take()

    def _put(self, *command: str | int) -> None:
        self._connection.sendall(resp.encode(*command))

    def _take(self) -> Reply:
        """Read the next answer. Raises OSError, and ValueError for what is none."""
        while (found := resp.decode(self._data)) is None:
            data = self._connection.recv(_READ_BYTES)
            if not data:
                raise ConnectionResetError(0, "the server closed the connection")
            self._data += data
        answer, end = found
        self._data = self._data[end:]
        return answer

    @property
    def is_lost(self) -> bool:
        """Whether the server is gone."""
        return self._lost

    def restart_cost(self) -> None:
        """Count the cost of asking from here."""
        self._count = 0
        self._cpu_s = self._elapsed_s = self._slowest_s = 0.0

    def cost(self) -> ProbeCost:
        """Tell what asking cost since then."""
        return ProbeCost(
            probe="server",
            call_count=self._count,
            cpu_s=self._cpu_s,
            elapsed_s=self._elapsed_s,
            slowest_s=self._slowest_s,
        )

    def note(self, what: str, reason: str) -> None:
        """Keep the first reason why something could not be seen."""
        self.absent.setdefault(what, Absent(what=what, reason=reason))

    def ask(self, what: str, *command: str | int) -> Reply:
        """Ask and wait for the answer; None where there is none, with `what` as its slug.

        What was refused once is not asked again.
        """
        if not self._send(what, command):
            return None
        return self._receive(what)

    def send_info(self) -> None:
        """Ask for INFO, unless an answer to the last one is still to come."""
        if not self._sent:
            self._sent = self._send("server-counters", ("INFO",))

    def fetch_info(self, limit_s: float | None) -> str | None:
        """Give the answer to INFO when it comes within `limit_s`; None without one.

        Without a limit it is waited for as for any other.
        """
        if not self._sent:
            return None
        if limit_s is not None and not self._has_answer(limit_s):
            return None
        self._sent = False
        answer = self._receive("server-counters")
        return answer.decode(errors="replace") if isinstance(answer, bytes) else None

    def round_trip_s(self) -> float | None:
        """Measure the median of some round trips of a command that does nothing."""
        taken: list[float] = []
        for _ in range(_ROUND_TRIPS):
            started_s = time.perf_counter()
            if self.ask("round-trip", "PING") is None:
                return None
            taken.append(time.perf_counter() - started_s)
        return sorted(taken)[_ROUND_TRIPS // 2]

    def close(self) -> None:
        """Hang up; may be called twice."""
        self._lost = True
        self._connection.close()

    def _has_answer(self, limit_s: float) -> bool:
        if self._data or (
            isinstance(self._connection, ssl.SSLSocket) and self._connection.pending()
        ):
            return True
        return bool(select.select([self._connection], [], [], limit_s)[0])

    def _send(self, what: str, command: tuple[str | int, ...]) -> bool:
        if self._lost or what in self._refused:
            return False
        if self._sent:
            # An INFO that nobody waits for any more: answers come in order.
            self._sent = False
            self._receive("server-counters")
            if self._lost:
                return False
        try:
            self._put(*command)
        except OSError as error:
            self._lose(error)
            return False
        self._count += 1
        return True

    def _receive(self, what: str) -> Reply:
        started_s, cpu_s = time.perf_counter(), time.thread_time()
        try:
            answer = self._take()
        except (OSError, ValueError) as error:
            self._lose(error)
            return None
        finally:
            elapsed_s = time.perf_counter() - started_s
            self._cpu_s += time.thread_time() - cpu_s
            self._elapsed_s += elapsed_s
            self._slowest_s = max(self._slowest_s, elapsed_s)
        if isinstance(answer, ErrorReply):
            self._refused.add(what)
            self.note(what, self._clean(answer))
            return None
        return answer

    def _lose(self, error: Exception) -> None:
        """Ask no more: after a timeout answers would be taken for those of later questions."""
        self._lost = True
        self.note("server", f"the server was gone: {self._reason(error)}")

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError):
            return "it does not answer"
        told = error.strerror if isinstance(error, OSError) else None
        return self._clean(told or str(error))

    def _clean(self, text: str) -> str:
        text = re.sub(r"\s+", " ", text).strip() or "no reason given"
        return text.replace(self._password, "***") if self._password else text


def _open(where: Address) -> socket.socket:
    """Connect by a unix socket, TCP or TLS. Raises OSError, ValueError."""
    if where.socket is not None:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(_CONNECT_TIMEOUT_S)
            connection.connect(where.socket)
        except OSError:
            connection.close()
            raise
        return connection
    plain = socket.create_connection((where.host, where.port), _CONNECT_TIMEOUT_S)
    if where.tls is None:
        return plain
    try:
        context = ssl.create_default_context(cafile=where.tls.ca_file)
        if where.tls.certificate_file is not None:
            context.load_cert_chain(where.tls.certificate_file, where.tls.key_file)
        return context.wrap_socket(plain, server_hostname=where.tls.server_name or where.host)
    except (OSError, ValueError):
        plain.close()
        raise
