"""How fast a pgbench log is read: our log reader against polars and DuckDB, on one core.

Each tool reads the same file in /dev/shm and answers the same question: p50, p99 and p99.9 of the
latency, and the number of transactions in each second. Rounds are interleaved, so that a busy
neighbour is busy for all, and every process is confined to one core. Parsing, starting up and
importing are all included, as they are when a report waits for them.

    python -m bench.log_reading [--lines N] [--rounds R]

It refuses to say which tool is better: the two others can answer far more questions than this one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundspeed.native import executable_path
from groundspeed.record import Histogram
from groundspeed.stats.histogram import quantile_us, relative_error_bound

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PERCENTS = (50.0, 99.0, 99.9)
START_S = 1_731_234_567
CLIENTS = 64
TRANSACTIONS_PER_S = 20_000
BLOCK_LINES = 100_000
ASKED_PER_S = 20_000_000
ASKED_BYTES = 64 << 20
MEGA = 1e6

# Of several ways to ask, the fastest on one core: for polars the streaming engine, one scan for
# both answers; for DuckDB a table of the two columns that count, which saves the second scan.
POLARS = """
import json, sys
import polars
scan = polars.scan_csv(sys.argv[1], separator=" ", has_header=False,
                       new_columns=["client", "number", "latency", "script", "second", "us"])
values = polars.col("latency")
quantiles = scan.select([values.quantile(p / 100, "lower").alias(str(p)) for p in (50., 99., 99.9)])
seconds = scan.group_by("second").len().sort("second")
told, counts = polars.collect_all([quantiles, seconds], engine="streaming")
print(json.dumps({"quantiles": list(told.row(0)), "counts": counts["len"].to_list()}))
"""

DUCKDB = """
import json, sys
import duckdb
duckdb.sql("set threads = 1; set enable_progress_bar = false")
duckdb.sql("create temp table log as select latency, second from read_csv("
           + repr(sys.argv[1]) + ", delim = ' ', header = false, columns = {"
           "'client': 'integer', 'number': 'bigint', 'latency': 'bigint', 'script': 'integer',"
           "'second': 'bigint', 'us': 'bigint'})")
((told,),) = duckdb.sql("select quantile_disc(latency, [0.5, 0.99, 0.999]) from log").fetchall()
counts = duckdb.sql("select count(*) from log group by second order by second").fetchall()
print(json.dumps({"quantiles": told, "counts": [count for (count,) in counts]}))
"""


@dataclass(frozen=True)
class Tool:
    """One way to read a log: `command` without the file, and how to read its answer."""

    name: str
    command: tuple[str, ...]
    answer: Callable[[bytes], dict[str, Any]]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Round:
    """One reading: wall clock seconds, the largest resident set, and what was answered."""

    elapsed_s: float
    resident_bytes: int
    answer: dict[str, Any]


def reader_answer(output: bytes) -> dict[str, Any]:
    """Return the quantiles (us) and the counts of the seconds from the log reader's NDJSON."""
    rows = [json.loads(line) for line in output.splitlines()]
    total = rows.pop()
    histogram = Histogram(
        sub_bucket_bits=total["sub_bucket_bits"],
        buckets=tuple((index, count) for index, count in total["buckets"]),
    )
    return {
        "quantiles": [quantile_us(histogram, percent / 100) for percent in PERCENTS],
        "counts": [row["count"] for row in rows],
    }


def tools() -> list[Tool]:
    """Return the tools that are installed; the others are named on stderr."""
    reader = str(executable_path("log_reader"))
    found = [Tool("log_reader", (reader, f"--start-us={START_S}000000"), reader_answer)]
    for name, script, environment in (
        ("polars", POLARS, {"POLARS_MAX_THREADS": "1"}),
        ("duckdb", DUCKDB, {}),
    ):
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed and is left out", file=sys.stderr)
            continue
        command = (sys.executable, "-c", script)
        found.append(Tool(f"{name} {version(name)}", command, json.loads, environment))
    return found


