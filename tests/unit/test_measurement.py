"""From what a load left behind to a measurement, or to a failure that says why."""

from __future__ import annotations

import math
import statistics
from random import Random
from typing import TYPE_CHECKING

import msgspec
import pytest

from groundspeed import record
from groundspeed.measurement import Judgement, judge
from groundspeed.ports import LoadResult
from groundspeed.record import Failed, LagTotals, LogTotals, Measured
from groundspeed.stats import histogram
from groundspeed.tools import pgbench
from groundspeed.tools.load_tool import Pace
from groundspeed.tools.pgbench_load import PgbenchLoad
from tests.golden import pgbench_output
from tests.unit.tools.test_pgbench import CASES, FINISHED, case_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import Trial


class Sampled(PgbenchLoad):
    """pgbench that was told which share of its transactions to log."""

    def __init__(self, ratio: float) -> None:
        self._ratio = ratio

    def log_share_ratio(self, trial: Trial, pace: Pace) -> float:
        del trial, pace
        return self._ratio


def histogram_of(values_us: Sequence[int]) -> record.Histogram:
    made = histogram.from_values(values_us)
    return record.Histogram(sub_bucket_bits=made.sub_bucket_bits, buckets=made.buckets)


def totals_of(values_us: Sequence[int], **changes: object) -> LogTotals:
    """The log of these latencies, one transaction each millisecond."""
    totals = LogTotals(
        count=len(values_us),
        failed=0,
        serialization=0,
        deadlock=0,
        skipped=0,
        retried=0,
        retries=0,
        sum_us=sum(values_us),
        sum_squares_us2=sum(value**2 for value in values_us),
        min_us=min(values_us, default=None),
        max_us=max(values_us, default=None),
        first_us=1_700_000_000_000_000,
        last_us=1_700_000_000_000_000 + 1000 * len(values_us),
        malformed=0,
        out_of_range=0,
        late=0,
        punch_failures=0,
        bytes=30 * len(values_us),
        histogram=histogram_of(values_us),
    )
    return msgspec.structs.replace(totals, **changes)


def result_of(name: str, log: LogTotals | None, **changes: object) -> LoadResult:
    output = pgbench_output.read(name)
    result = LoadResult(
        returncode=output.returncode,
        stdout=output.stdout,
        stderr=output.stderr,
        elapsed_s=2.1,
        log=log,
    )
    return msgspec.structs.replace(result, **changes)


def log_of(name: str) -> LogTotals:
    """A log with as many lines of each kind as the captured one had."""
    counts = pgbench_output.read(name).counts
    return totals_of(
        [100] * counts["ok"],
        skipped=counts.get("skipped", 0),
        failed=counts.get("serialization", 0),
        serialization=counts.get("serialization", 0),
    )


def judged(name: str, result: LoadResult, *, sampling_ratio: float = 1.0) -> Judgement:
    trial, workload, _ = case_of(name)
    pace = Pace(rate_per_s=0.0, cpu_count=2)
    return judge(Sampled(sampling_ratio), trial, workload, result, pace=pace)


def measured_of(values_us: Sequence[int]) -> Measured:
    """A measurement of these latencies, whatever pgbench itself counted."""
    stdout = pgbench_output.read("16-plain").stdout
    count = pgbench.parse(stdout).transaction_count
    stdout = stdout.replace(f"processed: {count}", f"processed: {len(values_us)}")
    result = result_of("16-plain", totals_of(values_us), stdout=stdout)
    outcome = judged("16-plain", result).outcome
    assert isinstance(outcome, Measured), outcome
    return outcome


def failure(judgement: Judgement) -> Failed:
    assert isinstance(judgement.outcome, Failed), judgement
    return judgement.outcome


def codes(judgement: Judgement) -> set[str]:
    return {caution.code for caution in judgement.cautions}


# -- failures


@pytest.mark.parametrize("name", [n for n in pgbench_output.NAMES if "aborted" in n])
def test_a_return_code_is_a_failure_with_pgbench_s_words(name: str) -> None:
    failed = failure(judged(name, result_of(name, totals_of([]))))
    assert failed.reason.startswith("pgbench failed: ")
    assert "ERROR:" in failed.reason
    assert failed.retryable


