"""An outcome with its doubts, and the doubts that every load may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.plan import TRANSACTIONS
from groundspeed.record import (
    Caution,
    Failed,
    Outcome,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import Trial, Words
    from groundspeed.tools.load_tool import LoadTotals


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """An outcome and the doubts that ride on it."""

    outcome: Outcome
    cautions: tuple[Caution, ...] = ()


def failed(reason: str) -> Judgement:
    """Make the failure of a load that may go well another time."""
    return Judgement(outcome=Failed(reason=reason, retryable=True))


def load_cautions(
    trial: Trial, report: LoadTotals, *, words: Words = TRANSACTIONS
) -> Iterator[Caution]:
    """Doubt what a report by itself gives reason to; `words` are those of what it counts."""
    if trial.rate_per_s is None:
        # No other load tool takes one.
        rate = "; pgbench.rate measures at a given arrival rate" if words is TRANSACTIONS else ""
        yield Caution(
            code="closed-loop",
            message="closed loop: each client waits for its answer before it sends the next,"
            f" so latency hides queueing{rate}",
        )
    if report.failed_count:
        total = report.transaction_count + report.failed_count
        yield Caution(
            code="failed-transactions",
            message=f"{report.failed_count} of {total} {words.many} failed",
        )
