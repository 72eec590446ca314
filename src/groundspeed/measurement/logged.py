"""A load whose transaction log tells its latencies; report and log must agree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from groundspeed.measurement.judgement import Judgement, failed, load_cautions
from groundspeed.record import (
    Caution,
    LagSummary,
    LatencySummary,
    Measured,
)
from groundspeed.stats import histogram
from groundspeed.tools import pgbench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.plan import Trial
    from groundspeed.record import LogTotals
    from groundspeed.tools.load_tool import LoadTool, LoadTotals, Pace

# How far the number of sampled lines may be from what the sampling rate leads to expect, in
# standard deviations of a binomial count: once in 500 million trials by chance.
_SAMPLING_TOLERANCE_SIGMA = 6.0
# Half as much again as the budget that sampling keeps, before it is worth a line.
_LOG_COST_CAUTION_RATIO = 0.015


def as_logged(
    tool: LoadTool, trial: Trial, report: LoadTotals, log: LogTotals, pace: Pace
) -> Judgement:
    """Take a report whose log agrees with it."""
    sampling_ratio = tool.log_share_ratio(trial, pace)
    gap = _log_gap(tool, report, log, sampling_ratio)
    if gap:
        return failed(gap)
    return Judgement(
        outcome=_measured(report, log, sampling_ratio),
        cautions=(
            *_log_cautions(trial, report, log, sampling_ratio, pace.cpu_count),
            *load_cautions(trial, report),
            *_zero_latency(log),
        ),
    )


def judge_past(
    tool: LoadTool, trial: Trial, report: LoadTotals, log: LogTotals, *, sampling_ratio: float
) -> Judgement:
    """Sum up a load that somebody else ran, by its report and its log; nobody asked it anything.

    `sampling_ratio` in (0, 1] is the share of transactions that it logged, as its owner says.
    """
    if log.count == 0 or log.max_us is None:
        return failed("no transaction in its log succeeded")
    gap = _log_gap(tool, report, log, sampling_ratio)
    if gap:
        return failed(gap)
    # What its log cost depends on processors that are not known.
    cautions = _log_cautions(trial, report, log, sampling_ratio, trial.cell.threads)
    return Judgement(
        outcome=_measured(report, log, sampling_ratio),
        cautions=(
            *(caution for caution in cautions if caution.code != "log-cost"),
            *load_cautions(trial, report),
            *_zero_latency(log),
        ),
    )


def _log_gap(
    tool: LoadTool, report: LoadTotals, log: LogTotals, sampling_ratio: float
) -> str | None:
    """Say how the log contradicts the tool's own count, if it does."""
    logged = log.count + log.failed + log.skipped
    # In every version "actually processed" is without the skipped ones, which are logged too.
    done = report.transaction_count + report.failed_count + report.skipped_count
    if sampling_ratio >= 1:
        if logged != done:
            return f"the transaction log has {logged} lines, {tool.program} counted {done}"
        return None
    # Failures and skips are logged by the same dice.
    expected = done * sampling_ratio
    sigma = math.sqrt(done * sampling_ratio * (1 - sampling_ratio))
    if abs(logged - expected) > _SAMPLING_TOLERANCE_SIGMA * sigma + 1:
        return f"the sampled log has {logged} lines, about {expected:.0f} were to be expected"
    return None


def _zero_latency(log: LogTotals) -> Iterator[Caution]:
    if log.min_us == 0 and log.failed:
        # Seen with pgbench 15 and 16: right after a failure a client logs a success of 0 us.
        yield Caution(
            code="zero-latency",
            message="pgbench logged transactions of 0 us beside failed ones: low percentiles are"
            " too good",
        )


def _log_cautions(
    trial: Trial, report: LoadTotals, log: LogTotals, sampling_ratio: float, cpu_count: int
) -> Iterator[Caution]:
    if sampling_ratio < 1:
        yield Caution(
            code="sampled-log",
            message="percentiles rest on a sample of the transactions: logging all would have cost"
            " more than 1% of the throughput",
        )
    cost_ratio = pgbench.log_cost_ratio(
        report.tps_per_s * sampling_ratio, threads=trial.cell.threads, cpu_count=cpu_count
    )
    if cost_ratio > _LOG_COST_CAUTION_RATIO:
        yield Caution(
            code="log-cost",
            message="the transaction log may have cost more than"
            f" {_LOG_COST_CAUTION_RATIO:.1%} of the throughput: the warm-up was slower than the"
            " trial and asked for too large a sample",
        )
    if log.malformed:
        yield Caution(
            code="malformed-log", message=f"{log.malformed} lines of the log could not be read"
        )
    if log.out_of_range:
        yield Caution(
            code="clock-jump",
            message=f"{log.out_of_range} transactions carry times outside the trial: the wall clock"
            " jumped; per-second series are incomplete, totals are not",
        )
    if log.late:
        yield Caution(
            code="late-log",
            message=f"{log.late} transactions came into the log after their second was told:"
            " per-second series are incomplete, totals are not",
        )
    if log.punch_failures:
        yield Caution(
            code="log-memory",
            message="log memory could not be freed while the trial ran (no hole punching)",
        )


def _measured(report: LoadTotals, log: LogTotals, sampling_ratio: float) -> Measured:
    return Measured(
        tps_per_s=report.tps_per_s,
        transaction_count=report.transaction_count,
        failed_count=report.failed_count,
        # A sampled log has a share of them only.
        serialization_failure_count=_first(report.serialization_count, log.serialization),
        deadlock_failure_count=_first(report.deadlock_count, log.deadlock),
        retried_count=report.retried_count,
        retries_count=report.retries_count,
        skipped_count=report.skipped_count,
        over_limit_count=report.over_limit_count,
        initial_connection_s=report.initial_connection_s,
        latency=_latency(log),
        schedule_lag=_lag(log),
        log_sampling_ratio=sampling_ratio,
        histogram=log.histogram,
    )


def _first(told: int | None, logged: int) -> int:
    return logged if told is None else told


def _latency(log: LogTotals) -> LatencySummary:
    max_us = float(log.max_us or 0)
    mean_us = log.sum_us / log.count
    # Sample variance from exact sums; rounding can bring it just below zero when all are equal.
    variance_us2 = max(0.0, log.sum_squares_us2 - log.count * mean_us**2) / max(1, log.count - 1)

    def quantile_s(q: float) -> float:
        # The middle of a bucket can lie above the largest value seen; the maximum is exact.
        return min(histogram.quantile_us(log.histogram, q), max_us) / 1e6

    return LatencySummary(
        mean_s=mean_us / 1e6,
        stddev_s=math.sqrt(variance_us2) / 1e6,
        p50_s=quantile_s(0.50),
        p90_s=quantile_s(0.90),
        p95_s=quantile_s(0.95),
        p99_s=quantile_s(0.99),
        p999_s=quantile_s(0.999),
        max_s=max_us / 1e6,
    )


def _lag(log: LogTotals) -> LagSummary | None:
    if log.lag is None or log.lag.count == 0:
        return None
    return LagSummary(
        mean_s=log.lag.sum_us / log.lag.count / 1e6,
        p99_s=histogram.quantile_us(log.lag.histogram, 0.99) / 1e6,
        max_s=log.lag.max_us / 1e6,
    )
