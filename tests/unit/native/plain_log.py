"""A plain reading of pgbench's logs, and of the answers of the log reader, to compare the two."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from groundspeed.stats.histogram import bucket_bounds_us, bucket_index

if TYPE_CHECKING:
    from pathlib import Path

Row = dict[str, Any]


@dataclass
class Answer:
    seconds: dict[int, Row]
    total: Row
    so_far: list[Row]


def parse_answer(text: str | bytes) -> Answer:
    rows = [json.loads(line) for line in text.splitlines()]
    seconds = [row for row in rows if row["type"] == "second"]
    indices = [row["index"] for row in seconds]
    assert indices == list(range(indices[0], indices[0] + len(indices))) if indices else True
    (total,) = [row for row in rows if row["type"] == "total"]
    assert rows[-1] is total
    return Answer(
        {row["index"]: row for row in seconds},
        total,
        [row for row in rows if row["type"] == "so_far"],
    )


def read_files(program: Path, paths: list[Path], *options: str) -> Answer:
    done = subprocess.run(
        [str(program), *options, *map(str, paths)], capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return parse_answer(done.stdout)


# The plain reading: a regular expression a line, everything kept, nothing clever.


@dataclass
class Plain:
    counts: Counter[str] = field(default_factory=Counter)
    latencies: list[int] = field(default_factory=list)
    lags: list[int] = field(default_factory=list)
    seconds: dict[int, list[int]] = field(default_factory=dict)
    lost: dict[int, Counter[str]] = field(default_factory=dict)
    times: list[int] = field(default_factory=list)


def pattern(*, lag: bool, retries: bool) -> re.Pattern[bytes]:
    number = rb"([0-9]{1,18})"
    result = rb"([0-9]{1,18}|failed|serialization|deadlock|skipped)"
    parts = [b"([0-9]+)", b"([0-9]+)", result, b"([0-9]+)", number, number]
    return re.compile(b" ".join(parts + [number] * (lag + retries)))


def read_plainly(
    logs: list[bytes],
    *,
    lag: bool = False,
    retries: bool = False,
    start_us: int | None = None,
    seconds: int = 7 * 86400,
) -> Plain:
    plain = Plain()
    expression = pattern(lag=lag, retries=retries)
    parsed: list[list[tuple[int, list[bytes]]]] = []
    for log in logs:
        *whole, torn = log.split(b"\n")
        plain.counts["malformed"] += torn != b""
        good = []
        for line in whole:
            match = expression.fullmatch(line)
            if match is None or int(match[5]) >= 10**12 or int(match[6]) >= 10**6:
                plain.counts["malformed"] += 1
            else:
                groups = list(match.groups())
                good.append((int(groups[4]) * 10**6 + int(groups[5]), groups))
        parsed.append(good)
    if start_us is None:
        start_us = min((good[0][0] for good in parsed if good), default=0)
    for time_us, groups in (line for good in parsed for line in good):
        index = (time_us - start_us) // 10**6
        if -1 <= index <= seconds + 60:
            plain.times.append(time_us)
        else:
            plain.counts["out_of_range"] += 1
        add_plainly(plain, index, groups, lag=lag, retries=retries)
    return plain


def add_plainly(plain: Plain, index: int, groups: list[bytes], *, lag: bool, retries: bool) -> None:
    latencies = plain.seconds.setdefault(index, [])
    lost = plain.lost.setdefault(index, Counter())
    result = groups[2].decode()
    if result == "skipped":
        plain.counts["skipped"] += 1
        lost["skipped"] += 1
        return
    if retries:
        plain.counts["retries"] += int(groups[-1])
        plain.counts["retried"] += int(groups[-1]) != 0
    if not result.isdigit():
        plain.counts["failed"] += 1
        lost["failed"] += 1
        if result != "failed":
            plain.counts[result] += 1
        return
    values = [int(result)] + ([int(groups[6])] if lag else [])
    plain.counts["clamped"] += sum(value >= 2**40 for value in values)
    clamped = [min(value, 2**40 - 1) for value in values]
    plain.latencies.append(clamped[0])
    plain.lags += clamped[1:]
    latencies.append(clamped[0])


def nearest_rank(values: list[int], percent: int) -> float:
    """The exact quantile, as the midpoint of its bucket, within the extremes."""
    ordered = sorted(values)
    exact = ordered[max(math.ceil(percent * len(ordered) / 100) - 1, 0)]
    lowest, highest = bucket_bounds_us(bucket_index(exact))
    return min(max((lowest + highest) / 2, ordered[0]), ordered[-1])


def buckets_of(values: list[int]) -> list[list[int]]:
    return [list(pair) for pair in sorted(Counter(map(bucket_index, values)).items())]


def assert_total_agrees(total: Row, plain: Plain, logs: list[bytes]) -> None:
    for key in (
        *("failed", "serialization", "deadlock", "skipped", "retried", "retries"),
        *("clamped", "malformed", "out_of_range"),
    ):
        assert total[key] == plain.counts[key], key
    values = plain.latencies
    assert total["count"] == len(values)
    assert total["sum_us"] == sum(values)
    assert total["sum_squares_us2"] == sum(value * value for value in values)
    assert total["min_us"] == min(values, default=None)
    assert total["max_us"] == max(values, default=None)
    assert total["first_us"] == min(plain.times, default=None)
    assert total["last_us"] == max(plain.times, default=None)
    assert total["bytes"] == sum(map(len, logs))
    assert total["files"] == len(logs)
    assert total["buckets"] == buckets_of(values)
    if total["lag"] is not None:
        assert total["lag"] == {
            "count": len(plain.lags),
            "sum_us": sum(plain.lags),
            "max_us": max(plain.lags, default=None),
            "buckets": buckets_of(plain.lags),
        }


def assert_seconds_agree(seconds: dict[int, Row], plain: Plain, highest: int) -> None:
    told = {index for index in plain.seconds if -1 <= index <= highest}
    assert set(seconds) == set(range(min(told | {0}), max(told) + 1)) if told else not seconds
    for index, row in seconds.items():
        values = plain.seconds.get(index, [])
        lost = plain.lost.get(index, Counter())
        expected: Row = {
            "type": "second",
            "index": index,
            "count": len(values),
            "failed": lost["failed"],
            "skipped": lost["skipped"],
            "mean_us": None,
            "p50_us": None,
            "p95_us": None,
            "p99_us": None,
            "max_us": None,
        }
        if values:
            expected["mean_us"] = pytest.approx(sum(values) / len(values), abs=0.001)
            expected["max_us"] = max(values)
            for percent in (50, 95, 99):
                expected[f"p{percent}_us"] = nearest_rank(values, percent)
        assert row == expected
