"""A load without a log: its latencies are what its tool says, or nobody."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.measurement.judgement import Judgement, failed, load_cautions
from groundspeed.plan import REQUESTS
from groundspeed.record import (
    Histogram,
    LatencySummary,
    Measured,
)
from groundspeed.stats import histogram

if TYPE_CHECKING:
    from groundspeed.plan import Trial
    from groundspeed.tools.load_tool import LoadTotals, ToldLatency


def as_told(trial: Trial, report: LoadTotals) -> Judgement:
    """Take a report that has latencies of its own, as there is no log to check it by."""
    if report.latency is None or report.transaction_count == 0:
        return failed("no request succeeded")
    if not report.latency.distribution:
        return failed("the load tool told no distribution of latencies")
    return Judgement(
        outcome=_measured_as_told(report, report.latency),
        cautions=(*load_cautions(trial, report, words=REQUESTS), *report.cautions),
    )


def judge_without_log(
    trial: Trial, report: LoadTotals, *, mean_s: float, stddev_s: float
) -> Judgement:
    """Sum up a load that somebody else ran by its report alone: it has no percentiles."""
    return Judgement(
        outcome=Measured(
            tps_per_s=report.tps_per_s,
            transaction_count=report.transaction_count,
            failed_count=report.failed_count,
            serialization_failure_count=None,
            deadlock_failure_count=None,
            retried_count=report.retried_count,
            retries_count=report.retries_count,
            skipped_count=report.skipped_count,
            over_limit_count=report.over_limit_count,
            initial_connection_s=report.initial_connection_s,
            latency=told_mean(mean_s, stddev_s),
            log_sampling_ratio=0.0,
            histogram=Histogram(),
        ),
        cautions=(*load_cautions(trial, report), *report.cautions),
    )


def told_mean(mean_s: float, stddev_s: float = math.nan) -> LatencySummary:
    """Give a latency of which the mean alone is told; nothing else follows from it."""
    nan = math.nan
    return LatencySummary(
        mean_s=mean_s,
        stddev_s=stddev_s,
        p50_s=nan,
        p90_s=nan,
        p95_s=nan,
        p99_s=nan,
        p999_s=nan,
        max_s=nan,
    )


def _measured_as_told(report: LoadTotals, told: ToldLatency) -> Measured:
    return Measured(
        tps_per_s=report.tps_per_s,
        transaction_count=report.transaction_count,
        failed_count=report.failed_count,
        serialization_failure_count=0,
        deadlock_failure_count=0,
        retried_count=report.retried_count,
        retries_count=report.retries_count,
        skipped_count=report.skipped_count,
        over_limit_count=report.over_limit_count,
        initial_connection_s=report.initial_connection_s,
        latency=_told_latency(told),
        log_sampling_ratio=1.0,
        histogram=histogram.of_counts((upper_s * 1e6, n) for upper_s, n in told.distribution),
    )


def _told_latency(told: ToldLatency) -> LatencySummary:
    """Sum up a distribution that is told in steps; each value is taken for its upper bound.

    So percentiles are never too good, by at most a step.
    """
    count = sum(n for _, n in told.distribution)
    spread = sum(n * (upper_s - told.mean_s) ** 2 for upper_s, n in told.distribution)

    def quantile_s(q: float) -> float:
        exact = dict(told.quantiles).get(q)
        if exact is not None:
            return exact
        behind = 0
        for upper_s, n in told.distribution:
            behind += n
            if behind >= q * count:
                return min(upper_s, told.max_s)
        return told.max_s

    return LatencySummary(
        mean_s=told.mean_s,
        stddev_s=math.sqrt(spread / max(1, count - 1)),
        p50_s=quantile_s(0.50),
        p90_s=quantile_s(0.90),
        p95_s=quantile_s(0.95),
        p99_s=quantile_s(0.99),
        p999_s=quantile_s(0.999),
        max_s=told.max_s,
    )