def test_a_return_code_without_words_is_told_as_it_is() -> None:
    result = result_of("16-plain", log_of("16-plain"), returncode=3, stderr="")
    assert failure(judged("16-plain", result)).reason == "pgbench failed: return code 3"


@pytest.mark.parametrize("number", [9, 11, 15])
def test_a_signal_is_named(number: int) -> None:
    result = result_of("16-plain", log_of("16-plain"), returncode=-number)
    failed = failure(judged("16-plain", result))
    assert failed.reason == f"pgbench failed: killed by signal {number}"
    assert failed.retryable


def test_a_report_that_was_cut_is_a_failure() -> None:
    stdout = pgbench_output.read("16-plain").stdout[:200]
    failed = failure(judged("16-plain", result_of("16-plain", log_of("16-plain"), stdout=stdout)))
    assert "lacks the line" in failed.reason
    assert failed.retryable


def test_a_mismatch_is_a_failure_that_a_retry_cannot_mend() -> None:
    stdout = pgbench_output.read("16-plain").stdout.replace("clients: 2", "clients: 1")
    failed = failure(judged("16-plain", result_of("16-plain", log_of("16-plain"), stdout=stdout)))
    assert "clients: asked 2, pgbench did 1" in failed.reason
    assert not failed.retryable


@pytest.mark.parametrize("log", [None, totals_of([])])
def test_no_transaction_is_no_measurement(log: LogTotals | None) -> None:
    assert failure(judged("16-plain", result_of("16-plain", log))).reason == (
        "no transaction succeeded"
    )


@pytest.mark.parametrize("gap", [-1, 1, 500])
def test_a_log_that_has_other_lines_than_pgbench_counted_is_a_failure(gap: int) -> None:
    count = pgbench_output.read("16-plain").counts["ok"]
    result = result_of("16-plain", totals_of([100] * (count + gap)))
    assert failure(judged("16-plain", result)).reason == (
        f"the transaction log has {count + gap} lines, pgbench counted {count}"
    )


@pytest.mark.parametrize("name", [n for n in FINISHED if "sampled" not in n])
def test_the_log_and_the_count_of_every_version_agree(name: str) -> None:
    judgement = judged(name, result_of(name, log_of(name)))
    assert isinstance(judgement.outcome, Measured), judgement.outcome
    counts = pgbench_output.read(name).counts
    assert judgement.outcome.transaction_count == counts["ok"]
    assert judgement.outcome.skipped_count == counts.get("skipped", 0)
    assert judgement.outcome.failed_count == counts.get("serialization", 0)
    assert judgement.outcome.serialization_failure_count == counts.get("serialization", 0)


@pytest.mark.parametrize("name", [n for n in FINISHED if "sampled" in n])
def test_a_real_sample_is_within_tolerance(name: str) -> None:
    judgement = judged(name, result_of(name, log_of(name)), sampling_ratio=0.05)
    assert isinstance(judgement.outcome, Measured)
    assert judgement.outcome.log_sampling_ratio == 0.05
    assert "sampled-log" in codes(judgement)


@pytest.mark.parametrize("sigma", [-7, -5.5, 5.5, 7])
def test_a_sample_far_from_its_rate_is_a_failure(sigma: float) -> None:
    accepted = abs(sigma) < 6
    done = pgbench.parse(pgbench_output.read("18-sampled").stdout).transaction_count
    lines = round(done * 0.05 + sigma * math.sqrt(done * 0.05 * 0.95))
    result = result_of("18-sampled", totals_of([100] * lines))
    judgement = judged("18-sampled", result, sampling_ratio=0.05)
    assert isinstance(judgement.outcome, Measured) is accepted
    if not accepted:
        assert "the sampled log has" in failure(judgement).reason


# -- cautions


def test_a_closed_loop_says_so_and_an_open_one_does_not() -> None:
    closed = judged("16-plain", result_of("16-plain", log_of("16-plain")))
    opened = judged("16-rate", result_of("16-rate", log_of("16-rate")))
    assert "closed-loop" in codes(closed)
    assert "closed-loop" not in codes(opened)


