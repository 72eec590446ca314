"""What redis-benchmark printed, read: a result for each test, with its distribution where it tells.

Knows the text, the CSV and the `-q` of redis-benchmark 5 to 8 and valkey-benchmark 8. Versions
before 6.2 tell whole milliseconds only, counted in a way that fits no percentile: of them the rate
counts.
"""

from __future__ import annotations

import csv
import math
import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.tools.redis_benchmark import (
    LONGEST_LATENCY_S,
    Options,
    error_line,
    parse_progress,
    test_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What one test came to. None where this version or form does not tell.

    `distribution` are (latency_s, count) pairs in order: so many requests took that long or less.
    The steps are those that were printed: finer near the end, 0.1 ms up to 2 ms, 1 ms above.
    """

    test: str
    rate_per_s: float
    mean_s: float | None = None
    min_s: float | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    p99_s: float | None = None
    max_s: float | None = None
    request_count: int | None = None
    duration_s: float | None = None
    client_count: int | None = None
    payload_bytes: int | None = None
    keep_alive: bool | None = None
    thread_count: int | None = None
    distribution: tuple[tuple[float, int], ...] = ()

    @property
    def is_clipped(self) -> bool:
        """Whether latencies reached the longest one that is told; the mean is then too low."""
        return self.max_s is not None and self.max_s >= LONGEST_LATENCY_S


def parse(stdout: str) -> tuple[Result, ...]:
    """Read all tests, in the order they ran. Raises ValueError that says what is wrong.

    A test that began and has no complete report, or any error of the server, is wrong.
    """
    if refusal := error_line("", stdout):
        raise ValueError(f"the server refused: {refusal}")
    parts = [part.rstrip() for part in re.split(r"[\r\n]+", stdout)]
    titles = [n for n, part in enumerate(parts) if _TITLE.fullmatch(part)]
    if titles:
        results = _sections(parts, titles)
    elif any(part.startswith('"') for part in parts):
        results = _table(part for part in parts if part.startswith('"'))
    else:
        results = _quiet(parts)
    begun = [line.test for part in parts if (line := parse_progress(part)) is not None]
    unfinished = [test for test in begun if test not in {result.test for result in results}]
    if unfinished:
        raise ValueError(f"redis-benchmark began {unfinished[0]} and did not report it")
    if not results:
        raise ValueError("redis-benchmark reported no test")
    return results


_TITLE = re.compile(r"====== (.+) ======")
_QUIET = re.compile(r"(.+): ([\d.]+) requests per second(?:, p50=([\d.]+) msec)?")
_PERCENTILE = re.compile(r"[\d.]+% <= ([\d.]+) milliseconds \(cumulative count (\d+)\)")
_FACTS = {
    "request_count": re.compile(r"(\d+) requests completed in [\d.]+ seconds"),
    "duration_s": re.compile(r"\d+ requests completed in ([\d.]+) seconds"),
    "client_count": re.compile(r"(\d+) parallel clients"),
    "payload_bytes": re.compile(r"(\d+) bytes payload"),
    "keep_alive": re.compile(r"keep alive: ([01])"),
    "thread_count": re.compile(r"threads: (\d+)"),
}
_SUMMARY = ("mean_s", "min_s", "p50_s", "p95_s", "p99_s", "max_s")
# In the header of the CSV, in the order of _SUMMARY.
_COLUMNS = tuple(f"{name}_latency_ms" for name in ("avg", "min", "p50", "p95", "p99", "max"))


def _sections(parts: Sequence[str], titles: Sequence[int]) -> tuple[Result, ...]:
    ends = [*titles[1:], len(parts)]
    return tuple(
        _section(parts[start], [part.strip() for part in parts[start + 1 : end]])
        for start, end in zip(titles, ends, strict=True)
    )


def _section(title: str, lines: Sequence[str]) -> Result:
    test = test_of(title.strip("= "))
    facts: dict[str, float] = {}
    for name, pattern in _FACTS.items():
        told = next((match[1] for line in lines if (match := pattern.fullmatch(line))), None)
        if told is not None:
            facts[name] = float(told) if name == "duration_s" else int(told)
    rate, figures = _summary(test, lines)
    steps = {float(m[1]) / 1000: int(m[2]) for line in lines if (m := _PERCENTILE.fullmatch(line))}
    return _converted(
        {
            "test": test,
            "rate_per_s": rate,
            **facts,
            **figures,
            "distribution": _rising(sorted(steps.items())),
        }
    )


def _summary(test: str, lines: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Rate and latencies. Raises ValueError where they are cut off."""
    for line in lines:
        old = re.fullmatch(r"([\d.]+) requests per second", line)
        if old is not None:
            return _finite(test, old[1]), {}
    rates = [line for line in lines if line.startswith("throughput summary:")]
    heads = [n for n, line in enumerate(lines) if line.split() == _head()]
    if not rates or not heads or heads[0] + 1 >= len(lines):
        raise ValueError(f"redis-benchmark's report of {test} is cut off")
    told = lines[heads[0] + 1].split()
    if len(told) != len(_SUMMARY):
        raise ValueError(f"redis-benchmark's report of {test} is cut off")
    figures = {name: _finite(test, text) / 1000 for name, text in zip(_SUMMARY, told, strict=True)}
    return _finite(test, rates[0].split()[2]), figures


def _head() -> list[str]:
    return ["avg", "min", "p50", "p95", "p99", "max"]


def _rising(steps: Iterable[tuple[float, int]]) -> tuple[tuple[float, int], ...]:
    """Leave out steps at which no request is added."""
    kept: list[tuple[float, int]] = []
    for latency_s, count in steps:
        if not kept or count > kept[-1][1]:
            kept.append((latency_s, count))
    return tuple(kept)


def _table(lines: Iterable[str]) -> tuple[Result, ...]:
    rows = list(csv.reader(lines))
    header = rows.pop(0) if rows[0][0] == "test" else ["test", "rps"]
    results = []
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"redis-benchmark's row of {row[0]} is cut off")
        told = dict(zip(header, row, strict=True))
        test = test_of(told["test"])
        figures = {
            name: _finite(test, told[column]) / 1000
            for name, column in zip(_SUMMARY, _COLUMNS, strict=True)
            if column in told
        }
        results.append(
            _converted({"test": test, "rate_per_s": _finite(test, told["rps"]), **figures})
        )
    return tuple(results)


