"""Records become capacities: for each cell the highest rate that holds, and what makes it break."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.attempts import settle
from groundspeed.analyse.capacity.searching import ERROR_RATIO, search_cell
from groundspeed.analyse.capacity.shapes import Capacity, CapacitySlice, CapacityState
from groundspeed.analyse.capacity.slices import outcome_of
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.diagnosis import Bottleneck
from groundspeed.record import Failed, Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled
    from groundspeed.analyse.capacity.searching import CellSearch
    from groundspeed.analyse.findings import EnvironmentFacts, RunRecords, TrialEvidence
    from groundspeed.plan import CapacitySearch, Cell
    from groundspeed.record import Record
    from groundspeed.stats.rate_search import Bracket


def settled_slices(settled: Settled) -> Settled:
    """Settle the slices of the same runs, which stand apart from their other trials."""
    return settle([msgspec.structs.replace(run, records=run.slices) for run in settled.runs])


def capacities(
    settled: Settled, slices: Settled, watched: Sequence[TrialEvidence]
) -> tuple[Capacity, ...]:
    """Give a capacity for every cell of every run that searched one, in reading order.

    `slices` are settled apart, see `settled_slices`; `watched` is what probes saw of them.
    """
    seen = {trial.trial_id: trial for trial in watched}
    found: list[Capacity] = []
    for run in settled.runs:
        if run.search is None:
            continue
        records = [
            *(t.record for t in settled.trials if t.run is run),
            *(t.record for t in slices.trials if t.run.run_id == run.run_id),
        ]
        measured = [t for t in slices.measured if t.run.run_id == run.run_id]
        told = {t.record.trial.trial_id: _slice(t, slices, seen, run.search) for t in measured}
        cells = list(dict.fromkeys(record.trial.cell for record in records))
        family = len(cells)
        for cell in sorted(cells, key=lambda c: _reading_order(settled, c)):
            own = [record for record in records if record.trial.cell == cell]
            emulated = cell.environment in settled.emulated | slices.emulated
            made = _capacity(run, run.search, own, told, family)
            found.append(msgspec.structs.replace(made, emulated=emulated))
    return tuple(found)


def _reading_order(settled: Settled, cell: Cell) -> tuple[int, int, int, int]:
    return (
        settled.workloads.index(cell.workload),
        cell.threads,
        cell.clients,
        settled.environments.index(cell.environment),
    )


def _slice(
    measured: MeasuredTrial,
    slices: Settled,
    seen: dict[str, TrialEvidence],
    asked: CapacitySearch,
) -> CapacitySlice:
    record, outcome = measured.record, measured.outcome
    found = outcome_of(record, asked.bound_s)
    assert found is not None  # noqa: S101 - a measured trial with a rate
    trial = seen.get(slices.name(measured))
    diagnosis = None if trial is None or found.holds else trial.diagnosis
    bottleneck, clue = Bottleneck.UNKNOWN, None
    if diagnosis is not None and diagnosis.bottleneck is not Bottleneck.UNKNOWN:
        bottleneck, clue = diagnosis.bottleneck, next(iter(diagnosis.clues), None)
    elif diagnosis is not None and diagnosis.others:
        # It reached its rate, late: what came nearest to holding it back.
        bottleneck = diagnosis.others[0]
    lag = outcome.schedule_lag
    return CapacitySlice(
        trial_id=slices.name(measured),
        rate_per_s=found.rate_per_s,
        done_per_s=(outcome.transaction_count or 0) / record.trial.duration_s,
        p99_s=outcome.latency.p99_s,
        lag_p99_s=None if lag is None else lag.p99_s,
        missed_ratio=found.missed_ratio,
        holds=found.holds,
        bottleneck=bottleneck,
        clue=clue,
    )


def _capacity(
    run: RunRecords,
    asked: CapacitySearch,
    records: Sequence[Record],
    told: dict[str, CapacitySlice],
    family_count: int,
) -> Capacity:
    searched = search_cell(asked, records)
    bracket = searched.bracket()
    wide = searched.bracket(ERROR_RATIO / family_count)
    low, high = _rates(searched, bracket)
    family_low, family_high = _rates(searched, wide)
    slices = tuple(
        told[record.trial.trial_id]
        for record in sorted(records, key=lambda r: r.trial.repeat_index)
        if isinstance(record.outcome, Measured) and record.trial.trial_id in told
    )
    state = _state(searched, bracket, asked)
    cell = records[0].trial.cell
    named, agreeing, broken = _bottleneck(slices, low)
    return Capacity(
        run_id=run.run_id,
        environment=cell.environment,
        workload=cell.workload,
        clients=cell.clients,
        threads=cell.threads,
        scale=cell.scale,
        bound_s=asked.bound_s,
        within_ratio=asked.within_ratio,
        confidence_ratio=CONFIDENCE_RATIO,
        state=state,
        closed_loop_per_s=searched.closed_loop_per_s or math.nan,
        rate_per_s=_middle(searched, low, high, state),
        low_per_s=low,
        high_per_s=high,
        family_count=family_count,
        family_low_per_s=family_low,
        family_high_per_s=family_high,
        slices=slices,
        failed_count=sum(isinstance(r.outcome, Failed) for r in records),
        bottleneck=named,
        agreeing_count=agreeing,
        broken_count=broken,
        clue=next((s.clue for s in slices if s.bottleneck is named and s.clue), None),
    )


def _rates(searched: CellSearch, bracket: Bracket | None) -> tuple[float | None, float | None]:
    if bracket is None:
        return None, None
    rates = searched.rates_per_s
    return (
        None if bracket.low is None else rates[bracket.low],
        None if bracket.high is None else rates[bracket.high],
    )


def _state(searched: CellSearch, bracket: Bracket | None, asked: CapacitySearch) -> CapacityState:
    if not searched.rates_per_s:
        return CapacityState.UNKNOWN
    if bracket is None:
        return CapacityState.CHANGED
    if bracket.low is None:
        return CapacityState.NEVER if bracket.high == 0 else CapacityState.OPEN
    if bracket.high is None:
        is_top = bracket.low == len(searched.rates_per_s) - 1
        return CapacityState.ABOVE if is_top else CapacityState.OPEN
    return CapacityState.FOUND if searched.is_narrow(bracket, asked) else CapacityState.WIDE


def _middle(
    searched: CellSearch, low: float | None, high: float | None, state: CapacityState
) -> float | None:
    """Give the rate in the middle, within its interval; None where no search ends in one."""
    if searched.search is None or not searched.slice_count:
        return None
    if state in (CapacityState.NEVER, CapacityState.ABOVE, CapacityState.CHANGED):
        return None
    rates = searched.rates_per_s
    between = searched.search.middle()
    below = rates[between.low] if between.low is not None else rates[0]
    above = rates[between.high] if between.high is not None else rates[-1]
    middle = math.sqrt(below * above)
    return min(max(middle, low or 0.0), math.inf if high is None else high)


def _bottleneck(
    slices: Sequence[CapacitySlice], low: float | None
) -> tuple[Bottleneck | None, int, int]:
    """Name what most slices break by that are beyond the rate that surely holds."""
    broken = [s for s in slices if not s.holds and s.rate_per_s > (low or 0.0)]
    counts = Counter(s.bottleneck for s in broken if s.bottleneck is not Bottleneck.UNKNOWN)
    if not counts:
        return None, 0, len(broken)
    named, agreeing = counts.most_common(1)[0]
    return named, agreeing, len(broken)


def with_slices(facts: Sequence[EnvironmentFacts], slices: Settled) -> tuple[EnvironmentFacts, ...]:
    """Count the slices of each environment among its trials."""

    def counted(kind: type[Measured | Failed], name: str) -> int:
        return sum(
            isinstance(t.record.outcome, kind) and t.record.trial.cell.environment == name
            for t in slices.trials
        )

    return tuple(
        msgspec.structs.replace(
            fact,
            measured_count=fact.measured_count + counted(Measured, fact.environment),
            failed_count=fact.failed_count + counted(Failed, fact.environment),
        )
        for fact in facts
    )