def test_failed_transactions_are_told_with_their_share() -> None:
    judgement = judged("16-retries", result_of("16-retries", log_of("16-retries")))
    told = {caution.code: caution.message for caution in judgement.cautions}
    assert told["failed-transactions"] == f"5327 of {18249 + 5327} transactions failed"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"malformed": 3}, "malformed-log"),
        ({"out_of_range": 3}, "clock-jump"),
        ({"late": 3}, "late-log"),
        ({"punch_failures": 1}, "log-memory"),
    ],
)
def test_a_doubt_about_the_log_is_told(change: dict[str, int], code: str) -> None:
    log = msgspec.structs.replace(log_of("16-plain"), **change)
    assert code in codes(judged("16-plain", result_of("16-plain", log)))
    assert code not in codes(judged("16-plain", result_of("16-plain", log_of("16-plain"))))


def test_a_log_that_cost_too_much_is_told() -> None:
    judgement = judged("16-script", result_of("16-script", log_of("16-script")))
    assert "log-cost" in codes(judgement)
    assert "log-cost" not in codes(judged("16-rate", result_of("16-rate", log_of("16-rate"))))


# -- figures


def test_throughput_is_pgbench_s_own() -> None:
    outcome = judged("15-rate", result_of("15-rate", log_of("15-rate"))).outcome
    assert isinstance(outcome, Measured)
    assert outcome.tps_per_s == 8667.516934
    assert outcome.over_limit_count == 94
    assert outcome.initial_connection_s == pytest.approx(0.002327)


@pytest.mark.parametrize("seed", range(4))
def test_latencies_against_exact_values(seed: int) -> None:
    rng = Random(seed)
    values = [round(rng.lognormvariate(7, 1)) for _ in range(20_000)]
    ordered = sorted(values)
    latency = measured_of(values).latency
    for q, found_s in (
        (0.50, latency.p50_s),
        (0.90, latency.p90_s),
        (0.95, latency.p95_s),
        (0.99, latency.p99_s),
        (0.999, latency.p999_s),
    ):
        exact_us = ordered[math.ceil(q * len(values)) - 1]
        assert found_s * 1e6 == pytest.approx(exact_us, rel=0.01)
    assert latency.mean_s * 1e6 == pytest.approx(statistics.fmean(values), rel=1e-9)
    assert latency.stddev_s * 1e6 == pytest.approx(statistics.stdev(values), rel=1e-6)
    assert latency.max_s * 1e6 == pytest.approx(max(values), rel=1e-12)


def test_no_percentile_lies_above_the_maximum() -> None:
    latency = measured_of([1_000_001] * 50).latency
    assert latency.p50_s <= latency.p999_s <= latency.max_s == pytest.approx(1.000001)
    assert latency.stddev_s == pytest.approx(0, abs=1e-6)


def test_a_single_transaction_has_no_spread() -> None:
    latency = measured_of([250]).latency
    assert latency.stddev_s == 0
    assert latency.mean_s == latency.max_s == pytest.approx(0.00025)


def test_a_long_trial_keeps_the_precision_of_its_spread() -> None:
    """Sums of squares cancel: a mean far above the spread must not eat it."""
    values = [1_000_000 + (i % 3) for i in range(30_000)]
    latency = measured_of(values).latency
    assert latency.stddev_s * 1e6 == pytest.approx(statistics.stdev(values), rel=0.01)


def test_schedule_lag_is_summed_up_beside_latency() -> None:
    lags = list(range(1, 1001))
    log = msgspec.structs.replace(
        log_of("16-rate"),
        lag=LagTotals(
            count=len(lags), sum_us=sum(lags), max_us=max(lags), histogram=histogram_of(lags)
        ),
    )
    outcome = judged("16-rate", result_of("16-rate", log)).outcome
    assert isinstance(outcome, Measured)
    assert outcome.schedule_lag is not None
    assert outcome.schedule_lag.mean_s * 1e6 == pytest.approx(500.5)
    assert outcome.schedule_lag.p99_s * 1e6 == pytest.approx(990, rel=0.01)
    assert outcome.schedule_lag.max_s * 1e6 == pytest.approx(1000)


def test_without_a_rate_there_is_no_lag() -> None:
    outcome = judged("16-plain", result_of("16-plain", log_of("16-plain"))).outcome
    assert isinstance(outcome, Measured)
    assert outcome.schedule_lag is None


def test_every_case_is_captured() -> None:
    assert {name.partition("-")[2] for name in pgbench_output.NAMES} == set(CASES)
