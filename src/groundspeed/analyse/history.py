"""How the cells of one suite went over dated runs: medians in order of time, and where they broke.

A change point says that the level changed and when; what was another then (a version, a setting,
the kernel) is listed beside it, as a hint and not as its cause.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.cells import estimate, reading_order
from groundspeed.analyse.circumstances import circumstances, varied
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.findings import Estimate
from groundspeed.errors import UsageError
from groundspeed.record import Caution
from groundspeed.stats.change_points import change_points

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.findings import RunRecords
    from groundspeed.plan import Cell
    from groundspeed.stats.change_points import ChangePoint

# With fewer, no split of two and two could ever be certain.
LEAST_RUN_COUNT = 4


class HistoryPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One cell in one run: the median TPS over its trials, and when the run began."""

    run_id: str
    started_at: str
    tps_per_s: Estimate


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """The first run of a new level: the ratio of the level after to the one before, 95% interval.

    `index` counts the points of the cell; `p_value` is corrected for the places of the series.
    `became` are the circumstances that were not the same in the run before and in this one.
    """

    index: int
    run_id: str
    started_at: str
    before_per_s: float
    after_per_s: float
    ratio: float
    low: float
    high: float
    p_value: float
    became: tuple[str, ...]


class CellHistory(msgspec.Struct, frozen=True, kw_only=True):
    """One cell over all runs that measured it, oldest first."""

    environment: str
    workload: str
    clients: int
    threads: int
    scale: int
    emulated: bool
    points: tuple[HistoryPoint, ...]
    changes: tuple[LevelChange, ...]


class History(msgspec.Struct, frozen=True, kw_only=True):
    """All cells of a suite; `error_ratio` is the chance of a false change in any of them."""

    suite_name: str
    run_ids: tuple[str, ...]
    error_ratio: float
    cells: tuple[CellHistory, ...]
    cautions: tuple[Caution, ...]


def history(runs: Sequence[RunRecords]) -> History:
    """Follow the cells of runs of one suite over time.

    Change points are looked for in the logarithms of the medians, so that a change is a ratio; the
    error is shared evenly between the cells (Bonferroni). Raises UsageError without any run and for
    runs of several suites.
    """
    suites = list(dict.fromkeys(run.suite_name for run in runs))
    if len(suites) != 1:
        told = "there is no run" if not suites else f"runs of several suites: {', '.join(suites)}"
        raise UsageError(told, "name a directory with runs of one suite, or one with --suite")
    settled = settle(runs)
    series = _series(settled)
    error_ratio = 1 - CONFIDENCE_RATIO
    share = error_ratio / max(len(series), 1)
    return History(
        suite_name=suites[0],
        run_ids=tuple(run.run_id for run in settled.runs),
        error_ratio=error_ratio,
        cells=tuple(
            _cell(cell, by_run, share, emulated=cell.environment in settled.emulated)
            for cell, by_run in series.items()
        ),
        cautions=(*settled.cautions, *_few(series)),
    )


def _series(settled: Settled) -> dict[Cell, dict[str, list[MeasuredTrial]]]:
    """Gather trials by cell and run; cells in reading order, runs from the oldest on."""
    starts: dict[str, str] = {}
    for trial in settled.measured:
        began = trial.record.started_at
        starts[trial.run.run_id] = min(starts.get(trial.run.run_id, began), began)
    found: dict[Cell, dict[str, list[MeasuredTrial]]] = {}
    for trial in sorted(settled.measured, key=lambda t: (starts[t.run.run_id], t.run.run_id)):
        tps = trial.outcome.tps_per_s
        if math.isfinite(tps) and tps > 0:
            by_run = found.setdefault(trial.record.trial.cell, {})
            by_run.setdefault(trial.run.run_id, []).append(trial)
    return {c: found[c] for c in sorted(found, key=lambda cell: reading_order(settled, cell))}


def _few(series: dict[Cell, dict[str, list[MeasuredTrial]]]) -> tuple[Caution, ...]:
    most = max((len(by_run) for by_run in series.values()), default=0)
    if most >= LEAST_RUN_COUNT:
        return ()
    runs = "1 run" if most == 1 else f"{most} runs"
    message = f"{runs}: a change of level takes {LEAST_RUN_COUNT}, two before it and two after"
    return (Caution(code="few-runs", message=message),)


def _cell(
    cell: Cell, by_run: dict[str, list[MeasuredTrial]], error_ratio: float, *, emulated: bool
) -> CellHistory:
    points = tuple(
        HistoryPoint(
            run_id=run_id,
            started_at=min(t.record.started_at for t in trials),
            tps_per_s=estimate([t.outcome.tps_per_s for t in trials]),
        )
        for run_id, trials in by_run.items()
    )
    logs = [math.log(point.tps_per_s.median) for point in points]
    found = change_points(logs, error_ratio=error_ratio, confidence_ratio=CONFIDENCE_RATIO)
    trials = list(by_run.values())
    return CellHistory(
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        emulated=emulated,
        points=points,
        changes=tuple(
            _change(change, points[change.index], trials[change.index - 1], trials[change.index])
            for change in found
        ),
    )


def _change(
    change: ChangePoint,
    point: HistoryPoint,
    before: Sequence[MeasuredTrial],
    after: Sequence[MeasuredTrial],
) -> LevelChange:
    facts = varied([t.record for t in (before[0], after[0])], circumstances)
    return LevelChange(
        index=change.index,
        run_id=point.run_id,
        started_at=point.started_at,
        before_per_s=math.exp(change.before),
        after_per_s=math.exp(change.after),
        ratio=math.exp(change.after - change.before),
        low=math.exp(change.low),
        high=math.exp(change.high),
        p_value=change.p_value,
        became=tuple(f"{name}: {' to '.join(values)}" for name, values in facts.items()),
    )
