"""Made-up tries of durability for tests."""

from __future__ import annotations

import msgspec

from groundspeed.record.losses import Ending, LossRecord, Promise
from tests.examples import make_storage

NOTHING = Promise(killed_s=0.0, power_cut_s=0.0, words="nothing acknowledged is lost")
A_SECOND = Promise(killed_s=0.0, power_cut_s=1.0, words="up to 1 s is lost with the machine")
NO_BOUND = Promise(killed_s=None, power_cut_s=None, words="nothing is kept")


def loss(  # noqa: PLR0913 - what tests vary
    *,
    environment: str = "a",
    ending: Ending = Ending.KILLED,
    attempt: int = 1,
    promise: Promise = NOTHING,
    acknowledged: int = 1000,
    missing: int | None = 0,
    oldest_s: float | None = None,
    **changes: object,
) -> LossRecord:
    """Make a try that came to its end."""
    made = LossRecord(
        groundspeed_version="0.1.0",
        environment=environment,
        ending=ending,
        attempt=attempt,
        started_at="2026-01-02T03:00:00+00:00",
        written_s=2.0,
        acknowledged_count=acknowledged,
        missing_count=missing,
        oldest_missing_s=oldest_s,
        recovery_s=0.5,
        promise=promise,
        server_version="16.4",
        storage=make_storage(label="slow-disk", emulated=True),
    )
    return msgspec.structs.replace(made, **changes)


def failed(**more: object) -> LossRecord:
    """Make a try that failed before its end: it says nothing of losses."""
    return loss(
        acknowledged=0, missing=None, recovery_s=None, failure="the server does not start", **more
    )


def gone(**more: object) -> LossRecord:
    """Make a try after which the server did not come back."""
    return loss(missing=None, recovery_s=None, failure="did not come back: PANIC", **more)
