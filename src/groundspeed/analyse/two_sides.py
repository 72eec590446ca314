"""Two sides compared, cell by cell: two environments of one run, or the same ones of two runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec

from groundspeed import analyse
from groundspeed.analyse import outside
from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.diagnosis import Diagnosis, GuardFinding
from groundspeed.analyse.drift import drift_caution, drift_ratio, other_time
from groundspeed.analyse.figures import GeometricMeanOfRatios
from groundspeed.analyse.findings import Answer, Difference, Findings
from groundspeed.analyse.overall import unpaired_means
from groundspeed.analyse.sides import (
    Place,
    is_one_run,
    one_environment,
    shared,
    two_environments,
)
from groundspeed.record import Caution
from groundspeed.stats.holm import reached_level
from groundspeed.stats.paired_ratio import RatioInterval
from groundspeed.stats.signed_rank import NO_EVIDENCE
from groundspeed.stats.unpaired_ratio import unpaired_ratio, unpaired_tails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.findings import Comparison
    from groundspeed.analyse.sides import Shared, SharedCell, Side
    from groundspeed.stats.signed_rank import Tails

_OF_REPORTS = frozenset({"many-comparisons", "missing-trials", "imported-unpaired"})
_ERROR_RATIO = 1 - CONFIDENCE_RATIO
# A difference that is surely smaller is none to anybody; as in the reports of one run.
_MARGIN_RATIO = 0.03
_NONE = RatioInterval(n=0, ratio=math.nan, low=None, high=None, confidence_ratio=None)


class CellCompared(msgspec.Struct, frozen=True, kw_only=True):
    """The candidate over the baseline in one cell.

    Counts are of trials; of pairs on both sides where `is_paired`. `p_value` is two-sided, that of
    no difference, before the number of cells is allowed for, which `answer` does; None where the
    comparison is that of the run's own report.
    """

    workload: str
    clients: int
    threads: int
    scale: int
    is_paired: bool
    baseline_count: int
    candidate_count: int
    tps: RatioInterval
    p99: RatioInterval
    answer: Answer
    why: str
    p_value: float | None = None
    baseline_why: Diagnosis | None = None
    candidate_why: Diagnosis | None = None


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Two sides, the cells they share, and what may fool the reader of their ratio.

    Labels say "(emulated)" where that is so; `only_baseline` and `only_candidate` are cells of one
    side alone.
    """

    baseline: str
    candidate: str
    baseline_label: str
    candidate_label: str
    is_paired: bool
    cells: tuple[CellCompared, ...]
    only_baseline: tuple[Place, ...]
    only_candidate: tuple[Place, ...]
    guards: tuple[GuardFinding, ...]
    differences: tuple[Difference, ...]
    cautions: tuple[Caution, ...]
    means: tuple[GeometricMeanOfRatios, ...] = ()


def compare_sides(sides: Sequence[tuple[Side, Side]]) -> tuple[Compared, ...]:
    """Compare each (baseline, candidate); answers allow for the number of all their cells.

    Two environments of one run get the answers of the run's own report over these two. Two runs
    get the Hodges-Lehmann estimate and the Mann-Whitney test of unpaired values. Raises UsageError
    where two sides share no cell.
    """
    found = [shared(*pair) for pair in sides]
    open_cells = [
        cell
        for pair, both in zip(sides, found, strict=True)
        if not is_one_run(*pair)
        for cell in both.cells
    ]
    level = _level(open_cells)
    return tuple(
        _paired_sides(*pair, both) if is_one_run(*pair) else _unpaired_sides(*pair, both, level)
        for pair, both in zip(sides, found, strict=True)
    )


class _Level(msgspec.Struct, frozen=True, kw_only=True):
    """The two-sided error that the family leaves each of its comparisons."""

    family_count: int
    error_ratio: float


def _level(cells: Sequence[SharedCell]) -> _Level:
    # As in the reports: what could not be decided if it stood alone takes no share of the error.
    able = [cell for cell in cells if _least(cell) <= _ERROR_RATIO]
    family_count = max(len(able), 1)
    p_values = [_tails(cell).two_sided for cell in able]
    return _Level(
        family_count=family_count,
        error_ratio=reached_level(p_values, family_count, _ERROR_RATIO),
    )


def _least(cell: SharedCell) -> float:
    """Give the smallest two-sided p-value that so many values can have."""
    n, m = len(cell.tps_per_s.candidate), len(cell.tps_per_s.baseline)
    return 2 / math.comb(n + m, n)


def _tails(cell: SharedCell, bound_ratio: float = 1.0) -> Tails:
    over, under = cell.tps_per_s.candidate, cell.tps_per_s.baseline
    return unpaired_tails(over, under, bound_ratio) if over and under else NO_EVIDENCE


def _paired_sides(baseline: Side, candidate: Side, both: Shared) -> Compared:
    run = two_environments(baseline, candidate)
    findings = analyse.analyse([run], baseline=baseline.environment)
    names = (baseline.environment, candidate.environment)
    cells = tuple(_paired(comparison) for comparison in findings.comparisons)
    found = _compared((baseline, candidate), both, findings, names, cells)
    return msgspec.structs.replace(found, means=findings.means)


