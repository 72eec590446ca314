"""How far runs drift within themselves: told of one, and the least that two may differ by.

Trials of another day are not drawn from the same distribution: machines have moods that last longer
than a run, and a test that takes trials for independent then finds differences between two runs of
the same thing in every third comparison (measured on a virtual machine, see docs/compare.md).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.sides import share_records
from groundspeed.record import Caution
from groundspeed.stats.trend import trend_across
from groundspeed.stats.unpaired_ratio import unpaired_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.analyse.figures import CellPlace, TrialFigures
    from groundspeed.analyse.sides import Samples, Side

_LEAST_COUNT = 4
# Two runs are farther apart than the halves of one. Twice the largest shift kept wrong claims
# within a few per cent on recorded noise, the largest shift alone did not.
_FACTOR = 2
# Below five repeats no order of them is rare enough, see `stats.trend`.
_LEAST_REPEATS = 5
_LEAST_DRIFT = math.log(1.03)


def drift_ratio(cells: Sequence[Samples]) -> float:
    """Give what two runs may differ by for nothing, as a ratio less 1: 0.02 is a factor of 1.02.

    Twice the largest shift of one figure, on a log axis, between the first and the second half of
    the trials of any of these cells, on either side. 0 where cells have fewer than four trials.
    """
    shifts = [
        abs(
            math.log(
                unpaired_ratio(values[: len(values) // 2], values[(len(values) + 1) // 2 :]).ratio
            )
        )
        for cell in cells
        for values in (cell.baseline, cell.candidate)
        if len(values) >= _LEAST_COUNT
    ]
    return math.expm1(_FACTOR * max(shifts, default=0.0))


def drift_caution(drift: float, figure: str = "throughput") -> Caution:
    """Say how far the runs drift, and what came of it."""
    message = (
        f"{figure} shifts within the runs themselves, from the first half of their trials to the"
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


def run_drift(
    figures: Sequence[TrialFigures], label: Callable[[str], str] = str
) -> tuple[Caution, ...]:
    """Say where throughput rose or fell over the repeats of a run, and what that touches.

    Kendall's test in each cell of each run, the error shared among all cells by adding up; what is
    certain and smaller than 3% from the first repeat to the last is nothing to anybody. `label`
    names an environment for people.
    """
    cells: dict[tuple[str, str, CellPlace], list[float]] = {}
    for trial in figures:
        if math.isfinite(trial.tps_per_s) and trial.tps_per_s > 0:
            key = (trial.run_id, trial.environment, trial.place)
            cells.setdefault(key, []).append(math.log(trial.tps_per_s))
    able = {key: logs for key, logs in cells.items() if len(logs) >= _LEAST_REPEATS}
    confidence = 1 - (1 - CONFIDENCE_RATIO) / max(len(able), 1)
    found = {
        key: change
        for key, logs in able.items()
        if abs(change := _certain_change(logs, confidence)) >= _LEAST_DRIFT
    }
    if not found:
        return ()
    (_, environment, place), most = max(found.items(), key=lambda item: abs(item[1]))
    clients = "1 client" if place.clients == 1 else f"{place.clients} clients"
    message = (
        f"throughput drifted over the run in {len(found)} of {len(able)} cells, most with"
        f" {label(environment)}, {place.workload}, {clients}: it"
        f" {'rose' if most > 0 else 'fell'} by {abs(math.expm1(most)):.0%} from first to last"
        " repeat; ratios are taken inside blocks, which go through it together, medians and ranges"
        " hold all of it"
    )
    return (Caution(code="drift-over-run", message=message),)


def _certain_change(logs: Sequence[float], confidence_ratio: float) -> float:
    """Give the change from first to last on a log axis; 0 where none is certain."""
    trend = trend_across(logs, confidence_ratio)
    if trend.low is None or trend.high is None or trend.low <= 0 <= trend.high:
        return 0.0
    return trend.slope * (len(logs) - 1)
