"""Tries of durability, added up: what was promised, what was lost, and whether that agrees."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

import msgspec

from groundspeed.record.losses import Ending, Promise
from groundspeed.record.storage import StorageFacts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.record.losses import LossRecord


class Kept(Enum):
    """Whether the tries agree with the promise. They can break one; they cannot prove one."""

    KEPT = "kept"
    BROKEN = "broken"
    NO_PROMISE = "no promise"
    UNKNOWN = "not tried"


class LossRow(msgspec.Struct, frozen=True, kw_only=True):
    """All tries of one environment and one ending.

    `missing_counts` has one of each try that came back, in order; `lost_all_count` are tries after
    which the server did not, and `missing_count` has all that was acknowledged in those too.
    `oldest_missing_s` is the worst of them, None where nothing was lost.
    """

    environment: str
    ending: Ending
    promise: Promise
    try_count: int
    acknowledged_count: int
    missing_count: int
    missing_counts: tuple[int, ...]
    lost_all_count: int
    oldest_missing_s: float | None
    recovery_s: float | None
    kept: Kept
    failures: tuple[str, ...]
    storage: StorageFacts | None


def loss_rows(records: Sequence[LossRecord]) -> tuple[LossRow, ...]:
    """Add up the tries of each environment and ending, in the order they were first tried."""
    places = dict.fromkeys((r.environment, r.ending) for r in records)
    return tuple(
        _row([r for r in records if (r.environment, r.ending) == place]) for place in places
    )


def _row(records: Sequence[LossRecord]) -> LossRow:
    first = records[0]
    # One that acknowledged nothing was not tried: it failed before its end.
    tried = [r for r in records if r.acknowledged_count]
    back = [r for r in tried if r.missing_count is not None]
    counts = [r.acknowledged_count if r.missing_count is None else r.missing_count for r in tried]
    return LossRow(
        environment=first.environment,
        ending=first.ending,
        promise=first.promise,
        try_count=len(tried),
        acknowledged_count=sum(r.acknowledged_count for r in tried),
        missing_count=sum(counts),
        missing_counts=tuple(r.missing_count for r in back if r.missing_count is not None),
        lost_all_count=len(tried) - len(back),
        oldest_missing_s=_most(r.oldest_missing_s for r in back),
        recovery_s=_most(r.recovery_s for r in back),
        kept=_kept(first.promise.after(first.ending), tried),
        failures=tuple(dict.fromkeys(r.failure for r in records if r.failure is not None)),
        storage=next((r.storage for r in records if r.storage is not None), None),
    )


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _kept(bound_s: float | None, tried: Sequence[LossRecord]) -> Kept:
    if not tried:
        return Kept.UNKNOWN
    if bound_s is None:
        return Kept.NO_PROMISE
    return Kept.KEPT if all(_is_within(r, bound_s) for r in tried) else Kept.BROKEN


def _is_within(record: LossRecord, bound_s: float) -> bool:
    if record.missing_count is None:
        return False
    # One that is missing is older than nothing, also where it was the very last one.
    return record.missing_count == 0 or (
        bound_s > 0 and (record.oldest_missing_s or 0.0) <= bound_s
    )
