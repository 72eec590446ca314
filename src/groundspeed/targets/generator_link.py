"""The other end of a load generator: what it is told, what it answers, and its clock."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, TypeVar

import msgspec

from groundspeed.errors import TargetError
from groundspeed.kube.api import KubeError
from groundspeed.stats.clock_offset import Reading, clock_offset
from groundspeed.targets import generator_messages as messages

if TYPE_CHECKING:
    from groundspeed.kube.api import Program
    from groundspeed.stats.clock_offset import Offset
    from groundspeed.targets.generator_messages import Asked, Told

_Kind = TypeVar("_Kind")

# An interpreter starts in a second; on a node under load, or with an image to page in, in many.
_ANSWER_LIMIT_S = 60.0
_ROUND_TRIPS = 20
# So often it is told that somebody is there; see `generating.SILENCE_S`.
_ALIVE_EVERY_S = 5.0
# Its answers to that, and its progress: without any for so long it is lost.
_LONGEST_SILENCE_S = 60.0
# A load tool that is ended goes at once; one that hangs is killed after five seconds.
_END_LIMIT_S = 15.0


class LinkLostError(Exception):
    """A generator has gone, or does not answer; the text says what was seen of it."""

    def __init__(self, link: Link, told: str) -> None:
        super().__init__(told)
        self.link = link


class Link:
    """One generator; `who` is what messages call it."""

    def __init__(self, program: Program, *, who: str, node: str = "") -> None:
        """Take over a `groundspeed generator` that was just started."""
        self.who = who
        self.node = node
        self._program = program
        self._lines = messages.Lines()
        self._heard_s = self._told_s = time.monotonic()

    def greet(self) -> messages.Hello:
        """Wait until it is there. Raises LinkLostError."""
        hello = self.wait_for(messages.Hello)
        self.node = hello.node or self.node
        return hello

    def send(self, message: Asked) -> None:
        """Tell it something. Raises LinkLostError."""
        self._told_s = time.monotonic()
        try:
            self._program.send(messages.encode(message))
        except KubeError as error:
            raise self._lost(error) from None

    def keep_alive(self) -> None:
        """Tell it now and then that somebody is there. Raises LinkLostError when it is not."""
        now_s = time.monotonic()
        if now_s - self._told_s > _ALIVE_EVERY_S:
            self.send(messages.Alive())
        if now_s - self._heard_s > _LONGEST_SILENCE_S:
            raise LinkLostError(self, f"it said nothing for {_LONGEST_SILENCE_S:.0f} s")

    def receive(self, limit_s: float) -> list[Told]:
        """Give what it said within a time. Raises LinkLostError when it has ended."""
        try:
            data = self._program.receive(limit_s)
        except KubeError as error:
            raise self._lost(error) from None
        if data is None:
            raise self._lost(None)
        if data:
            self._heard_s = time.monotonic()
        try:
            return [messages.decode_told(line) for line in self._lines.feed(data)]
        except msgspec.DecodeError as error:
            raise LinkLostError(self, f"it says what cannot be read: {error}") from None

    def wait_for(self, kind: type[_Kind]) -> _Kind:
        """Wait for an answer, and pass over what else it says.

        Raises LinkLostError, and TargetError for what it could not do.
        """
        deadline_s = time.monotonic() + _ANSWER_LIMIT_S
        while (left_s := deadline_s - time.monotonic()) > 0:
            for message in self.receive(left_s):
                if isinstance(message, messages.Trouble):
                    raise TargetError(f"{self.who}: {message.message}", message.hint)
                if isinstance(message, kind):
                    return message
        raise LinkLostError(self, f"it did not answer for {_ANSWER_LIMIT_S:.0f} s")

    def clock(self) -> Offset:
        """Measure how far its wall clock is ahead of ours. Raises LinkLostError."""
        return clock_offset([self._read_clock(number) for number in range(_ROUND_TRIPS)])

    def _read_clock(self, number: int) -> Reading:
        sent_ns, from_ns = time.time_ns(), time.monotonic_ns()
        self.send(messages.ClockAsked(number=number))
        told = self.wait_for(messages.ClockTold)
        took_ns = time.monotonic_ns() - from_ns
        return Reading(sent_ns=sent_ns, theirs_ns=told.wall_ns, received_ns=sent_ns + took_ns)

    def tell_end(self) -> None:
        """Tell it to end; one that is gone has."""
        with contextlib.suppress(LinkLostError):
            self.send(messages.End())

    def wait_until_ended(self) -> None:
        """Wait until it has ended, with its load, for a limited time; then let go of it.

        One that cannot be waited for ends by itself: nobody talks to it any more.
        """
        deadline_s = time.monotonic() + _END_LIMIT_S
        with contextlib.suppress(LinkLostError):
            while (left_s := deadline_s - time.monotonic()) > 0:
                self.receive(left_s)
        self._program.close()

    def _lost(self, error: KubeError | None) -> LinkLostError:
        if error is not None:
            return LinkLostError(self, error.message)
        told = self._program.errors.decode(errors="replace").strip().splitlines()
        further = f": {told[-1]}" if told else ""
        return LinkLostError(self, f"it ended with exit code {self._program.returncode}{further}")
