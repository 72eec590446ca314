"""Whether a change made the database slower than is allowed: pass, fail or undecided.

The rule, exactly. In each cell r is the candidate's TPS over the baseline's, its 95% interval is
low to high, and the bound is 1 less the loss that is allowed.

- A cell passes when low is above the bound.
- A cell fails when r is below the bound with an error of 2.5% over all cells together (Holm over
  the one-sided p-values of the test that the interval inverts).
- Every other cell is undecided.

Where a rise of p99 is limited too, each cell is asked a second time, by the same rule: r is the
baseline's p99 over the candidate's, and the bound 1 over 1 plus the rise that is allowed. All of
these questions together share the error.

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
from typing import TYPE_CHECKING

import msgspec

from groundspeed.analyse.cells import estimate
from groundspeed.analyse.confidence import CONFIDENCE_RATIO, TRIALS_NEEDED
from groundspeed.analyse.drift import drift_caution, drift_ratio, other_time
from groundspeed.analyse.findings import Estimate
from groundspeed.analyse.gate_claims import (
    Bounds,
    Claim,
    GateMetric,
    difference_of,
    p_value_of,
    speed_ratio,
    value_ratio,
    values_of,
)
from groundspeed.analyse.sides import is_one_run, shared
from groundspeed.analyse.two_sides import values_a_side
from groundspeed.record import Caution
from groundspeed.stats.paired_ratio import RatioInterval
from groundspeed.stats.step_down import step_down

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from groundspeed.analyse.sides import Shared, Side

__all__ = ["Gate", "GateAnswer", "GateCell", "GateMetric", "gate"]

ONE_SIDED_ERROR_RATIO = (1 - CONFIDENCE_RATIO) / 2
# Beyond this nobody measures on: the loss is as large as the limit.
_MOST_NEEDED_COUNT = 1000


class GateAnswer(Enum):
    """What a gate, or one cell of it, came to."""

    PASS = "pass"  # noqa: S105 - an answer, no password
    FAIL = "fail"
    UNDECIDED = "undecided"


class GateCell(msgspec.Struct, frozen=True, kw_only=True):
    """One figure of one cell at the gate.

    `ratio` is the candidate's over the baseline's, of what `metric` says: bad below 1 for
    throughput, above 1 for latency. `p_value` is that of a change beyond what is allowed, corrected
    for the number of cells and figures; `difference_p_value` that of any difference, by Mann and
    Whitney, uncorrected, as benchstat has it. `needs` says what would decide it, empty where it is
    decided. The latencies are None where the figure is throughput.
    """

    baseline: str
    candidate: str
    workload: str
    clients: int
    threads: int
    scale: int
    metric: GateMetric = GateMetric.TPS
    is_paired: bool
    baseline_tps_per_s: Estimate
    candidate_tps_per_s: Estimate
    baseline_p99_s: Estimate | None = None
    candidate_p99_s: Estimate | None = None
    ratio: RatioInterval
    p_value: float
    difference_p_value: float
    answer: GateAnswer
    needs: str


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The whole of it. `missing` are cells of the baseline without a measurement now.

    `max_p99_rise_ratio` is None where latency was not asked about.
    """

    max_loss_ratio: float
    max_p99_rise_ratio: float | None = None
    answer: GateAnswer
    cells: tuple[GateCell, ...]
    missing: tuple[str, ...]
    cautions: tuple[Caution, ...]


def gate(
    sides: Sequence[tuple[Side, Side]],
    *,
    max_loss_ratio: float,
    max_p99_rise_ratio: float | None = None,
) -> Gate:
    """Hold each (baseline, candidate) against the loss that is allowed; 0 up to below 1.

    `max_p99_rise_ratio` limits the 99th percentile of latency, 0 or more: 0.1 allows 1.1 times the
    baseline's. Raises UsageError where two sides share no cell.
    """
    found = [(baseline, candidate, shared(baseline, candidate)) for baseline, candidate in sides]
    limits = {GateMetric.TPS: 1 - max_loss_ratio}
    if max_p99_rise_ratio is not None:
        limits[GateMetric.P99] = 1 / (1 + max_p99_rise_ratio)
    claims = [
        claim
        for baseline, candidate, both in found
        for metric, limit in limits.items()
        for claim in _claims((baseline, candidate), both, metric, limit)
    ]
    p_values = step_down([p_value_of(claim) for claim in claims])
    cells = tuple(_cell(claim, p) for claim, p in zip(claims, p_values, strict=True))
    missing = tuple(
        f"{place.workload} at {place.clients} clients: not measured in {candidate.name}"
        for _, candidate, both in found
        for place in both.only_baseline
    )
    return Gate(
        max_loss_ratio=max_loss_ratio,
        max_p99_rise_ratio=max_p99_rise_ratio,
        answer=_whole(cells, missing),
        cells=cells,
        missing=missing,
        cautions=tuple(dict.fromkeys(_cautions(claims))),
    )


