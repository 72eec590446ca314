"""Whether a change made the database slower than is allowed: pass, fail or undecided.

The rule, exactly. In each cell r is the candidate's TPS over the baseline's, its 95% interval is
low to high, and the bound is 1 less the loss that is allowed.

- A cell passes when low is above the bound.
- A cell fails when r is below the bound with an error of 2.5% over all cells together (Holm over
  the one-sided p-values of the test that the interval inverts).
- Every other cell is undecided.

Between two runs, which were measured at different times, both bounds are moved apart by what the
runs drift within themselves (`drift.drift_ratio`).

The gate fails when any cell fails; it passes when every cell of the baseline was measured in the
candidate and passes; else it is undecided. Passing takes no correction: a loss in one cell alone is
let through only if that cell's own interval is wrong (the intersection-union test: Berger,
Technometrics 24, 1982). 2.5% is the chance to fail a true loss of just the allowed size; that to
fail a no-op is far smaller.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.cells import estimate
from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.drift import drift_caution, drift_ratio, other_time
from groundspeed.analyse.findings import Estimate
from groundspeed.analyse.sides import is_one_run, shared
from groundspeed.analyse.two_sides import values_a_side
from groundspeed.record import Caution
from groundspeed.stats.paired_ratio import RatioInterval, paired_ratio
from groundspeed.stats.sequential import always_valid_interval, always_valid_tails
from groundspeed.stats.signed_rank import log_ratios, signed_rank_tails
from groundspeed.stats.step_down import step_down
from groundspeed.stats.unpaired_ratio import unpaired_ratio, unpaired_tails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.analyse.sides import SharedCell, Side
    from groundspeed.stats.sequential import Rule

ONE_SIDED_ERROR_RATIO = (1 - CONFIDENCE_RATIO) / 2
# Beyond this nobody measures on: the loss is as large as the limit.
_MOST_NEEDED_COUNT = 1000


class GateAnswer(Enum):
    """What a gate, or one cell of it, came to."""

    PASS = "pass"  # noqa: S105 - an answer, no password
    FAIL = "fail"
    UNDECIDED = "undecided"


class GateCell(msgspec.Struct, frozen=True, kw_only=True):
    """One cell at the gate.

    `ratio` is the candidate's TPS over the baseline's. `p_value` is that of a loss beyond what is
    allowed, corrected for the number of cells; `difference_p_value` that of any difference, by
    Mann and Whitney, uncorrected, as benchstat has it. `needs` says what would decide it, empty
    where it is decided.
    """

    baseline: str
    candidate: str
    workload: str
    clients: int
    threads: int
    scale: int
    is_paired: bool
    baseline_tps_per_s: Estimate
    candidate_tps_per_s: Estimate
    ratio: RatioInterval
    p_value: float
    difference_p_value: float
    answer: GateAnswer
    needs: str


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it. `missing` are cells of the baseline without a measurement now."""

    max_loss_ratio: float
    answer: GateAnswer
    cells: tuple[GateCell, ...]
    missing: tuple[str, ...]
    cautions: tuple[Caution, ...]


class _Bounds(NamedTuple):
    """The ratio of the limit, and what two runs may differ by for nothing; 0 in one run."""

    limit: float
    drift_ratio: float

    @property
    def fail_below(self) -> float:
        return self.limit / (1 + self.drift_ratio)

    @property
    def pass_above(self) -> float:
        return self.limit * (1 + self.drift_ratio)


def gate(sides: Sequence[tuple[Side, Side]], *, max_loss_ratio: float) -> Gate:
    """Hold each (baseline, candidate) against the loss that is allowed; 0 up to below 1.

    Raises UsageError where two sides share no cell.
    """
    found = [(baseline, candidate, shared(baseline, candidate)) for baseline, candidate in sides]
    drifts = [
        0.0 if is_one_run(baseline, candidate) else drift_ratio(both.cells)
        for baseline, candidate, both in found
    ]
    open_cells = [
        (a, b, cell, _Bounds(1 - max_loss_ratio, drift))
        for (a, b, both), drift in zip(found, drifts, strict=True)
        for cell in both.cells
    ]
    p_values = step_down([_p_value(cell, bounds, a.run.rule) for a, _, cell, bounds in open_cells])
    cells = tuple(
        _cell((a, b), cell, p_value, bounds)
        for (a, b, cell, bounds), p_value in zip(open_cells, p_values, strict=True)
    )
    missing = tuple(
        f"{place.workload} at {place.clients} clients: not measured in {candidate.name}"
        for _, candidate, both in found
        for place in both.only_baseline
    )
    return Gate(
        max_loss_ratio=max_loss_ratio,
        answer=_whole(cells, missing),
        cells=cells,
        missing=missing,
        cautions=tuple(
            dict.fromkeys(
                caution
                for (a, b), drift in zip(sides, drifts, strict=True)
                if not is_one_run(a, b)
                for caution in (*other_time(a, b), drift_caution(drift))
            )
        ),
    )


