"""What a gate asks of one cell: whether one figure became worse than is allowed.

Throughput is bad where it falls, latency where it rises. Both are asked as one question: a latency
enters as its inverse, a speed, so that below the bound is always worse.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from groundspeed.analyse.confidence import CONFIDENCE_RATIO
from groundspeed.analyse.sides import Samples
from groundspeed.stats.paired_ratio import RatioInterval, paired_ratio
from groundspeed.stats.sequential import always_valid_interval, always_valid_tails
from groundspeed.stats.signed_rank import log_ratios, signed_rank_tails
from groundspeed.stats.unpaired_ratio import unpaired_ratio, unpaired_tails

if TYPE_CHECKING:
    from groundspeed.analyse.sides import SharedCell, Side
    from groundspeed.stats.sequential import Rule


class GateMetric(Enum):
    """What a gate holds against a limit."""

    TPS = "throughput"
    P99 = "p99 latency"


class Bounds(NamedTuple):
    """The ratio of the limit, below 1, and what two runs may differ by for nothing; 0 in one."""

    limit: float
    drift_ratio: float

    @property
    def fail_below(self) -> float:
        """A ratio that is certainly below fails."""
        return self.limit / (1 + self.drift_ratio)

    @property
    def pass_above(self) -> float:
        """An interval above passes."""
        return self.limit * (1 + self.drift_ratio)


class Claim(NamedTuple):
    """One figure of one cell on both sides, and its limit."""

    baseline: Side
    candidate: Side
    cell: SharedCell
    metric: GateMetric
    bounds: Bounds

    @property
    def rule(self) -> Rule | None:
        """By which the run stopped, if it did: then its looks are those of the gate."""
        return self.baseline.run.rule

    @property
    def is_paired(self) -> bool:
        """Whether both sides are of one run."""
        return self.values.pairs is not None

    @property
    def values(self) -> Samples:
        """As measured."""
        return values_of(self.cell, self.metric)

    @property
    def speeds(self) -> Samples:
        """The higher, the better."""
        return self.values if self.metric is GateMetric.TPS else _inverse(self.values)


def values_of(cell: SharedCell, metric: GateMetric) -> Samples:
    """Take the figure of a cell that a metric is of."""
    return cell.tps_per_s if metric is GateMetric.TPS else cell.p99_s


def _inverse(values: Samples) -> Samples:
    return Samples(
        baseline=tuple(1 / v for v in values.baseline),
        candidate=tuple(1 / v for v in values.candidate),
        pairs=None if values.pairs is None else tuple((1 / a, 1 / b) for a, b in values.pairs),
    )


def p_value_of(claim: Claim) -> float:
    """Test for a change beyond the limit, for the worse; 1 where nothing can be tested."""
    speeds, bound = claim.speeds, claim.bounds.fail_below
    if speeds.pairs is not None:
        logs = log_ratios(speeds.pairs)
        if claim.rule is not None:
            return always_valid_tails(logs, claim.rule, math.log(bound)).below
        return signed_rank_tails(logs, math.log(bound)).below
    if not speeds.baseline or not speeds.candidate:
        return 1.0
    return unpaired_tails(speeds.candidate, speeds.baseline, bound).below


def difference_of(claim: Claim) -> float:
    """Test for any difference as benchstat does: Mann and Whitney, two-sided, unpaired."""
    over, under = claim.values.candidate, claim.values.baseline
    if not over or not under:
        return 1.0
    return unpaired_tails(over, under).two_sided


def speed_ratio(claim: Claim) -> RatioInterval:
    """Estimate the candidate's speed over the baseline's, with its interval."""
    speeds, rule = claim.speeds, claim.rule
    if speeds.pairs:
        found = paired_ratio(speeds.pairs, CONFIDENCE_RATIO)
        if rule is None:
            return found
        low, high = always_valid_interval(speeds.pairs, rule, 1 - CONFIDENCE_RATIO)
        return msgspec.structs.replace(found, low=low, high=high)
    if speeds.pairs is None and speeds.baseline and speeds.candidate:
        return unpaired_ratio(speeds.candidate, speeds.baseline, CONFIDENCE_RATIO)
    return RatioInterval(n=0, ratio=math.nan, low=None, high=None, confidence_ratio=None)


def value_ratio(claim: Claim, speed: RatioInterval) -> RatioInterval:
    """Turn a ratio of speeds into one of what was measured: a latency's is the other way round."""
    if claim.metric is GateMetric.TPS or not speed.n:
        return speed
    return msgspec.structs.replace(
        speed,
        ratio=1 / speed.ratio,
        low=None if speed.high is None else 1 / speed.high,
        high=None if speed.low is None else 1 / speed.low,
    )
