"""Several loads as one: what is kept, and what is refused; sums are in `property`."""

from __future__ import annotations

import msgspec
import pytest

from groundspeed.measurement import merged
from groundspeed.ports import LoadResult
from groundspeed.record import SecondTally
from groundspeed.stats import histogram
from groundspeed.tools import spread
from tests.fakes import log_totals


def load_of(**changes: object) -> LoadResult:
    result = LoadResult(
        returncode=0, stdout="out\n", stderr="err\n", elapsed_s=2.0, log=log_totals(1000)
    )
    return msgspec.structs.replace(result, **changes)


def tally_of(index: int, *values_us: int, failed: int = 0) -> msgspec.Raw:
    tally = SecondTally(
        index=index,
        count=len(values_us),
        failed=failed,
        skipped=0,
        sum_us=sum(values_us),
        min_us=min(values_us, default=None),
        max_us=max(values_us, default=None),
        sub_bucket_bits=histogram.SUB_BUCKET_BITS,
        buckets=histogram.from_values(values_us).buckets,
    )
    return msgspec.Raw(msgspec.json.encode(tally))


def test_what_each_printed_is_kept_and_the_longest_time_counts() -> None:
    whole = merged.merge_loads([load_of(), load_of(stdout="other\n", elapsed_s=2.5)])
    assert spread.split_reports(whole.stdout) == ("out\n", "other\n")
    assert spread.split_reports(whole.stderr) == ("err\n", "err\n")
    assert (whole.returncode, whole.elapsed_s) == (0, 2.5)
    assert whole.log is not None
    assert whole.log.count == 2000
    assert whole.tallies == ()


def test_the_first_code_that_is_not_0_is_that_of_all() -> None:
    codes = (0, -15, 0, 1)
    assert merged.merge_loads([load_of(returncode=code) for code in codes]).returncode == -15


def test_a_log_that_is_missing_is_refused() -> None:
    assert merged.merge_loads([load_of(log=None)] * 2).log is None
    with pytest.raises(ValueError, match="of others there is none"):
        merged.merge_loads([load_of(), load_of(log=None)])


def test_seconds_of_which_only_some_know_are_there() -> None:
    rows = merged.merge_seconds(
        [[tally_of(0, 5), tally_of(1), tally_of(2, 7, failed=1)], [tally_of(-1, 9), tally_of(0, 3)]]
    )
    assert [(row.index, row.count, row.failed) for row in rows] == [
        (-1, 1, 0),
        (0, 2, 0),
        (1, 0, 0),
        (2, 1, 1),
    ]
    assert (rows[1].mean_us, rows[1].p50_us, rows[1].p99_us, rows[1].max_us) == (4.0, 3, 5, 5)
    assert (rows[2].mean_us, rows[2].p50_us, rows[2].max_us) == (None, None, None)


def test_a_percentile_is_of_all_values_and_no_average() -> None:
    """A fast generator with many transactions and a slow one with few."""
    fast, slow = [100] * 98, [100_000] * 2
    (row,) = merged.merge_seconds([[tally_of(0, *fast)], [tally_of(0, *slow)]])
    assert (row.p50_us, row.p95_us) == (100.0, 100.0)
    assert row.p99_us == pytest.approx(100_000, rel=0.004)


def test_times_are_moved_to_the_clock_of_all() -> None:
    log = msgspec.structs.replace(log_totals(10), first_us=5_000, last_us=9_000)
    moved = merged.shifted(load_of(log=log), by_us=-4_000).log
    assert moved is not None
    assert (moved.first_us, moved.last_us) == (1_000, 5_000)
    empty = msgspec.structs.replace(log, count=0, first_us=None, last_us=None)
    assert merged.shifted(load_of(log=empty), by_us=7).log == empty
    assert merged.shifted(load_of(log=None), by_us=7).log is None
