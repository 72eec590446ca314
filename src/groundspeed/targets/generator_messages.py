"""What a load generator and whoever asks it for load say to each other: a line of JSON each.

A password travels in `LoadAsked.secret_files` and in nothing else.
"""

from __future__ import annotations

import msgspec

from groundspeed.plan import Command, Trial
from groundspeed.ports import LoadResult


class ClockAsked(msgspec.Struct, frozen=True, kw_only=True, tag="clock"):
    """Ask for its time."""

    number: int


class ProgramAsked(msgspec.Struct, frozen=True, kw_only=True, tag="program"):
    """Ask which version of a program it has, for a server of that connection string."""

    name: str
    conninfo: str


class LoadAsked(msgspec.Struct, frozen=True, kw_only=True, tag="load"):
    """Ask for a load, from `start_at_ns` on by its own wall clock; it is ended after `limit_s`.

    `variables` and `secret_files` as in `targets.load.Login`. `number` tells loads apart.
    """

    number: int
    command: Command
    trial: Trial
    variables: tuple[tuple[str, str], ...]
    secret_files: tuple[tuple[str, str], ...]
    start_at_ns: int
    limit_s: float


class ZeroTold(msgspec.Struct, frozen=True, kw_only=True, tag="zero"):
    """Tell from which moment of its own wall clock the seconds of that load count."""

    number: int
    zero_us: int


class Alive(msgspec.Struct, frozen=True, kw_only=True, tag="alive"):
    """Say that one is still there; whoever hears it says the same."""


class End(msgspec.Struct, frozen=True, kw_only=True, tag="end"):
    """Ask it to end whatever it does, and itself."""


class Hello(msgspec.Struct, frozen=True, kw_only=True, tag="hello"):
    """Say that a generator is there. `version` is groundspeed's; outside of a pod two are empty."""

    version: str
    pod: str
    node: str
    wall_ns: int
    monotonic_ns: int


class ClockTold(msgspec.Struct, frozen=True, kw_only=True, tag="clock"):
    """Tell the time of a generator, by both of its clocks."""

    number: int
    wall_ns: int
    monotonic_ns: int


class ProgramTold(msgspec.Struct, frozen=True, kw_only=True, tag="program"):
    """Tell a version, as the program reports it."""

    version: str


class Began(msgspec.Struct, frozen=True, kw_only=True, tag="began"):
    """Tell when the log of a load begins by the generator's wall clock; None: it is empty."""

    first_us: int | None


class ProgressTold(msgspec.Struct, frozen=True, kw_only=True, tag="progress"):
    """Tell how a load is doing, as in `ports.Progress`."""

    elapsed_s: float
    tps_per_s: float | None
    p99_s: float | None


class LoadEnded(msgspec.Struct, frozen=True, kw_only=True, tag="result"):
    """Tell what came of a load. It was started at `started_ns` by the generator's wall clock.

    That was `late_s` after it should have been.
    """

    load: LoadResult
    started_ns: int
    late_s: float


class Trouble(msgspec.Struct, frozen=True, kw_only=True, tag="trouble"):
    """Tell why what was asked could not be done, in the words of a TargetError."""

    message: str
    hint: str


Asked = ClockAsked | ProgramAsked | LoadAsked | ZeroTold | Alive | End
Told = Hello | ClockTold | ProgramTold | Began | ProgressTold | LoadEnded | Trouble | Alive

_ENCODER = msgspec.json.Encoder()
_ASKED: msgspec.json.Decoder[Asked] = msgspec.json.Decoder(Asked)
_TOLD: msgspec.json.Decoder[Told] = msgspec.json.Decoder(Told)


def encode(message: Asked | Told) -> bytes:
    """Write a message as a line."""
    return _ENCODER.encode(message) + b"\n"


def decode_asked(line: bytes) -> Asked:
    """Read a line that a generator was sent. Raises msgspec.DecodeError."""
    return _ASKED.decode(line)


def decode_told(line: bytes) -> Told:
    """Read a line that a generator wrote. Raises msgspec.DecodeError."""
    return _TOLD.decode(line)


class Lines:
    """Cuts what comes into lines, wherever its pieces end."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Take a piece; gives the lines that are whole now, without their ends."""
        *whole, rest = data.split(b"\n")
        if not whole:
            self._rest += rest
            return []
        first, self._rest = bytes(self._rest) + whole[0], bytearray(rest)
        return [first, *whole[1:]]
