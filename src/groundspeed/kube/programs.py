"""Programs in pods: started over the API server, talked with, and what they leave behind."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Self

import msgspec

from groundspeed.kube.api import KubeError, Ran
from groundspeed.kube.channels import ERROR, STDERR, STDIN, STDOUT, V5, Channels, Dialled, dial
from groundspeed.kube.refusals import (
    NOT_LOGGED_IN,
    TOO_MANY,
    Asked,
    one_line,
    refusal,
    status_of,
)
from groundspeed.kube.wire import PATIENCE_S, CutError, Request

if TYPE_CHECKING:
    from collections.abc import Callable

    import websocket

    from groundspeed.kube.wire import Wire

# How long a program may leave its input unread before it counts as stuck.
_UNREAD_LIMIT_S = 120.0
_WAIT_S = 1.0
_NOT_NOW = frozenset({TOO_MANY, 503})
# The minor version of Kubernetes from which on an input can be ended, and what older ones answer.
_ENDS_INPUTS = 30
_MAYBE_OLD = frozenset({400, 403})


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """Which program: its name and its pod are for messages."""

    request: Request
    program: str
    pod: str


def start(wire: Wire, called: Called, *, must_end_input: bool = False) -> PodProgram:
    """Start a program. Raises KubeError when it cannot be; see `Api.open`.

    `must_end_input`: only over a protocol by which an input can be ended.
    """
    return PodProgram(Channels(_connect(wire, called, must_end_input), wire.now_s), called)


def run(wire: Wire, called: Called, stdin: bytes, limit_s: float) -> Ran:
    """Run a program to its end, with all of its input. Raises KubeError after the limit.

    Without `stdin` the program has none: reading it ends at once. One that ends while more than
    some 100 KB of its input are unread is never told to have ended, by Kubernetes 1.34 to no client
    (kubectl waits as well): give an input only to what reads it.
    """
    deadline_s = wire.now_s() + limit_s
    stdout = bytearray()
    with _start_with(wire, called, stdin) as program:
        if stdin:
            program.put(stdin)
        while (left_s := deadline_s - wire.now_s()) > 0:
            piece = program.receive(left_s)
            if piece is None:
                return Ran(
                    returncode=program.returncode or 0,
                    stdout=bytes(stdout),
                    stderr=program.errors,
                )
            stdout += piece
    raise KubeError(
        f"{called.program} in pod {called.pod} did not end within {limit_s:.0f} s",
        "it may still run there; kubectl logs and kubectl top pod tell what the pod does",
    )


def _start_with(wire: Wire, called: Called, stdin: bytes) -> PodProgram:
    try:
        return start(wire, called, must_end_input=bool(stdin))
    except KubeError as error:
        # Servers that do not know the protocol say so in many ways; their version is plain.
        if stdin and error.status in _MAYBE_OLD and _minor_version(wire) < _ENDS_INPUTS:
            raise _cannot_end_input() from error
        raise


def _minor_version(wire: Wire) -> int:
    asked = Asked(verb="read", what="the version")
    found = wire.ask_json(Request(method="GET", path="/version", asked=asked, is_repeatable=True))
    digits = re.match(r"[0-9]+", str(found.get("minor")))
    return int(digits[0]) if digits else _ENDS_INPUTS


def _cannot_end_input() -> KubeError:
    return KubeError(
        "the API server cannot end the input of a program in a pod",
        f"Kubernetes 1.{_ENDS_INPUTS} and newer can",
    )


def _connect(wire: Wire, called: Called, must_end_input: bool) -> websocket.WebSocket:  # noqa: FBT001 - inner
    import websocket as of  # noqa: PLC0415 - see connecting

    since_s, logged_in_anew = wire.now_s(), False
    while True:
        config, token = wire.logged_in()
        to = Dialled(url=config.host + called.request.target, configuration=config, token=token)
        if must_end_input:
            to = msgspec.structs.replace(to, protocols=(V5,))
        is_late = wire.now_s() + _WAIT_S - since_s > PATIENCE_S
        try:
            return dial(to)
        except of.WebSocketBadStatusException as error:
            if error.status_code == NOT_LOGGED_IN and not logged_in_anew:
                wire.logged_in(anew=True)
                logged_in_anew = True
                continue
            # Nothing was started yet where a server is too busy to take the connection.
            if error.status_code not in _NOT_NOW or is_late:
                raise _refused(wire, called, error) from error
        except ConnectionRefusedError as error:
            if is_late:
                raise _unreached(wire, error) from error
        except (of.WebSocketException, OSError) as error:
            raise _unreached(wire, error) from error
        wire.sleep(_WAIT_S)


def _unreached(wire: Wire, error: Exception) -> KubeError:
    return KubeError(
        one_line(f"the API server of {wire.cluster} does not open a connection: {error}"),
        "is it running, and do proxies on the way let websockets pass?",
    )


def _refused(wire: Wire, called: Called, error: websocket.WebSocketBadStatusException) -> KubeError:
    asked = msgspec.structs.replace(called.request.asked, cluster=wire.cluster)
    status = status_of(getattr(error, "resp_body", None) or b"")
    return refusal(error.status_code, status, asked)


class PodProgram:
    """A program in a pod; see `kube.api.Program`. For one thread at a time."""

    def __init__(self, channels: Channels, called: Called) -> None:
        self._channels = channels
        self._called = called
        self._returncode: int | None = None

    def __enter__(self) -> Self:
        """Talk with it; the connection ends with the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give up the connection."""
        self.close()

    def put(self, data: bytes) -> None:
        """Give it all of its input: sent, and ended, while its output is received."""
        self._channels.put(STDIN, data)
        self._channels.end_input()

    def send(self, data: bytes) -> None:
        """Write to its standard input. Raises KubeError when the connection is gone."""
        if not self._channels.is_open:
            raise self._lost("it has ended")
        self._channels.put(STDIN, data)
        if not self._wait(lambda: self._channels.is_sent, _UNREAD_LIMIT_S):
            raise self._lost("it does not read its input")

    def close_input(self) -> None:
        """End its standard input. Raises KubeError where the API server cannot do that."""
        if not self._channels.can_end_input:
            raise _cannot_end_input()
        self._channels.end_input()
        self._wait(lambda: self._channels.is_sent, _UNREAD_LIMIT_S)

    def receive(self, limit_s: float) -> bytes | None:
        """Wait for output: some of it, b"" when nothing came in time, None when it has ended.

        Raises KubeError when the connection is lost, or the program could not be started.
        """
        came = self._channels.received[STDOUT]
        self._wait(lambda: bool(came), limit_s)
        if came:
            found = bytes(came)
            came.clear()
            return found
        if self._channels.is_open:
            return b""
        self._returncode = self._read_returncode()
        return None

    def _wait(self, until: Callable[[], bool], limit_s: float) -> bool:
        try:
            return self._channels.wait(until, limit_s)
        except CutError as cut:
            # Some servers hang up without a goodbye; what they said before tells how it ended.
            if self._channels.received[ERROR] or self._channels.received[STDOUT]:
                return until()
            raise self._lost(str(cut)) from cut

    def _lost(self, why: str) -> KubeError:
        said = bytes(self._channels.received[STDERR])[-200:].decode(errors="replace")
        further = f"; it said: {said}" if said else ""
        return KubeError(
            one_line(
                f"the connection to {self._called.program} in pod {self._called.pod} is lost: "
                f"{why}{further}"
            ),
            "the pod may be gone, or the API server was replaced; kubectl get pod shows it",
        )

    def _read_returncode(self) -> int:
        told = bytes(self._channels.received[ERROR])
        if not told:
            raise self._lost("it ended without an exit code")
        status = json.loads(told)
        if status.get("status") == "Success":
            return 0
        for cause in (status.get("details") or {}).get("causes") or ():
            if cause.get("reason") == "ExitCode":
                return int(cause["message"])
        # What the container runtime said comes after what everybody on the way put before it.
        why = str(status.get("message")).rpartition("container process: ")[2]
        raise KubeError(
            one_line(f"{self._called.program} cannot be run in pod {self._called.pod}: {why}"),
            "is it in the image of this container, and is the container running?",
        )

    @property
    def errors(self) -> bytes:
        """What came on its standard error so far."""
        return bytes(self._channels.received[STDERR])

    @property
    def returncode(self) -> int | None:
        """Its exit code, once `receive` told that it ended."""
        return self._returncode

    def close(self) -> None:
        """Give up the connection; a program that still runs is not ended by that."""
        self._channels.close()
