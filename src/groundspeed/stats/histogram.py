"""Log-linear histograms of latencies: bounded in size, with a bound on the error of every value.

The layout is that of HdrHistogram (Tene, 2012): exact up to a power of two, then a fixed number of
equal sub-buckets in each octave, found with shifts alone. DDSketch (Masson, Rim and Lee, 2019)
gives the same guarantee with logarithms; shifts are what `native/log_reader.c` can afford at 30
million values a second. Both sides must agree on the layout: a test holds them together.

The module keeps no exact sums or extremes (the log reader does) and refuses to interpolate inside a
bucket, which would claim to know what was thrown away.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING

from groundspeed.record import Histogram

if TYPE_CHECKING:
    from collections.abc import Iterable

SUB_BUCKET_BITS = 7
LARGEST_BITS = 40
LARGEST_VALUE_US = (1 << LARGEST_BITS) - 1
BUCKET_COUNT = (LARGEST_BITS - SUB_BUCKET_BITS + 1) << SUB_BUCKET_BITS

# A quantile asked for as 0.07 is 7/100, not the nearest double above it, which would be one rank
# too far at n = 100.
_LARGEST_DENOMINATOR = 1_000_000


def bucket_index(value_us: int, sub_bucket_bits: int = SUB_BUCKET_BITS) -> int:
    """Return the bucket of a latency in whole microseconds.

    Values above 2^40 - 1 us (12.7 days) fall into the last bucket, as in the log reader.
    Raises `ValueError` for negative values.
    """
    if value_us < 0:
        raise ValueError(f"a latency cannot be negative: {value_us}")
    value = min(value_us, LARGEST_VALUE_US)
    shift = max(value.bit_length() - 1 - sub_bucket_bits, 0)
    return (shift << sub_bucket_bits) + (value >> shift)


def bucket_bounds_us(index: int, sub_bucket_bits: int = SUB_BUCKET_BITS) -> tuple[int, int]:
    """Return the lowest and the highest whole microsecond of a bucket, both inclusive.

    Raises `ValueError` for an index which no value has.
    """
    highest_index = bucket_index(LARGEST_VALUE_US, sub_bucket_bits)
    if not 0 <= index <= highest_index:
        raise ValueError(f"bucket index {index} is not in 0..{highest_index}")
    shift = max((index >> sub_bucket_bits) - 1, 0)
    lowest = (index - (shift << sub_bucket_bits)) << shift
    return lowest, lowest + (1 << shift) - 1


def relative_error_bound(sub_bucket_bits: int = SUB_BUCKET_BITS) -> float:
    """Return how far a bucket's midpoint can be from a value in it, as a ratio to that value.

    Half the width of a bucket over its lowest value is at most 2^-(bits + 1): 0.4% for 7 bits.
    """
    return float(2.0 ** -(sub_bucket_bits + 1))


def from_values(values_us: Iterable[int], sub_bucket_bits: int = SUB_BUCKET_BITS) -> Histogram:
    """Return the histogram of latencies in whole microseconds. Raises as `bucket_index` does."""
    counts = Counter(bucket_index(value, sub_bucket_bits) for value in values_us)
    return Histogram(sub_bucket_bits=sub_bucket_bits, buckets=tuple(sorted(counts.items())))


def of_counts(
    counted_us: Iterable[tuple[float, int]], sub_bucket_bits: int = SUB_BUCKET_BITS
) -> Histogram:
    """Return the histogram of (latency in us, count) pairs, as a tool sums up its own.

    Raises as `bucket_index` does.
    """
    counts: Counter[int] = Counter()
    for value_us, count in counted_us:
        counts[bucket_index(round(value_us), sub_bucket_bits)] += count
    return Histogram(sub_bucket_bits=sub_bucket_bits, buckets=tuple(sorted(counts.items())))


def quantile_us(histogram: Histogram, q: float) -> float:
    """Return the `q` quantile in microseconds: the midpoint of the bucket of the nearest rank.

    The rank is ceil(q n), at least 1 (definition 1 of Hyndman and Fan, 1996, with q = 0 as the
    minimum). The result is within `relative_error_bound` of the exact quantile of the values, up to
    2^40 us. Because it is a midpoint it may lie a little above the exact maximum.
    Raises `ValueError` when the histogram is empty, or `q` is not in 0..1.
    """
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is in 0..1, not {q}")
    count = histogram.count
    if count == 0:
        raise ValueError("an empty histogram has no quantiles")
    rank = max(-(-Fraction(q).limit_denominator(_LARGEST_DENOMINATOR) * count // 1), 1)
    below = 0
    index = 0
    for index, here in histogram.buckets:  # noqa: B007 - the last bucket, should none be enough
        below += here
        if below >= rank:
            break
    lowest, highest = bucket_bounds_us(index, histogram.sub_bucket_bits)
    return (lowest + highest) / 2


def merge(*histograms: Histogram) -> Histogram:
    """Return the histogram of all values together; of none, an empty one.

    Merging loses nothing: it is associative and commutative. Raises `ValueError` when the layouts
    differ, since rebucketing would add the errors of both.
    """
    layouts = {histogram.sub_bucket_bits for histogram in histograms}
    if len(layouts) > 1:
        raise ValueError(f"histograms of different layouts do not merge: {sorted(layouts)} bits")
    counts: Counter[int] = Counter()
    for histogram in histograms:
        for index, count in histogram.buckets:
            counts[index] += count
    return Histogram(
        sub_bucket_bits=layouts.pop() if layouts else SUB_BUCKET_BITS,
        buckets=tuple(sorted(counts.items())),
    )
