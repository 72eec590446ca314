"""Loads that several generators made at the same time, as the one load that they are.

Everything adds up exactly: counts, sums and the buckets of histograms. No percentile is ever made
from percentiles; those of a second are found again in its added buckets, by the rule of the log
reader (`native/log_reader.c`), so that a log in parts gives what it gives as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.ports import LoadResult
from groundspeed.record import LagTotals, LogTotals, SecondRow, SecondTally
from groundspeed.stats import histogram
from groundspeed.tools import spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SUMS = (
    *("count", "failed", "serialization", "deadlock", "skipped", "retried", "retries"),
    *("sum_us", "sum_squares_us2", "malformed", "out_of_range", "late"),
    *("punch_failures", "bytes"),
)


class _Indexed(msgspec.Struct, frozen=True, kw_only=True):
    index: int


_INDEX = msgspec.json.Decoder(_Indexed)
_TALLY = msgspec.json.Decoder(SecondTally)


def merge_loads(results: Sequence[LoadResult]) -> LoadResult:
    """Merge what generators that ran at the same time left behind, one result of each.

    Times in their logs are of one clock, see `shifted`. The return code is the first that is not 0.
    Raises ValueError where logs cannot be added: of some there is none, or their layouts differ.
    """
    logs = [result.log for result in results if result.log is not None]
    if logs and len(logs) < len(results):
        raise ValueError("of some generators there is a log, of others there is none")
    codes = [result.returncode for result in results if result.returncode]
    return LoadResult(
        returncode=codes[0] if codes else 0,
        stdout=spread.join_reports([result.stdout for result in results]),
        stderr=spread.join_reports([result.stderr for result in results]),
        elapsed_s=max(result.elapsed_s for result in results),
        log=merge_totals(logs) if logs else None,
        seconds=merge_seconds([result.tallies for result in results]),
    )


def shifted(result: LoadResult, *, by_us: int) -> LoadResult:
    """Give the times of a load's log by another clock, which is `by_us` ahead of its own."""
    log = result.log
    if log is None or log.first_us is None or log.last_us is None:
        return result
    moved = msgspec.structs.replace(log, first_us=log.first_us + by_us, last_us=log.last_us + by_us)
    return msgspec.structs.replace(result, log=moved)


def merge_totals(logs: Sequence[LogTotals]) -> LogTotals:
    """Add up whole logs; times are of one clock. Raises ValueError for differing layouts."""
    return LogTotals(
        **{name: sum(getattr(log, name) for log in logs) for name in _SUMS},
        min_us=_least(log.min_us for log in logs),
        max_us=_most(log.max_us for log in logs),
        first_us=_least(log.first_us for log in logs),
        last_us=_most(log.last_us for log in logs),
        histogram=histogram.merge(*(log.histogram for log in logs)),
        lag=_merge_lags([log.lag for log in logs]),
    )


def _merge_lags(lags: Sequence[LagTotals | None]) -> LagTotals | None:
    told = [lag for lag in lags if lag is not None]
    if not told:
        return None
    if len(told) < len(lags):
        raise ValueError("of some logs the schedule lag is known, of others it is not")
    return LagTotals(
        count=sum(lag.count for lag in told),
        sum_us=sum(lag.sum_us for lag in told),
        max_us=max(lag.max_us for lag in told),
        histogram=histogram.merge(*(lag.histogram for lag in told)),
    )


def merge_seconds(logs: Sequence[Sequence[msgspec.Raw]]) -> tuple[SecondRow, ...]:
    """Add up the seconds of logs that count from one moment; none in between is left out.

    Each is a `SecondTally` as JSON. Raises ValueError for differing layouts.
    """
    of_index: dict[int, list[msgspec.Raw]] = {}
    for tally in (tally for log in logs for tally in log):
        of_index.setdefault(_INDEX.decode(tally).index, []).append(tally)
    # Second after second: their buckets together would take more memory than a pod has.
    return tuple(_row([_TALLY.decode(t) for t in of_index[index]]) for index in sorted(of_index))


def _row(tallies: Sequence[SecondTally]) -> SecondRow:
    count = sum(tally.count for tally in tallies)
    merged = histogram.merge(*(tally.histogram for tally in tallies))
    least_us = _least(tally.min_us for tally in tallies)
    most_us = _most(tally.max_us for tally in tallies)

    def quantile_us(q: float) -> float | None:
        if least_us is None or most_us is None:
            return None
        # The middle of a bucket can lie outside of what was seen; the extremes are exact.
        return max(min(histogram.quantile_us(merged, q), most_us), least_us)

    return SecondRow(
        index=tallies[0].index,
        count=count,
        failed=sum(tally.failed for tally in tallies),
        skipped=sum(tally.skipped for tally in tallies),
        # In the arithmetic of the reader, with as many digits as it writes.
        mean_us=round(float(sum(t.sum_us for t in tallies)) / count, 3) if count else None,
        p50_us=quantile_us(0.50),
        p95_us=quantile_us(0.95),
        p99_us=quantile_us(0.99),
        max_us=most_us,
    )


def _least(values: Iterable[int | None]) -> int | None:
    return min((value for value in values if value is not None), default=None)


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)