def _whole(cells: Sequence[GateCell], missing: Sequence[str]) -> GateAnswer:
    if any(cell.answer is GateAnswer.FAIL for cell in cells):
        return GateAnswer.FAIL
    if all(cell.answer is GateAnswer.PASS for cell in cells) and not missing:
        return GateAnswer.PASS
    return GateAnswer.UNDECIDED


def _p_value(cell: SharedCell, bounds: _Bounds, rule: Rule | None) -> float:
    """Test for a loss beyond the bound; 1 where nothing can be tested."""
    tps, bound = cell.tps_per_s, bounds.fail_below
    if tps.pairs is not None:
        logs = log_ratios(tps.pairs)
        if rule is not None:
            return always_valid_tails(logs, rule, math.log(bound)).below
        return signed_rank_tails(logs, math.log(bound)).below
    if not tps.baseline or not tps.candidate:
        return 1.0
    return unpaired_tails(tps.candidate, tps.baseline, bound).below


def _difference(cell: SharedCell) -> float:
    over, under = cell.tps_per_s.candidate, cell.tps_per_s.baseline
    if not over or not under:
        return 1.0
    return unpaired_tails(over, under).two_sided


def _ratio(cell: SharedCell, rule: Rule | None) -> RatioInterval:
    tps = cell.tps_per_s
    if tps.pairs:
        found = paired_ratio(tps.pairs, CONFIDENCE_RATIO)
        if rule is None:
            return found
        low, high = always_valid_interval(tps.pairs, rule, 1 - CONFIDENCE_RATIO)
        return msgspec.structs.replace(found, low=low, high=high)
    if tps.pairs is None and tps.baseline and tps.candidate:
        return unpaired_ratio(tps.candidate, tps.baseline, CONFIDENCE_RATIO)
    return RatioInterval(n=0, ratio=math.nan, low=None, high=None, confidence_ratio=None)


def _cell(sides: tuple[Side, Side], cell: SharedCell, p_value: float, bounds: _Bounds) -> GateCell:
    baseline, candidate = sides
    ratio = _ratio(cell, baseline.run.rule)
    is_paired = cell.tps_per_s.pairs is not None
    answer = GateAnswer.UNDECIDED
    if p_value <= ONE_SIDED_ERROR_RATIO:
        answer = GateAnswer.FAIL
    elif ratio.low is not None and ratio.low > bounds.pass_above:
        answer = GateAnswer.PASS
    return GateCell(
        baseline=baseline.name,
        candidate=candidate.name,
        **cell.place._asdict(),
        is_paired=is_paired,
        baseline_tps_per_s=estimate(cell.tps_per_s.baseline),
        candidate_tps_per_s=estimate(cell.tps_per_s.candidate),
        ratio=ratio,
        p_value=p_value,
        difference_p_value=_difference(cell),
        answer=answer,
        needs=_needs(ratio, bounds, baseline.run.rule, is_paired=is_paired)
        if answer is GateAnswer.UNDECIDED
        else "",
    )


def _needs(ratio: RatioInterval, bounds: _Bounds, rule: Rule | None, *, is_paired: bool) -> str:
    """Say what would decide a cell, if further trials came out like those there are."""
    what = "pairs" if is_paired else "trials a side"
    if ratio.n == 0:
        return "no trial has a throughput above 0"
    if ratio.low is None or ratio.high is None:
        least = TRIALS_NEEDED if is_paired else values_a_side(1 - CONFIDENCE_RATIO)
        if is_paired and rule is not None:
            least = rule.looks[0]
        return f"{ratio.n} {what}, {least} are the fewest that can decide"
    if ratio.high < bounds.fail_below:
        return f"a loss by itself, not certain among all cells: more than {ratio.n} {what}"
    if bounds.fail_below < ratio.ratio < bounds.pass_above:
        return f"too near the limit for two runs that drift by {bounds.drift_ratio:.1%}"
    passes = ratio.ratio >= bounds.pass_above
    bound, end = (bounds.pass_above, ratio.low) if passes else (bounds.fail_below, ratio.high)
    distance = abs(math.log(ratio.ratio / bound))
    # The width of an interval shrinks as the root of the number of values.
    half = abs(math.log(end / ratio.ratio))
    needed = ratio.n * (half / distance) ** 2 if distance > 0 else math.inf
    if needed > _MOST_NEEDED_COUNT:
        return "the loss is about as large as the limit: more trials will hardly tell"
    return f"about {max(math.ceil(needed), ratio.n + 1)} {what} in all, {ratio.n} there are"