def write_log(path: Path, lines: int) -> None:
    """Write a log as pgbench does at 20,000 transactions a second by 64 clients."""
    dice = random.Random(1)  # noqa: S311 - the same log each time, nothing secret
    # Latencies are log-normal with a far tail, as commits on a cloud disk are. Drawn once and
    # reused: to draw each of 20 million would take a minute and change nothing for a parser.
    latencies = [
        max(int(dice.lognormvariate(7.7, 0.5) * (30 if dice.random() < 0.002 else 1)), 60)  # noqa: PLR2004
        for _ in range(BLOCK_LINES + 1)
    ]
    gap_us = 1_000_000 // TRANSACTIONS_PER_S
    with path.open("wb", buffering=1 << 20) as log:
        for begin in range(0, lines, BLOCK_LINES):
            log.writelines(
                b"%d %d %d 0 %d %d\n"
                % (
                    *(n % CLIENTS, n // CLIENTS, latencies[n % len(latencies)]),
                    *(START_S + n // TRANSACTIONS_PER_S, n % TRANSACTIONS_PER_S * gap_us),
                )
                for n in range(begin, min(begin + BLOCK_LINES, lines))
            )


def peak_bytes(process_id: int) -> int:
    """Return the largest resident set of a running process so far; 0 when it has just ended."""
    try:
        status = Path(f"/proc/{process_id}/status").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return 0
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(sizes[0]) * 1024 if sizes else 0


def watch_peak(process_id: int, ended: threading.Event, peaks: list[int]) -> None:
    """Note the peak every 10 ms; the kernel's ru_maxrss will not do, it begins with our own."""
    while not ended.wait(0.01):
        peaks.append(peak_bytes(process_id))


def read_once(tool: Tool, path: Path) -> Round:
    """Run the tool on the file and watch it; raises `SystemExit` when it fails."""
    ended = threading.Event()
    peaks = [0]
    with tempfile.TemporaryFile() as output:
        begin_s = time.perf_counter()
        process = subprocess.Popen(
            [*tool.command, str(path)], stdout=output, env={**os.environ, **tool.environment}
        )
        watcher = threading.Thread(target=watch_peak, args=(process.pid, ended, peaks))
        watcher.start()
        exit_code = process.wait()
        elapsed_s = time.perf_counter() - begin_s
        ended.set()
        watcher.join()
        if exit_code != 0:
            raise SystemExit(f"{tool.name} failed with exit code {exit_code}")
        output.seek(0)
        return Round(elapsed_s, max(peaks), tool.answer(output.read()))


def disagreement_ratio(answer: dict[str, Any], exact: dict[str, Any]) -> float:
    """Return the largest relative difference of a quantile; refuses different counts."""
    if answer["counts"] != exact["counts"]:
        raise SystemExit("the tools count different transactions in a second")
    pairs = zip(answer["quantiles"], exact["quantiles"], strict=True)
    return max(abs(float(told) - float(right)) / float(right) for told, right in pairs)


def print_table(rounds: dict[str, list[Round]], lines: int) -> None:
    """Print asked / measured / spread for each tool, speed first."""
    row = "{:<34} {:>14} {:>22} {:>24}".format
    print(row("", "asked", "measured (median)", "spread (min to max)"))
    for name, done in rounds.items():
        speeds = sorted(lines / each.elapsed_s / MEGA for each in done)
        asked = f">= {ASKED_PER_S / MEGA:.0f} M/s" if name == "log_reader" else "-"
        print(
            row(
                f"{name}, transactions",
                asked,
                f"{statistics.median(speeds):.1f} M/s",
                f"{speeds[0]:.1f} to {speeds[-1]:.1f} M/s",
            )
        )
    for name, done in rounds.items():
        sizes = sorted(each.resident_bytes / (1 << 20) for each in done)
        asked = f"< {ASKED_BYTES >> 20} MiB" if name == "log_reader" else "-"
        spread = f"{sizes[0]:.1f} to {sizes[-1]:.1f} MiB"
        print(row(f"{name}, peak memory", asked, f"{sizes[-1]:.1f} MiB", spread))
    ours, *others = (done[0].answer for done in rounds.values())
    if others:
        error = max(disagreement_ratio(ours, other) for other in others)
        bound = f"<= {relative_error_bound():.2%}"
        print(
            row("log_reader, error of p50 p99 p99.9", bound, f"{error:.3%}", "the others are exact")
        )


def main() -> None:
    """Make the log, run the rounds, print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.log_reading", description=__doc__)
    parser.add_argument("--lines", type=int, default=20_000_000, help="transactions in the log")
    parser.add_argument("--rounds", type=int, default=5, help="readings by each tool")
    arguments = parser.parse_args()
    chosen = tools()
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="log_reading_") as folder:
        path = Path(folder, "pgbench_log.1")
        print(f"writing {arguments.lines:,} lines", file=sys.stderr)
        write_log(path, arguments.lines)
        # Threads that a library starts although told not to still share the one core.
        core = max(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {core})
        rounds: dict[str, list[Round]] = {tool.name: [] for tool in chosen}
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds}", file=sys.stderr)
            for tool in chosen:
                rounds[tool.name].append(read_once(tool, path))
        print(
            f"{arguments.lines:,} lines of {path.stat().st_size / arguments.lines:.1f} bytes,"
            f" {arguments.rounds} interleaved rounds, one core, file in memory"
        )
        print_table(rounds, arguments.lines)


if __name__ == "__main__":
    main()
