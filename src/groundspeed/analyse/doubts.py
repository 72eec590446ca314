"""Doubts: cautions on records become footnotes, and the whole gets cautions of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.findings import Footnote
from groundspeed.plan import POSTGRES
from groundspeed.record import Caution, Failed, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from groundspeed.analyse.attempts import MeasuredTrial, Settled, SettledTrial
    from groundspeed.analyse.findings import Comparison
    from groundspeed.plan import Cell

# pgbench itself suggests minutes; below this a write trial cannot meet even a checkpoint that is
# forced by max_wal_size, so its number is that of an idle background.
SHORT_WRITES_S = 10
_NAMES_SHOWN = 4
_SEVERAL_CELLS = 2


class FootnoteBook:
    """Numbers footnotes in order of first mention and remembers at which cells they belong."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._cells: dict[Cell, set[tuple[str, str]]] = {}

    def add(self, code: str, message: str, cells: Iterable[Cell], *, count: int = 1) -> None:
        """Tell a footnote at these cells; the same words again only add to its count."""
        key = (code, message)
        self._counts[key] = self._counts.get(key, 0) + count
        for cell in cells:
            self._cells.setdefault(cell, set()).add(key)

    def carry(self, trial: SettledTrial) -> None:
        """Take over the cautions that ride on a record."""
        for caution in dict.fromkeys(trial.record.cautions):
            self.add(caution.code, caution.message, [trial.record.trial.cell])

    def take_general(self, trial_count: int) -> tuple[Caution, ...]:
        """Take out what every one of the trials carries: told once, it needs no mark anywhere."""
        if len(self._cells) < _SEVERAL_CELLS:
            return ()
        general = [key for key, count in self._counts.items() if count >= trial_count]
        for key in general:
            del self._counts[key]
            for keys in self._cells.values():
                keys.discard(key)
        return tuple(Caution(code=code, message=message) for code, message in general)

    def of_cell(self, cell: Cell) -> tuple[int, ...]:
        """Look up the indices of a cell's footnotes, ascending."""
        keys = self._cells.get(cell, set())
        return tuple(index for index, key in enumerate(self._counts) if key in keys)

    def footnotes(self) -> tuple[Footnote, ...]:
        """All footnotes so far; a later `add` never renumbers an earlier one."""
        return tuple(
            Footnote(code=code, message=message, count=count)
            for (code, message), count in self._counts.items()
        )


def finding_cautions(
    settled: Settled, comparisons: Sequence[Comparison], general: Sequence[Caution]
) -> tuple[Caution, ...]:
    """Name the doubts about the whole, the most far-reaching first; `general` are on all trials."""
    found = [
        *settled.cautions,
        *_unmeasured(settled),
        *_comparison_count(comparisons),
        *_noise_floor(comparisons),
        *_emulated(settled.measured),
        *_imported(settled.measured),
        *_short_writes(settled.measured),
        *_paced(settled.measured),
        *general,
    ]
    return tuple(dict.fromkeys(found))


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMES_SHOWN
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _trials(count: int) -> str:
    return "1 trial" if count == 1 else f"{count} trials"


def _unmeasured(settled: Settled) -> Iterator[Caution]:
    names: dict[tuple[str, str], list[str]] = {}
    for trial in settled.trials:
        outcome = trial.record.outcome
        if isinstance(outcome, Failed):
            names.setdefault(("failed", outcome.reason), []).append(settled.name(trial))
        elif isinstance(outcome, Skipped):
            names.setdefault(("skipped", outcome.reason), []).append(settled.name(trial))
    for (kind, reason), trials in sorted(names.items(), key=lambda item: item[0][0]):
        were = ("was " if len(trials) == 1 else "were ") if kind == "skipped" else ""
        message = f"{_trials(len(trials))} {were}{kind}: {reason} ({_some(trials)})"
        yield Caution(code=f"{kind}-trials", message=message)
    for run in settled.runs:
        tried = sum(t.run is run for t in settled.trials)
        missing = run.planned_trial_count - tried
        if missing > 0:
            message = (
                f"run {run.run_id}: {missing} of {_trials(run.planned_trial_count)} "
                "not tried; resume the run"
            )
            yield Caution(code="missing-trials", message=message)


def _comparison_count(comparisons: Sequence[Comparison]) -> Iterator[Caution]:
    count = sum(c.tps_low is not None for c in comparisons)
    if count > 1:
        yield Caution(
            code="many-comparisons",
            message=f"the answers allow for {count} comparisons (Holm); "
            f"each interval is at {CONFIDENCE_RATIO:.0%} by itself",
        )


def _noise_floor(comparisons: Sequence[Comparison]) -> Iterator[Caution]:
    unknown = dict.fromkeys(
        c.workload for c in comparisons if c.floor_ratio is None and c.tps_low is not None
    )
    if unknown:
        yield Caution(
            code="no-noise-floor",
            message="no noise floor: too few pairs of trials of one environment in one block"
            f" ({_some(list(unknown))})",
        )


def _emulated(measured: Sequence[MeasuredTrial]) -> Iterator[Caution]:
    for trial in measured:
        storage = trial.record.provenance.storage
        if storage is not None and storage.emulated:
            message = (
                f"{trial.record.trial.cell.environment} runs on emulated storage "
                f"({storage.label}): its delays are imitated, no such device was measured"
            )
            yield Caution(code="emulated", message=message)


def _imported(measured: Sequence[MeasuredTrial]) -> Iterator[Caution]:
    environments = {trial.record.trial.cell.environment for trial in measured}
    is_any = any(trial.record.provenance.imported is not None for trial in measured)
    if is_any and len(environments) > 1:
        message = (
            "imported figures share a block with nothing, so a report compares none of them:"
            " groundspeed compare gives ratios, unpaired"
        )
        yield Caution(code="imported-unpaired", message=message)


def _short_writes(measured: Sequence[MeasuredTrial]) -> Iterator[Caution]:
    durations = sorted(
        {
            t.record.trial.duration_s
            for t in measured
            # 0 is that of an import that does not tell.
            if 0 < t.record.trial.duration_s < SHORT_WRITES_S and t.writes
        }
    )
    if durations:
        lengths = " or ".join(f"{duration_s} s" for duration_s in durations)
        than = (
            "are shorter than a checkpoint cycle"
            if all(t.run.engine == POSTGRES for t in measured)
            else "leave no time for what the page cache puts off"
        )
        message = f"write trials of {lengths} {than}: throughput over hours may be lower"
        yield Caution(code="short-writes", message=message)


def _paced(measured: Sequence[MeasuredTrial]) -> Iterator[Caution]:
    if any(t.record.trial.rate_per_s is not None for t in measured):
        message = (
            "with pgbench.rate the throughput was asked for, not found out: "
            "compare latencies, and TPS only to see whether the rate was kept up"
        )
        yield Caution(code="paced", message=message)