def _quiet(parts: Iterable[str]) -> tuple[Result, ...]:
    matches = [match for part in parts if (match := _QUIET.fullmatch(part.strip()))]
    return tuple(
        Result(
            test=test_of(match[1]),
            rate_per_s=_finite(match[1], match[2]),
            p50_s=None if match[3] is None else float(match[3]) / 1000,
        )
        for match in matches
    )


def _finite(test: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"redis-benchmark's report of {test} has {text!r} for a number") from None
    if not math.isfinite(value):
        raise ValueError(f"redis-benchmark's report of {test} has {text!r} for a number")
    return value


def _converted(told: dict[str, object]) -> Result:
    # keep_alive comes as 0 or 1.
    return msgspec.convert(told, Result, strict=False)


# What `-t ping` runs.
_MEANT = {"ping": ("ping_inline", "ping_mbulk"), "lrange": ("lpush", "lrange_100")}
_OLD_NAMES = {"PING_BULK": "ping_mbulk"}


def mismatches(options: Options, results: Sequence[Result]) -> tuple[str, ...]:
    """Compare what was asked with what redis-benchmark did; a phrase for each difference."""
    done = {_OLD_NAMES.get(result.test, result.test.lower()) for result in results}
    meant = [test for name in options.tests for test in _MEANT.get(name, (name,))]
    phrases = [
        f"asked {test}, redis-benchmark did not run it" for test in meant if test not in done
    ]
    for result in results:
        for what, asked, did in (
            ("requests", options.request_count, result.request_count),
            ("clients", options.client_count, result.client_count),
            ("payload bytes", options.payload_bytes, result.payload_bytes),
            ("keep alive", options.keep_alive, result.keep_alive),
            ("threads", options.thread_count, result.thread_count or 0),
        ):
            if did is not None and asked != did and not (options.is_csv and what == "threads"):
                phrases.append(f"{result.test}: {what}: asked {asked}, redis-benchmark did {did}")
    return tuple(phrases)
