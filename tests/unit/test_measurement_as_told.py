"""A load tool without a log: what it sums up itself, and what that does not tell."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.measurement import Judgement, judge
from groundspeed.ports import LoadResult
from groundspeed.record import Caution, Failed, Measured
from groundspeed.stats import histogram
from groundspeed.tools.load_tool import LoadTotals, Pace, ToldLatency
from groundspeed.tools.redis_load import RedisLoad
from tests.examples import make_trial
from tests.unit.tools.test_redis_load import LARGE, section_of, trial, workload

if TYPE_CHECKING:
    from groundspeed.plan import Trial, WorkloadPlan

PACE = Pace(rate_per_s=0.0, cpu_count=2)


class Told(RedisLoad):
    """A load tool whose report is made up."""

    def __init__(self, totals: LoadTotals) -> None:
        self._totals = totals

    def read(self, trial: Trial, workload: WorkloadPlan, stdout: str) -> LoadTotals:
        del trial, workload, stdout
        return self._totals


def latency(
    steps: tuple[tuple[float, int], ...], quantiles: tuple[tuple[float, float], ...] = ()
) -> ToldLatency:
    count = sum(n for _, n in steps) or 1
    return ToldLatency(
        mean_s=sum(upper_s * n for upper_s, n in steps) / count,
        min_s=0.0,
        max_s=max((upper_s for upper_s, _ in steps), default=0.1),
        quantiles=quantiles,
        distribution=steps,
    )


def judged(told: ToldLatency | None, *, count: int = 100, rate: float | None = None) -> Judgement:
    totals = LoadTotals(
        transaction_count=count,
        tps_per_s=50.0,
        latency=told,
        cautions=(Caution(code="told", message="its own doubt"),),
    )
    return judge(
        Told(totals),
        make_trial(rate_per_s=rate),
        workload(),
        LoadResult(returncode=0, stdout="", stderr="", elapsed_s=2.0, log=None),
        pace=PACE,
    )


def measured(told: ToldLatency) -> Measured:
    outcome = judged(told).outcome
    assert isinstance(outcome, Measured)
    return outcome


STEPS = ((0.001, 50), (0.002, 40), (0.010, 9), (0.100, 1))


@pytest.mark.parametrize(
    ("told", "count", "reason"),
    [
        (None, 100, "no request succeeded"),
        (latency(STEPS), 0, "no request succeeded"),
        (latency(()), 100, "the load tool told no distribution of latencies"),
    ],
)
def test_what_is_not_told_is_no_measurement(
    told: ToldLatency | None, count: int, reason: str
) -> None:
    assert judged(told, count=count).outcome == Failed(reason=reason, retryable=True)


def test_steps_are_read_at_their_upper_bound() -> None:
    found = measured(latency(STEPS)).latency
    assert (found.p50_s, found.p90_s, found.p95_s) == (0.001, 0.002, 0.010)
    assert (found.p99_s, found.p999_s, found.max_s) == (0.010, 0.100, 0.100)


def test_a_percentile_that_is_told_is_taken() -> None:
    found = measured(latency(STEPS, ((0.5, 0.0008), (0.99, 0.0095)))).latency
    assert (found.p50_s, found.p99_s) == (0.0008, 0.0095)
    assert found.p90_s == 0.002


@given(
    st.lists(st.integers(1, 3_000_000), min_size=1, max_size=200),
    st.lists(st.integers(1, 3_000_000), min_size=1, max_size=20),
)
def test_percentiles_are_never_better_than_told(values: list[int], edges: list[int]) -> None:
    """Whatever the steps, no percentile is below that of the values in them."""
    values.sort()
    uppers = sorted({*edges, values[-1]})
    counts = [sum(v <= upper for v in values) for upper in uppers]
    steps = tuple(
        (upper / 1e6, behind - before)
        for upper, (before, behind) in zip(uppers, itertools.pairwise([0, *counts]), strict=True)
        if behind > before
    )
    found = measured(latency(steps)).latency
    for q, told_s in (
        *((0.5, found.p50_s), (0.9, found.p90_s), (0.95, found.p95_s), (0.99, found.p99_s)),
        (0.999, found.p999_s),
    ):
        exact_us = values[max(0, math.ceil(round(q * len(values), 9)) - 1)]
        assert told_s * 1e6 >= exact_us - 1e-6
        assert told_s <= found.max_s


def test_the_histogram_holds_every_request() -> None:
    found = measured(latency(STEPS))
    assert found.histogram.count == 100
    assert histogram.quantile_us(found.histogram, 0.5) == pytest.approx(1000, rel=0.01)
    assert found.log_sampling_ratio == 1


def test_its_own_doubts_stand_beside_those_of_the_house() -> None:
    codes = [caution.code for caution in judged(latency(STEPS)).cautions]
    assert codes == ["closed-loop", "told"]


@pytest.mark.parametrize("version", ["7.0.15", "8.0-m01", "valkey-8.0.1"])
def test_a_real_report_is_a_measurement(version: str) -> None:
    stdout = section_of(f"{version}-large", "SET")
    result = LoadResult(returncode=0, stdout=stdout, stderr="", elapsed_s=3.0, log=None)
    judgement = judge(RedisLoad(), trial(), workload(**LARGE), result, pace=PACE)
    assert isinstance(judgement.outcome, Measured)
    found = judgement.outcome.latency
    assert found.p50_s <= found.p90_s <= found.p95_s <= found.p99_s <= found.p999_s <= found.max_s
    assert judgement.outcome.histogram.count == judgement.outcome.transaction_count == 5000


def test_another_load_than_asked_is_refused_and_not_tried_again() -> None:
    stdout = section_of("7.0.15-large", "SET")
    result = LoadResult(returncode=0, stdout=stdout, stderr="", elapsed_s=3.0, log=None)
    outcome = judge(RedisLoad(), trial(), workload(), result, pace=PACE).outcome
    assert isinstance(outcome, Failed)
    assert outcome.reason.startswith("redis-benchmark did not do what was asked: SET: payload")
    assert not outcome.retryable
