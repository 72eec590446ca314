"""What a server lost when it ended badly: a `LossRecord` for every try, and what was promised."""

from __future__ import annotations

from enum import Enum

import msgspec

from groundspeed.errors import StoreError
from groundspeed.record.storage import StorageFacts

LOSS_FORMAT = 1


class Ending(Enum):
    """How a server was ended while it was written to."""

    KILLED = "killed"  # SIGKILL to all its processes; the machine and its page cache live on
    POWER_CUT = "power-cut"  # and what had not reached the (emulated) device is gone


class Promise(msgspec.Struct, frozen=True, kw_only=True):
    """How much of what was acknowledged may be lost, by the server's own documentation.

    In seconds before the end; 0 is nothing, None is no bound at all. `words` say it for people.
    """

    killed_s: float | None
    power_cut_s: float | None
    words: str

    def after(self, ending: Ending) -> float | None:
        """Seconds that may be lost after an ending; None without a bound."""
        return self.killed_s if ending is Ending.KILLED else self.power_cut_s


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """What environments keep when they end badly: pairs of a name and its promise.

    `ways` are pairs too: seconds that may be lost, and how a suite asks for no more than that.
    """

    promises: tuple[tuple[str, Promise], ...]
    ways: tuple[tuple[float, str], ...] = ()


class LossRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One try: numbered entries were written, the server was ended, started again and asked.

    `missing_count` of `acknowledged_count` were gone; None where the server did not come back.
    `oldest_missing_s` is how long before the end the oldest of those was acknowledged.
    `dropped_bytes` is what the power cut took from the files (emulated).
    """

    format: int = LOSS_FORMAT
    groundspeed_version: str
    environment: str
    ending: Ending
    attempt: int
    started_at: str
    written_s: float
    acknowledged_count: int
    missing_count: int | None
    oldest_missing_s: float | None
    recovery_s: float | None
    # Why it did not come back, or why this try says nothing.
    failure: str | None = None
    dropped_bytes: int | None = None
    server_version: str | None = None
    storage: StorageFacts | None = None
    promise: Promise


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(LossRecord)


def encode_loss(record: LossRecord) -> bytes:
    """Write a record as one line of JSON, with its newline."""
    return _ENCODER.encode(record) + b"\n"


def decode_loss(line: bytes) -> LossRecord:
    """Read one line. Raises msgspec.DecodeError for a torn one, StoreError for a later format."""
    record = _DECODER.decode(line)
    if record.format != LOSS_FORMAT:
        raise StoreError(
            f"loss record format {record.format}, this groundspeed knows {LOSS_FORMAT}",
            f"use groundspeed {record.groundspeed_version}",
        )
    return record
