"""Requests to an API server over HTTP: sent, sent again where that does no harm, and their errors.

Of the official client it takes the connection pool (certificates, proxies) and the credentials. Not
its calls: they change from version to version, and read every answer into a model. Nor its retries,
nor those of urllib3: they do not know which request may be sent twice.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

import groundspeed
from groundspeed.kube.api import KubeError
from groundspeed.kube.refusals import (
    NOT_LOGGED_IN,
    TOO_MANY,
    Asked,
    is_momentary,
    one_line,
    refusal,
    status_of,
)
from groundspeed.kube.unreached import LostError, lost, reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import urllib3

    from groundspeed.kube.connecting import Connection

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
# How long a server that answered before may be away; an API server that is replaced takes seconds.
PATIENCE_S = 30.0
# One that never answered is more likely a wrong address: nobody wants to wait long to hear that.
_FIRST_PATIENCE_S = 3.0
_CONNECT_LIMIT_S = 10.0
_READ_LIMIT_S = 65.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.25, 5.0
_FIRST_ERROR = 400
# A dead peer is noticed after a minute, and boxes on the way see that the connection is in use.
KEEP_ALIVE = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 20),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request. `is_repeatable`: sent twice it comes to the same."""

    method: str
    path: str
    asked: Asked
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    content: str = JSON
    is_repeatable: bool = False

    @property
    def target(self) -> str:
        """Path and query, as they go over the wire."""
        return f"{self.path}?{urlencode(self.query)}" if self.query else self.path


class CutError(Exception):
    """An answer stopped in the middle; not for people."""


class Stream:
    """An answer that is read while it arrives."""

    def __init__(self, answer: urllib3.BaseHTTPResponse) -> None:
        self._answer = answer

    def chunks(self, next_limit_s: Callable[[], float | None]) -> Iterator[bytes]:
        """Yield what comes; `next_limit_s` says how long to wait for more. Raises CutError."""
        import urllib3  # noqa: PLC0415 - see connecting

        pieces = self._answer.stream(1 << 16)
        while True:
            self._wait_at_most(next_limit_s())
            try:
                piece = next(pieces, None)
            except (urllib3.exceptions.HTTPError, OSError) as error:
                raise CutError(reason(error)) from error
            if piece is None:
                return
            yield piece

    def _wait_at_most(self, limit_s: float | None) -> None:
        connection = self._answer.connection
        sock = getattr(connection, "sock", None)
        if sock is not None:
            sock.settimeout(limit_s if limit_s is None else max(limit_s, 0.001))

    def close(self) -> None:
        """Hang up: what is left of the answer is not read."""
        self._answer.close()


class Wire:
    """The way to one API server. Several threads may use it at once: its pool is made for that.

    `sleep` waits between two tries and `now_s` tells how long it has been; both are arguments so
    that tests need not wait.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        now_s: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.cluster = connection.cluster
        self.now_s = now_s
        self.sleep = sleep
        self._connection = connection
        self._lock = threading.Lock()
        self._configuration: Any = None
        self._pool: urllib3.PoolManager | None = None
        self._has_answered = connection.is_in_cluster

    def close(self) -> None:
        """Close the connections that nobody uses."""
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.clear()

    def ask(self, request: Request) -> bytes:
        """Send a request and read its whole answer. Raises KubeError."""
        return self._answer(request, is_stream=False).data

    def ask_json(self, request: Request) -> dict[str, Any]:
        """Send a request that is answered with an object."""
        data = self.ask(request)
        try:
            found = json.loads(data)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise KubeError(
                f"what answers for {self.cluster} is no API server: {one_line(repr(data[:60]))}",
                "look at the address of the cluster; kubectl cluster-info shows it",
            )
        return found

    def open(self, request: Request) -> Stream:
        """Send a request and read its answer as it comes. Raises KubeError."""
        return Stream(self._answer(request, is_stream=True))

    def logged_in(self, *, anew: bool = False) -> tuple[Any, str | None]:
        """Give the configuration and what the Authorization header is, refreshed when it is due."""
        with self._lock:
            if anew or self._configuration is None:
                self._configuration = self._connection.log_in()
                self._configuration.socket_options = list(KEEP_ALIVE)
                self._pool = None
            config = self._configuration
            token = config.get_api_key_with_prefix("BearerToken", alias="authorization")
            return config, token

    def _pool_of(self, config: Any) -> urllib3.PoolManager:  # noqa: ANN401 - a Configuration
        from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415 - see connecting

        with self._lock:
            if self._pool is None:
                self._pool = RESTClientObject(config).pool_manager
            return self._pool

    def _answer(self, request: Request, *, is_stream: bool) -> urllib3.BaseHTTPResponse:
        since_s, wait_s, logged_in_anew = self.now_s(), _FIRST_WAIT_S, False
        while True:
            again_s = wait_s
            try:
                answer = self._send(request, is_stream=is_stream)
            except LostError as error:
                may_repeat = (request.is_repeatable or not error.was_sent) and not error.is_final
                if not may_repeat or self._is_over(since_s, again_s):
                    raise self._no_answer(error) from error
            else:
                self._has_answered = True
                if answer.status < _FIRST_ERROR:
                    return answer
                if answer.status == NOT_LOGGED_IN and not logged_in_anew:
                    answer.drain_conn()
                    self.logged_in(anew=True)
                    logged_in_anew = True
                    continue
                status = status_of(answer.data)
                # 429 is answered before anything is done, whatever was asked.
                may_repeat = request.is_repeatable or answer.status == TOO_MANY
                again_s = max(wait_s, _retry_after_s(answer.headers))
                is_momentary_now = may_repeat and is_momentary(answer.status, status)
                if not is_momentary_now or self._is_over(since_s, again_s):
                    raise refusal(answer.status, status, self._asked(request))
            self.sleep(again_s)
            wait_s = min(wait_s * 2, _LONGEST_WAIT_S)

    def _asked(self, request: Request) -> Asked:
        return msgspec.structs.replace(request.asked, cluster=self.cluster)

    def _is_over(self, since_s: float, wait_s: float) -> bool:
        patience_s = PATIENCE_S if self._has_answered else _FIRST_PATIENCE_S
        return self.now_s() + wait_s - since_s > patience_s

    def _no_answer(self, error: LostError) -> KubeError:
        return KubeError(
            one_line(f"the API server of {self.cluster} does not answer: {error.words}"),
            error.hint,
        )

    def _send(self, request: Request, *, is_stream: bool) -> urllib3.BaseHTTPResponse:
        import urllib3  # noqa: PLC0415 - see connecting

        config, token = self.logged_in()
        headers = {"Accept": JSON, "User-Agent": f"groundspeed/{groundspeed.__version__}"}
        if token:
            headers["authorization"] = token
        if request.body is not None:
            headers["Content-Type"] = request.content
        try:
            return self._pool_of(config).request(
                request.method,
                config.host + request.target,
                body=None if request.body is None else json.dumps(request.body),
                headers=headers,
                timeout=urllib3.Timeout(connect=_CONNECT_LIMIT_S, read=_READ_LIMIT_S),
                preload_content=not is_stream,
                retries=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise lost(error, config.host, _READ_LIMIT_S) from error


def _retry_after_s(headers: Mapping[str, str]) -> float:
    try:
        return float(headers.get("Retry-After") or 0)
    except ValueError:
        return 0.0
