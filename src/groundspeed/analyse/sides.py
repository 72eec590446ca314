"""Two sides of a comparison, an environment of a run each, and the cells they share.

Of one run the trials of a block are pairs. Of two runs nothing is paired: then another time stands
behind the difference too, and nobody can take it out.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from groundspeed.analyse import outside
from groundspeed.analyse.attempts import settle
from groundspeed.analyse.findings import RunRecords
from groundspeed.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial
    from groundspeed.record import Measured

Pair = tuple[float, float]
_T = TypeVar("_T")


class Place(NamedTuple):
    """A cell without its environment."""

    workload: str
    clients: int
    threads: int
    scale: int


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One environment of one run; `name` is what people call it, unique in a comparison."""

    name: str
    run: RunRecords
    environment: str


class Samples(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one cell on both sides, finite and above 0.

    `pairs` are (candidate, baseline) of one block, in the order of blocks; None where the sides are
    of different runs.
    """

    baseline: tuple[float, ...]
    candidate: tuple[float, ...]
    pairs: tuple[Pair, ...] | None


class SharedCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell that was measured on both sides.

    All three places are one, but for published figures: there scales may differ, and threads may
    not be told.
    """

    place: Place
    baseline_place: Place
    candidate_place: Place
    tps_per_s: Samples
    p99_s: Samples


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What two sides share, in the order of the baseline, and what only one of them has."""

    cells: tuple[SharedCell, ...]
    only_baseline: tuple[Place, ...]
    only_candidate: tuple[Place, ...]


def is_one_run(baseline: Side, candidate: Side) -> bool:
    """Tell whether the two sides can be paired inside blocks, which imported figures have none."""
    return baseline.run is candidate.run and outside.source_of(baseline) is None


def one_environment(side: Side) -> RunRecords:
    """Give the run as if it had this one environment, called by the name of the side.

    Trials are renamed too: of a run and its copy, or of two sides of one run, both would otherwise
    be taken for one measurement.
    """
    records = tuple(
        msgspec.structs.replace(
            record,
            trial=msgspec.structs.replace(
                trial,
                trial_id=f"{side.name}/{trial.trial_id}",
                cell=msgspec.structs.replace(trial.cell, environment=side.name),
            ),
        )
        for record in side.run.records
        for trial in (record.trial,)
        if trial.cell.environment == side.environment
    )
    mine = {record.trial.trial_id for record in records}

    def renamed(by_trial: Mapping[str, _T]) -> dict[str, _T]:
        found = {f"{side.name}/{trial_id}": value for trial_id, value in by_trial.items()}
        return {trial_id: value for trial_id, value in found.items() if trial_id in mine}

    return msgspec.structs.replace(
        side.run,
        planned_trial_count=len(mine),
        environments=(side.name,),
        records=records,
        seconds=renamed(side.run.seconds),
        series=renamed(side.run.series),
    )


def two_environments(baseline: Side, candidate: Side) -> RunRecords:
    """Give the one run of both sides as if it had no other environment."""
    names = (baseline.environment, candidate.environment)
    records = tuple(r for r in baseline.run.records if r.trial.cell.environment in names)
    return msgspec.structs.replace(
        baseline.run,
        planned_trial_count=len({r.trial.trial_id for r in records}),
        environments=names,
        records=records,
    )


def shared(baseline: Side, candidate: Side) -> Shared:
    """Find the cells of both sides with the values of their trials.

    Raises UsageError where there is none.
    """
    ours, theirs = _by_place(baseline), _by_place(candidate)
    is_published = outside.is_published(baseline)
    if is_published or outside.is_published(candidate):
        alike = outside.matches(ours, theirs)
    else:
        alike = tuple((place, place) for place in ours if place in theirs)
    cells = tuple(
        SharedCell(
            # By the names of what was measured here, if anything was.
            place=outside.merged(other, one) if is_published else outside.merged(one, other),
            baseline_place=one,
            candidate_place=other,
            tps_per_s=_samples(ours[one], theirs[other], baseline, candidate, _tps),
            p99_s=_samples(ours[one], theirs[other], baseline, candidate, _p99),
        )
        for one, other in alike
    )
    if not cells:
        raise UsageError(
            f"{baseline.name} and {candidate.name} have no cell in common",
            "compare runs with the same workloads, clients, threads and scale",
        )
    return Shared(
        cells=cells,
        only_baseline=_rest(ours, [one for one, _ in alike]),
        only_candidate=_rest(theirs, [other for _, other in alike]),
    )


def _rest(places: Iterable[Place], compared: Collection[Place]) -> tuple[Place, ...]:
    return tuple(place for place in places if place not in compared)


def share_records(baseline: Side, candidate: Side) -> bool:
    """Tell whether both sides are made of the same measurements, as a run and its copy are."""
    if baseline.run is candidate.run:
        return False
    keys = [
        {(r.trial.trial_id, r.attempt, r.started_at, r.elapsed_s) for r in side.run.records}
        for side in (baseline, candidate)
    ]
    return bool(keys[0] & keys[1])


def _by_place(side: Side) -> dict[Place, list[MeasuredTrial]]:
    """Gather the measured trials of a side; in the order of its plan, clients ascending."""
    settled = settle([side.run])
    found: dict[Place, list[MeasuredTrial]] = {}
    for trial in settled.measured:
        cell = trial.record.trial.cell
        # A twin measures the noise floor and belongs to no comparison.
        if cell.environment == side.environment and not trial.record.trial.twin:
            place = Place(cell.workload, cell.clients, cell.threads, cell.scale)
            found.setdefault(place, []).append(trial)

    def order(place: Place) -> tuple[int, int, int, int]:
        index = settled.workloads.index(place.workload)
        return index, place.scale, place.threads, place.clients

    return {place: found[place] for place in sorted(found, key=order)}


def _tps(outcome: Measured) -> float:
    return outcome.tps_per_s


def _p99(outcome: Measured) -> float:
    return outcome.latency.p99_s


def _samples(
    ours: Sequence[MeasuredTrial],
    theirs: Sequence[MeasuredTrial],
    baseline: Side,
    candidate: Side,
    metric: Callable[[Measured], float],
) -> Samples:
    pairs = None
    if is_one_run(baseline, candidate):
        blocks = {t.record.trial.block_index: metric(t.outcome) for t in ours}
        both = [
            (metric(t.outcome), blocks[t.record.trial.block_index])
            for t in sorted(theirs, key=lambda t: t.record.trial.block_index)
            if t.record.trial.block_index in blocks
        ]
        pairs = tuple((a, b) for a, b in both if _usable(a) and _usable(b))
    return Samples(
        baseline=tuple(v for t in ours if _usable(v := metric(t.outcome))),
        candidate=tuple(v for t in theirs if _usable(v := metric(t.outcome))),
        pairs=pairs,
    )


def _usable(value: float) -> bool:
    """Leave out what has no ratio: a throughput of zero would be infinitely slower."""
    return math.isfinite(value) and value > 0
