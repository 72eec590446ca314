"""Sanity guard: figures that contradict each other, and trials that were not left alone."""

from __future__ import annotations

import math
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from groundspeed.analyse.diagnosis import GuardFinding, GuardKind
from groundspeed.analyse.guards.neighbours import neighbour_findings
from groundspeed.analyse.guards.trials import by_cell, environments_of, keys_of
from groundspeed.analyse.guards.wording import listed, low_to_high
from groundspeed.plan import POSTGRES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.plan import Cell, Words

_LITTLE_RATIO = 0.02
# A sampled log gives a mean of its own scatter: so many standard errors are left to chance.
_SIGMA = 3.0
_LAG_RATIO = 0.10
_PERCENT = 100
# pgbench's own scripts never sleep; of others a run has to say so.
_BUILT_IN = frozenset({"select-only", "simple-update", "tpcb-like"})
_UPDATES_BRANCHES = "tpcb-like"
_RECONNECTS = frozenset({"-C", "--connect"})


class _Told(NamedTuple):
    """A code, the cells it is about with a figure of each, and how to word them together."""

    code: str
    figures: Mapping[Cell, float]
    word: Callable[[Sequence[float]], str]


def sanity_findings(settled: Settled) -> tuple[GuardFinding, ...]:
    """Check Little's law, failures, schedule, scale and neighbours; once for each cause."""
    cells = by_cell(settled)
    told = (
        _Told("little", _each(cells, _little), _word_little),
        _Told("failed-transactions", _each(cells, _failed), partial(_word_failed, settled.words)),
        _Told("schedule-lag", _each(cells, _lag), _word_lag),
        _Told("schedule-lag", _each(cells, _late), _word_late),
    )
    return (
        *(_finding(settled, one) for one in told if one.figures),
        *_small_scales(settled, cells),
        *neighbour_findings(settled, cells),
    )


def _each(
    cells: Mapping[Cell, Sequence[MeasuredTrial]],
    figure: Callable[[Sequence[MeasuredTrial]], float | None],
) -> dict[Cell, float]:
    figures = {cell: figure(trials) for cell, trials in cells.items()}
    return {cell: value for cell, value in figures.items() if value is not None}


def _finding(settled: Settled, told: _Told) -> GuardFinding:
    return GuardFinding(
        kind=GuardKind.SANITY,
        code=told.code,
        message=told.word(list(told.figures.values())),
        cells=keys_of(settled, told.figures),
        environments=environments_of(settled, told.figures),
    )


def _little(trials: Sequence[MeasuredTrial]) -> float | None:
    """Give TPS x mean latency / clients where it is not 1, the median over trials.

    J. D. C. Little, "A proof for the queuing formula L = lambda W", 1961: in a closed loop without
    think time every client is always in a transaction.
    """
    ratios: list[float] = []
    noise: list[float] = []
    for trial in trials:
        outcome = trial.outcome
        if trial.run.engine != POSTGRES:
            # How many requests a client has under way at once is its load tool's own business.
            continue
        # A failed transaction takes its client's time and is in neither figure.
        if not _keeps_clients_busy(trial) or outcome.failed_count or outcome.tps_per_s <= 0:
            continue
        mean_s, logged = outcome.latency.mean_s, outcome.histogram.count
        ratio = outcome.tps_per_s * mean_s / trial.record.trial.cell.clients
        if not math.isfinite(ratio) or mean_s <= 0:
            continue
        ratios.append(ratio)
        sampled = outcome.log_sampling_ratio < 1 and logged > 0
        error = outcome.latency.stddev_s / mean_s / math.sqrt(logged) if sampled else 0.0
        noise.append(_SIGMA * error)
    if not ratios:
        return None
    ratio = median(ratios)
    return ratio if abs(ratio - 1) > _LITTLE_RATIO + median(noise) else None


def _keeps_clients_busy(trial: MeasuredTrial) -> bool:
    planned = trial.record.trial
    pausing = trial.run.pausing_workloads
    workload = planned.cell.workload
    busy = workload in _BUILT_IN if pausing is None else workload not in pausing
    reconnects = not _RECONNECTS.isdisjoint(trial.record.provenance.command)
    return busy and not reconnects and planned.rate_per_s is None


def _word_little(ratios: Sequence[float]) -> str:
    text = (
        f"TPS x mean latency is {low_to_high(ratios, '.2f')} of the clients, by Little's law it"
        " should be 1 within 2%"
    )
    if max(ratios) < 1:
        idle = low_to_high([_PERCENT * (1 - ratio) for ratio in ratios], ".0f")
        return (
            f"{text}: for {idle}% of the time a client was in no transaction but waited for"
            " pgbench itself, which latency does not contain"
        )
    return f"{text}: latency and throughput do not belong together"


def _failed(trials: Sequence[MeasuredTrial]) -> float | None:
    failed = sum(trial.outcome.failed_count or 0 for trial in trials)
    total = failed + sum(trial.outcome.transaction_count or 0 for trial in trials)
    return failed / total if failed else None


def _word_failed(words: Words, ratios: Sequence[float]) -> str:
    share = low_to_high([_PERCENT * ratio for ratio in ratios], ".2g")
    return f"{share}% of the {words.many} failed; {words.rate} and latency are of the others alone"


def _lag(trials: Sequence[MeasuredTrial]) -> float | None:
    """Give the mean lag over the mean latency, which contains it, where that is too much."""
    shares = [
        lag.mean_s / trial.outcome.latency.mean_s
        for trial in trials
        if (lag := trial.outcome.schedule_lag) is not None and trial.outcome.latency.mean_s > 0
    ]
    return median(shares) if shares and median(shares) > _LAG_RATIO else None


def _word_lag(shares: Sequence[float]) -> str:
    share = low_to_high([_PERCENT * value for value in shares], ".0f")
    return (
        f"transactions started late: {share}% of the mean latency is schedule lag; clients and"
        " server could not keep up with the rate"
    )


def _late(trials: Sequence[MeasuredTrial]) -> float | None:
    """Give the p99 of the lag over the latency limit where it is above it."""
    ratios = [
        lag.p99_s / limit_s
        for trial in trials
        if (lag := trial.outcome.schedule_lag) is not None
        and (limit_s := trial.record.trial.latency_limit_s) is not None
    ]
    return max(ratios) if ratios and max(ratios) > 1 else None


def _word_late(ratios: Sequence[float]) -> str:
    return (
        "1 in 100 transactions started later than the latency limit allows them to end: their lag"
        f" is {low_to_high(ratios, '.2g')} times the limit"
    )


def _small_scales(
    settled: Settled, cells: Mapping[Cell, Sequence[MeasuredTrial]]
) -> Iterator[GuardFinding]:
    small: dict[int, list[Cell]] = {}
    for cell in cells:
        if cell.workload == _UPDATES_BRANCHES and 0 < cell.scale < cell.clients:
            small.setdefault(cell.scale, []).append(cell)
    for scale, found in sorted(small.items()):
        clients = sorted({cell.clients for cell in found})
        yield GuardFinding(
            kind=GuardKind.SANITY,
            code="scale-below-clients",
            message=f"{_UPDATES_BRANCHES} at scale {scale} with {listed(list(map(str, clients)))}"
            " clients: all update the same few rows of pgbench_branches and wait for each other;"
            f" take a scale of {clients[-1]} or more",
            cells=keys_of(settled, found),
            environments=environments_of(settled, found),
        )
