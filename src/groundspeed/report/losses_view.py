"""Tries of durability as a table of words; `losses_text` prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.losses import Kept, loss_rows
from groundspeed.record.losses import Ending
from groundspeed.report.scaling import NOTHING, format_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.losses import LossRow
    from groundspeed.record.losses import LossRecord

HEADER = ("environment", "after", "may lose", "lost / acknowledged", "oldest", "promise")
_ENDINGS = {Ending.KILLED: "kill -9", Ending.POWER_CUT: "power cut (emulated)"}
_ANSWERS = {
    Kept.KEPT: "kept",
    Kept.BROKEN: "BROKEN",
    Kept.NO_PROMISE: "no promise",
    Kept.UNKNOWN: "not tried",
}


class LossesView(msgspec.Struct, frozen=True, kw_only=True):
    """A title, rows in the order of `HEADER`, and sentences below them.

    `environments` are (name, what it stands on and what its server promises), in order.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    environments: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def losses_view(name: str, records: Sequence[LossRecord]) -> LossesView:
    """Word all tries."""
    rows = loss_rows(records)
    return LossesView(
        title=f"{name}: what was lost of what had been acknowledged",
        rows=tuple(_words(row) for row in rows),
        environments=tuple({row.environment: _about(row) for row in rows}.items()),
        notes=(*_notes(rows), *_failures(rows)),
    )


def _about(row: LossRow) -> str:
    if row.storage is None:
        return row.promise.words
    label = f"{row.storage.label}{' (emulated)' if row.storage.emulated else ''}"
    return f"on {label}; {row.promise.words}"


def _words(row: LossRow) -> tuple[str, ...]:
    return (
        row.environment,
        _ENDINGS[row.ending],
        _may_be_lost(row),
        _lost(row),
        _oldest(row),
        _ANSWERS[row.kept],
    )


def _oldest(row: LossRow) -> str:
    if row.lost_all_count:
        return "all"
    return NOTHING if row.oldest_missing_s is None else format_seconds(row.oldest_missing_s)


def _may_be_lost(row: LossRow) -> str:
    bound_s = row.promise.after(row.ending)
    if bound_s is None:
        return "no bound"
    return "nothing" if bound_s == 0 else f"{bound_s:g} s"


def _lost(row: LossRow) -> str:
    if not row.try_count:
        return NOTHING
    return f"{row.missing_count:,} / {row.acknowledged_count:,}"


def _notes(rows: Sequence[LossRow]) -> list[str]:
    counts = sorted({row.try_count for row in rows})
    tries = str(counts[-1]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    each = "try" if counts == [1] else "tries"
    notes = [
        (
            f"{tries} {each} each. An entry counts once the server acknowledged it to its client;"
            " it is lost when the server, started again, does not have it. Oldest: how long before"
            " the end it was acknowledged, in the worst try."
        ),
        "Tries can break a promise. That none did is no proof: it is what these tries showed.",
    ]
    if any(row.ending is Ending.POWER_CUT for row in rows):
        notes.append(
            "Power cuts are emulated: what had not reached the emulated device is taken from the"
            " files; docs/emulation.md says what that leaves out."
        )
    return notes


def _failures(rows: Sequence[LossRow]) -> list[str]:
    return [
        f"{row.environment}, {_ENDINGS[row.ending]}: {failure}"
        for row in rows
        for failure in row.failures
    ]