def _claims(
    sides: tuple[Side, Side], both: Shared, metric: GateMetric, limit: float
) -> Iterator[Claim]:
    drift = 0.0
    if not is_one_run(*sides):
        drift = drift_ratio([values_of(cell, metric) for cell in both.cells])
    for cell in both.cells:
        yield Claim(*sides, cell, metric, Bounds(limit, drift))


def _cautions(claims: Sequence[Claim]) -> Iterator[Caution]:
    for claim in claims:
        if not is_one_run(claim.baseline, claim.candidate):
            yield from other_time(claim.baseline, claim.candidate)
            yield drift_caution(claim.bounds.drift_ratio, claim.metric.value)


def _whole(cells: Sequence[GateCell], missing: Sequence[str]) -> GateAnswer:
    if any(cell.answer is GateAnswer.FAIL for cell in cells):
        return GateAnswer.FAIL
    if all(cell.answer is GateAnswer.PASS for cell in cells) and not missing:
        return GateAnswer.PASS
    return GateAnswer.UNDECIDED


def _cell(claim: Claim, p_value: float) -> GateCell:
    speed = speed_ratio(claim)
    answer = GateAnswer.UNDECIDED
    if p_value <= ONE_SIDED_ERROR_RATIO:
        answer = GateAnswer.FAIL
    elif speed.low is not None and speed.low > claim.bounds.pass_above:
        answer = GateAnswer.PASS
    tps, p99 = claim.cell.tps_per_s, claim.cell.p99_s
    is_latency = claim.metric is GateMetric.P99
    return GateCell(
        baseline=claim.baseline.name,
        candidate=claim.candidate.name,
        **claim.cell.place._asdict(),
        metric=claim.metric,
        is_paired=claim.is_paired,
        baseline_tps_per_s=estimate(tps.baseline),
        candidate_tps_per_s=estimate(tps.candidate),
        baseline_p99_s=estimate(p99.baseline) if is_latency else None,
        candidate_p99_s=estimate(p99.candidate) if is_latency else None,
        ratio=value_ratio(claim, speed),
        p_value=p_value,
        difference_p_value=difference_of(claim),
        answer=answer,
        needs=_needs(speed, claim) if answer is GateAnswer.UNDECIDED else "",
    )


def _needs(speed: RatioInterval, claim: Claim) -> str:
    """Say what would decide a cell, if further trials came out like those there are."""
    bounds, is_paired = claim.bounds, claim.is_paired
    what = "pairs" if is_paired else "trials a side"
    change = "loss" if claim.metric is GateMetric.TPS else "rise"
    if speed.n == 0:
        return f"no trial has a {claim.metric.value} above 0"
    if speed.low is None or speed.high is None:
        return f"{speed.n} {what}, {_fewest(claim)} are the fewest that can decide"
    if speed.high < bounds.fail_below:
        return f"a {change} by itself, not certain among all cells: more than {speed.n} {what}"
    if bounds.fail_below < speed.ratio < bounds.pass_above:
        return f"too near the limit for two runs that drift by {bounds.drift_ratio:.1%}"
    passes = speed.ratio >= bounds.pass_above
    bound, end = (bounds.pass_above, speed.low) if passes else (bounds.fail_below, speed.high)
    distance = abs(math.log(speed.ratio / bound))
    # The width of an interval shrinks as the root of the number of values.
    half = abs(math.log(end / speed.ratio))
    needed = speed.n * (half / distance) ** 2 if distance > 0 else math.inf
    if needed > _MOST_NEEDED_COUNT:
        return f"the {change} is about as large as the limit: more trials will hardly tell"
    return f"about {max(math.ceil(needed), speed.n + 1)} {what} in all, {speed.n} there are"


def _fewest(claim: Claim) -> int:
    if not claim.is_paired:
        return values_a_side(1 - CONFIDENCE_RATIO)
    return TRIALS_NEEDED if claim.rule is None else claim.rule.looks[0]
