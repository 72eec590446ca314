"""How far runs drift within themselves, as the least that two runs may differ by for nothing.

Trials of another day are not drawn from the same distribution: machines have moods that last longer
than a run, and a test that takes trials for independent then finds differences between two runs of
the same thing in every third comparison (measured on a virtual machine, see docs/compare.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse.sides import share_records
from groundspeed.record import Caution
from groundspeed.stats.unpaired_ratio import unpaired_ratio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.sides import SharedCell, Side

_LEAST_COUNT = 4
# Two runs are farther apart than the halves of one. Twice the largest shift kept wrong claims
# within a few per cent on recorded noise, the largest shift alone did not.
_FACTOR = 2


def drift_ratio(cells: Sequence[SharedCell]) -> float:
    """Give what two runs may differ by for nothing, as a ratio less 1: 0.02 is a factor of 1.02.

    Twice the largest shift of throughput, on a log axis, between the first and the second half of
    the trials of any of these cells, on either side. 0 where cells have fewer than four trials.
    """
    shifts = [
        abs(
            math.log(
                unpaired_ratio(values[: len(values) // 2], values[(len(values) + 1) // 2 :]).ratio
            )
        )
        for cell in cells
        for values in (cell.tps_per_s.baseline, cell.tps_per_s.candidate)
        if len(values) >= _LEAST_COUNT
    ]
    return math.expm1(_FACTOR * max(shifts, default=0.0))


def drift_caution(drift: float) -> Caution:
    """Say how far the runs drift, and what came of it."""
    message = (
        f"throughput shifts within the runs themselves, from the first half of their trials to the"
        f" second: two runs of the same thing may differ by {drift:.1%}, and no answer is given"
        " within that"
    )
    return Caution(code="drift", message=message)


def other_time(baseline: Side, candidate: Side) -> tuple[Caution, ...]:
    """Name what stands behind a difference of two runs besides what is compared."""
    if share_records(baseline, candidate):
        message = f"{baseline.name} and {candidate.name} hold the same records: one is a copy"
        return (Caution(code="same-records", message=message),)
    starts = [
        min((r.started_at for r in side.run.records), default="unknown")[:16]
        for side in (baseline, candidate)
    ]
    message = (
        f"measured at different times ({starts[0]} and {starts[1]}), in no common block: whatever"
        " changed on the machine between them is in the ratio too; environments of one run are"
        " compared without it"
    )
    found = [Caution(code="other-time", message=message)]
    stopped = [side.name for side in (baseline, candidate) if side.run.rule is not None]
    if stopped:
        message = (
            f"{' and '.join(stopped)} stopped when comparisons of that run were decided: between"
            " runs, intervals of what was stopped so are a little too sure"
        )
        found.append(Caution(code="stopped-early", message=message))
    return tuple(found)