def _unpaired_sides(baseline: Side, candidate: Side, both: Shared, level: _Level) -> Compared:
    runs = [one_environment(baseline), one_environment(candidate)]
    findings = analyse.analyse(runs, baseline=baseline.name)
    names = (baseline.name, candidate.name)
    drift = drift_ratio([cell.tps_per_s for cell in both.cells])
    cells = tuple(_unpaired(cell, level, drift) for cell in both.cells)
    found = _compared((baseline, candidate), both, findings, names, cells)
    found = msgspec.structs.replace(
        found,
        cautions=(*found.cautions[:1], drift_caution(drift), *found.cautions[1:]),
        means=unpaired_means(both.cells, baseline.name, candidate.name),
    )
    if outside.is_published(baseline) or outside.is_published(candidate):
        return outside.as_published(found, baseline, candidate, both.cells)
    return found


def _compared(
    sides: tuple[Side, Side],
    both: Shared,
    findings: Findings,
    names: tuple[str, str],
    cells: Sequence[CellCompared],
) -> Compared:
    baseline, candidate = sides
    return Compared(
        baseline=baseline.name,
        candidate=candidate.name,
        baseline_label=_label(findings, names[0], baseline.name),
        candidate_label=_label(findings, names[1], candidate.name),
        is_paired=is_one_run(baseline, candidate),
        cells=tuple(_with_whys(cell, findings, names) for cell in cells),
        only_baseline=both.only_baseline,
        only_candidate=both.only_candidate,
        guards=findings.guards,
        differences=findings.differences,
        cautions=_cautions(baseline, candidate, findings),
    )


def _label(findings: Findings, environment: str, name: str) -> str:
    return f"{name} (emulated)" if environment in findings.emulated else name


def _paired(c: Comparison) -> CellCompared:
    def interval(ratio: float, low: float | None, high: float | None) -> RatioInterval:
        return RatioInterval(
            n=c.pair_count, ratio=ratio, low=low, high=high, confidence_ratio=c.confidence_ratio
        )

    return CellCompared(
        workload=c.workload,
        clients=c.clients,
        threads=c.threads,
        scale=c.scale,
        is_paired=True,
        baseline_count=c.pair_count,
        candidate_count=c.pair_count,
        tps=interval(c.tps_ratio, c.tps_low, c.tps_high),
        p99=interval(c.p99_ratio, c.p99_low, c.p99_high),
        answer=c.answer,
        why=c.why,
    )


def _unpaired(cell: SharedCell, level: _Level, drift: float) -> CellCompared:
    over, under = cell.tps_per_s.candidate, cell.tps_per_s.baseline
    tps = unpaired_ratio(over, under, CONFIDENCE_RATIO) if over and under else _NONE
    slow, fast = cell.p99_s.candidate, cell.p99_s.baseline
    answer, why = _answer(cell, tps, level, drift)
    return CellCompared(
        **cell.place._asdict(),
        is_paired=False,
        baseline_count=len(under),
        candidate_count=len(over),
        tps=tps,
        p99=unpaired_ratio(slow, fast, CONFIDENCE_RATIO) if slow and fast else _NONE,
        answer=answer,
        why=why,
        p_value=_tails(cell).two_sided,
    )


def _answer(
    cell: SharedCell, tps: RatioInterval, level: _Level, drift: float
) -> tuple[Answer, str]:
    """Answer one cell; equivalent goes first, as in the reports of one run.

    What two runs may differ by for nothing is taken off the margin, and added to what must differ.
    """
    wide, margin = 1 + drift, (1 + _MARGIN_RATIO) / (1 + drift)
    inside = 2 * max(_tails(cell, 1 / margin).above, _tails(cell, margin).below)
    if margin > 1 and inside <= level.error_ratio:
        return Answer.EQUIVALENT, ""
    if 2 * _tails(cell, wide).above <= level.error_ratio:
        return Answer.FASTER, ""
    if 2 * _tails(cell, 1 / wide).below <= level.error_ratio:
        return Answer.SLOWER, ""
    return Answer.UNDECIDED, _why(cell, tps, level, drift)


def _why(cell: SharedCell, tps: RatioInterval, level: _Level, drift: float) -> str:
    if _least(cell) > level.error_ratio:
        needed = values_a_side(level.error_ratio)
        # In benchstat's words, which people who compare two runs know.
        return (
            f"need >= {needed} samples to detect a difference at alpha level"
            f" {level.error_ratio:.2g}"
        )
    if _tails(cell).two_sided <= level.error_ratio and tps.n:
        return f"the difference is not clear of how the runs drift by themselves ({drift:.1%})"
    if _tails(cell).two_sided <= _ERROR_RATIO:
        return f"by itself it would be{_among(level) or ', but not sure'}"
    return "the interval includes 1"


def _among(level: _Level) -> str:
    count = level.family_count
    return "" if count == 1 else f", but not as one of {count} comparisons"


def values_a_side(error_ratio: float) -> int:
    """Count the values a side at which the Mann-Whitney test can reach an error; 4 for 0.05.

    Of all orders of n and n values two are the most extreme ones, one to each side.
    """
    n = 1
    while 2 / math.comb(2 * n, n) > error_ratio:
        n += 1
    return n


def _with_whys(cell: CellCompared, findings: Findings, names: tuple[str, str]) -> CellCompared:
    place = (cell.workload, cell.clients, cell.threads, cell.scale)
    known = {
        d.environment: d.diagnosis
        for d in findings.diagnoses
        if (d.workload, d.clients, d.threads, d.scale) == place
    }
    return msgspec.structs.replace(
        cell, baseline_why=known.get(names[0]), candidate_why=known.get(names[1])
    )


def _cautions(baseline: Side, candidate: Side, findings: Findings) -> tuple[Caution, ...]:
    told = [c for c in findings.cautions if c.code not in _OF_REPORTS]
    if is_one_run(baseline, candidate):
        return tuple(told)
    return (*other_time(baseline, candidate), *told)
