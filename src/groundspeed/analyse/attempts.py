"""Which record of a trial counts, when it was tried more than once or a run is given twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.findings import RunRecords
from groundspeed.plan import POSTGRES, words_of
from groundspeed.record import Caution, Failed, Measured, Record, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from groundspeed.plan import Words


class SettledTrial(msgspec.Struct, frozen=True, kw_only=True):
    """The record that counts for a trial, and the run it is from."""

    run: RunRecords
    record: Record


class MeasuredTrial(msgspec.Struct, frozen=True, kw_only=True):
    """A settled trial with a measurement."""

    run: RunRecords
    record: Record
    outcome: Measured

    @property
    def writes(self) -> bool:
        """Whether its workload changes data; where a run does not say, all but select-only do."""
        workload, known = self.record.trial.cell.workload, self.run.writing_workloads
        return workload != "select-only" if known is None else workload in known


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """One record for each trial that was tried, in plan order of its environment and workload."""

    runs: tuple[RunRecords, ...]
    environments: tuple[str, ...]
    workloads: tuple[str, ...]
    trials: tuple[SettledTrial, ...]
    measured: tuple[MeasuredTrial, ...]
    cautions: tuple[Caution, ...]
    # Environments whose storage was emulated in any trial that was tried.
    emulated: frozenset[str]

    def label(self, environment: str) -> str:
        """Name an environment for people: a number from an emulated device always says so."""
        return f"{environment} (emulated)" if environment in self.emulated else environment

    @property
    def words(self) -> Words:
        """What is counted, in words."""
        return words_of(self.runs[0].engine if self.runs else POSTGRES)

    def count(self, outcome: type[Measured | Failed | Skipped]) -> int:
        """Count the trials with this kind of outcome."""
        return sum(isinstance(t.record.outcome, outcome) for t in self.trials)

    def name(self, trial: SettledTrial | MeasuredTrial) -> str:
        """Name a trial; with its run where there are several, whose trial ids may be the same."""
        trial_id = trial.record.trial.trial_id
        return trial_id if len(self.runs) == 1 else f"{trial.run.run_id}/{trial_id}"


def settle(runs: Sequence[RunRecords]) -> Settled:
    """Choose one record for each trial of each run; a run given twice counts once."""
    once, cautions = _distinct(runs)
    trials: list[SettledTrial] = []
    for run in once:
        records, doubts = _settle_run(run)
        trials += [SettledTrial(run=run, record=record) for record in records]
        cautions += [*run.cautions, *doubts]
    return Settled(
        runs=tuple(once),
        environments=_names(
            (run.environments for run in once),
            (t.record.trial.cell.environment for t in trials),
        ),
        workloads=_names(
            (run.workloads for run in once),
            (t.record.trial.cell.workload for t in trials),
        ),
        trials=tuple(trials),
        measured=tuple(
            MeasuredTrial(run=t.run, record=t.record, outcome=t.record.outcome)
            for t in trials
            if isinstance(t.record.outcome, Measured)
        ),
        cautions=tuple(dict.fromkeys(cautions)),
        emulated=frozenset(
            trial.record.trial.cell.environment
            for trial in trials
            for storage in (trial.record.provenance.storage,)
            if storage is not None and storage.emulated
        ),
    )


def _distinct(runs: Sequence[RunRecords]) -> tuple[list[RunRecords], list[Caution]]:
    """Drop a run that shares records with another, and give two that share a name one each.

    Repeats of one measurement would make an interval narrow for nothing. A run is known by its
    records: its name is a directory's, which people copy and rename.
    """
    kept: list[RunRecords] = []
    cautions: list[Caution] = []
    for run in runs:
        keys = _keys(run)
        twin = next((k for k in kept if k is run or keys & _keys(k)), None)
        if twin is not None:
            message = f"run {run.run_id} has records of run {twin.run_id}; they are taken once"
            cautions.append(Caution(code="same-run-twice", message=message))
            # A copy that was resumed knows more.
            if len(run.records) > len(twin.records):
                kept[kept.index(twin)] = run
            continue
        alike = sum(k.run_id.partition("#")[0] == run.run_id for k in kept)
        name = f"{run.run_id}#{alike + 1}" if alike else run.run_id
        kept.append(msgspec.structs.replace(run, run_id=name) if alike else run)
    return kept, cautions


def _keys(run: RunRecords) -> set[tuple[str, int, str, float]]:
    return {(r.trial.trial_id, r.attempt, r.started_at, r.elapsed_s) for r in run.records}


def _names(planned: Iterable[tuple[str, ...]], seen: Iterable[str]) -> tuple[str, ...]:
    """Order names as planned; records of a plan that was edited since come last."""
    return tuple(dict.fromkeys([*(name for names in planned for name in names), *seen]))


def _settle_run(run: RunRecords) -> tuple[list[Record], list[Caution]]:
    chosen: dict[str, Record] = {}
    twice: dict[str, int] = {}
    for record in run.records:
        trial_id = record.trial.trial_id
        earlier = chosen.get(trial_id)
        if earlier is not None and isinstance(earlier.outcome, Measured):
            # Never the better or the later of two: choosing among results is how they get wrong.
            if isinstance(record.outcome, Measured):
                twice[trial_id] = twice.get(trial_id, 1) + 1
            continue
        chosen[trial_id] = record
    return list(chosen.values()), [
        Caution(
            code="measured-twice",
            message=f"trial {trial_id} of run {run.run_id} was measured {count} times; "
            "the first measurement counts",
        )
        for trial_id, count in twice.items()
    ]
