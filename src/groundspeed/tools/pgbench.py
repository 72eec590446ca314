"""pgbench: its command line for a trial, and what its report says it did.

Knows the output of pgbench 13 to 18. Executes nothing.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import msgspec

from groundspeed.plan import Command
from groundspeed.tools import spread
from groundspeed.tools.load_tool import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import Trial, WorkloadPlan

SCRIPT_FILE = "script.sql"
# In the working directory of the command, which is in memory.
LOG_PREFIX = "transactions"
_TRANSACTION_TYPES = {
    "select-only": "<builtin: select only>",
    "simple-update": "<builtin: simple update>",
    "tpcb-like": "<builtin: TPC-B (sort of)>",
}

# Time pgbench loses to one line of its transaction log. In a loop that does nothing else it is
# 0.31 us (bench/log_cost.py); between real transactions, which push its code out of the caches, a
# full log took 5.5% (standard error 0.7%, 12 rounds of 3 s in random order) of 72,000 select-only
# transactions a second on one thread, which is 0.76 us.
LOG_LINE_COST_S = 0.8e-6
# Logging everything is fine up to 1% of pgbench's time; above, sampling brings it down to a fifth
# of that, since the threads wait for nothing else when they are the bottleneck.
FULL_LOG_BUDGET_RATIO = 0.01
_SAMPLED_LOG_BUDGET_RATIO = 0.002


def initialise(conninfo: str, *, scale: int) -> Command:
    """Command that makes the pgbench tables at a scale (100,000 accounts each unit)."""
    return Command(program="pgbench", arguments=("-i", "-q", "-s", str(scale), conninfo))


def command(
    trial: Trial,
    workload: WorkloadPlan,
    *,
    conninfo: str,
    log_prefix: str = LOG_PREFIX,
    sampling_ratio: float = 1.0,
) -> Command:
    """Command of the measured part of a trial, with its transaction log.

    `sampling_ratio` in (0, 1] is the share of transactions that pgbench logs.
    """
    log = ["-l", f"--log-prefix={log_prefix}"]
    if sampling_ratio < 1:
        log.append(f"--sampling-rate={sampling_ratio:g}")
    return _command(trial, workload, conninfo, str(trial.duration_s), log)


def warm_up_command(
    trial: Trial, workload: WorkloadPlan, *, conninfo: str, log_prefix: str = LOG_PREFIX
) -> Command:
    """Command of a trial's warm-up: the same load.

    pgbench takes whole seconds only, so a shorter warm-up has to be ended from outside.
    """
    duration = str(max(1, math.ceil(trial.warm_up_s)))
    return _command(trial, workload, conninfo, duration, ["-l", f"--log-prefix={log_prefix}"])


def _command(
    trial: Trial, workload: WorkloadPlan, conninfo: str, duration: str, log: Sequence[str]
) -> Command:
    cell = trial.cell
    arguments = [
        "-n",  # the run resets the dataset itself, before every trial alike
        "-M",
        trial.protocol,
        "-c",
        str(cell.clients),
        "-j",
        str(cell.threads),
        "-T",
        duration,
        "-P",
        str(trial.progress_s),
        f"--random-seed={trial.random_seed}",
    ]
    if trial.rate_per_s is not None:
        arguments += ["-R", f"{trial.rate_per_s:.12g}"]
    if trial.latency_limit_s is not None:
        arguments += ["-L", f"{trial.latency_limit_s * 1000:.12g}"]
    if trial.max_tries > 1:
        arguments += [f"--max-tries={trial.max_tries}", "--failures-detailed"]
    files: tuple[tuple[str, str], ...] = ()
    if workload.script is None:
        arguments += ["-b", workload.name]
    else:
        # Built-in scripts find the scale in the tables; a custom one has to be told.
        arguments += ["-s", str(cell.scale), "-f", SCRIPT_FILE]
        files = ((SCRIPT_FILE, workload.script),)
    return Command(program="pgbench", arguments=(*arguments, *log, conninfo), files=files)


def log_cost_ratio(lines_per_s: float, *, threads: int, cpu_count: int) -> float:
    """Upper bound of the throughput that writing so many log lines a second costs; a ratio."""
    return lines_per_s * LOG_LINE_COST_S / max(1, min(threads, cpu_count))


def sampling_ratio(tps_per_s: float, *, threads: int, cpu_count: int) -> float:
    """Share of transactions to log so that logging does not show in the result; (0, 1].

    The worst case decides: the pgbench threads (or the cores, if fewer) have no time to spare, so
    every second spent on log lines is lost to transactions.
    """
    cost_ratio = log_cost_ratio(tps_per_s, threads=threads, cpu_count=cpu_count)
    if cost_ratio <= FULL_LOG_BUDGET_RATIO:
        return 1.0
    ratio = _SAMPLED_LOG_BUDGET_RATIO / cost_ratio
    # Two digits: so that the command line is readable, and the same for nearly the same rate.
    return max(float(f"{ratio:.2g}"), 1e-4)


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What pgbench says it did. None where this version or these options do not tell."""

    transaction_type: str
    scale: int
    query_mode: str
    clients: int
    threads: int
    duration_s: int | None
    max_tries: int | None
    transaction_count: int
    failed_count: int
    skipped_count: int
    over_limit_count: int | None
    retried_count: int
    retries_count: int
    # Only with --failures-detailed.
    serialization_count: int | None
    deadlock_count: int | None
    latency_average_s: float
    latency_stddev_s: float | None
    schedule_lag_mean_s: float | None
    schedule_lag_max_s: float | None
    initial_connection_s: float | None
    tps_per_s: float
    # Told only with --failures-detailed.
    serialization_failure_count: int | None = None
    deadlock_failure_count: int | None = None
    latency_limit_s: float | None = None
    # How many ran at the same time, with a share of clients and threads each.
    generator_count: int = 1


def _field(text: str, pattern: str) -> str | None:
    match = re.search(rf"^{pattern}", text, re.MULTILINE)
    return match[1] if match else None


def _required(text: str, pattern: str) -> str:
    value = _field(text, pattern)
    if value is None:
        name = re.split(r":| =", pattern, maxsplit=1)[0]
        raise ValueError(f"pgbench's report lacks the line {name!r}")
    return value


def _ms(text: str | None) -> float | None:
    return None if text is None else float(text) / 1000


def _int(text: str | None, default: int = 0) -> int:
    return default if text is None else int(text)


def _count(stdout: str, pattern: str) -> int | None:
    told = _field(stdout, pattern)
    return None if told is None else int(told)


def parse(stdout: str) -> Report:
    """Read pgbench's final report; of several together (`spread.join_reports`) their sum.

    Raises ValueError naming the line it lacks.
    """
    reports = [_parse(part) for part in spread.split_reports(stdout)]
    return reports[0] if len(reports) == 1 else spread.added(reports)


def _parse(stdout: str) -> Report:
    duration = _field(stdout, r"duration: (\d+) s")
    tries = _field(stdout, r"maximum number of tries: (\d+)")
    serial = _field(stdout, r"number of serialization failures: (\d+)")
    deadlock = _field(stdout, r"number of deadlock failures: (\d+)")
    over = _field(stdout, r"number of transactions above the .* latency limit: (\d+)")
    tps = (
        _field(stdout, r"tps = ([\d.]+) \(without initial connection time\)")
        or _field(stdout, r"tps = ([\d.]+) \(excluding connections establishing\)")
        or _required(stdout, r"tps = ([\d.]+)")
    )
    return Report(
        transaction_type=_required(stdout, r"transaction type: (.*)").strip(),
        scale=int(_required(stdout, r"scaling factor: (\d+)")),
        query_mode=_required(stdout, r"query mode: (\w+)"),
        clients=int(_required(stdout, r"number of clients: (\d+)")),
        threads=int(_required(stdout, r"number of threads: (\d+)")),
        duration_s=None if duration is None else int(duration),
        max_tries=None if tries is None else int(tries),
        transaction_count=int(
            _required(stdout, r"number of transactions actually processed: (\d+)")
        ),
        failed_count=_int(_field(stdout, r"number of failed transactions: (\d+)")),
        skipped_count=_int(_field(stdout, r"number of transactions skipped: (\d+)")),
        over_limit_count=None if over is None else int(over),
        retried_count=_int(_field(stdout, r"number of transactions retried: (\d+)")),
        retries_count=_int(_field(stdout, r"total number of retries: (\d+)")),
        serialization_count=_count(stdout, r"number of serialization failures: (\d+)"),
        deadlock_count=_count(stdout, r"number of deadlock failures: (\d+)"),
        latency_average_s=float(_required(stdout, r"latency average = ([\d.]+) ms")) / 1000,
        latency_stddev_s=_ms(_field(stdout, r"latency stddev = ([\d.]+) ms")),
        schedule_lag_mean_s=_ms(_field(stdout, r"rate limit schedule lag: avg ([\d.]+)")),
        schedule_lag_max_s=_ms(_field(stdout, r"rate limit schedule lag: .* \(max ([\d.]+)\)")),
        initial_connection_s=_ms(_field(stdout, r"initial connection time = ([\d.]+) ms")),
        tps_per_s=float(tps),
        serialization_failure_count=None if serial is None else int(serial),
        deadlock_failure_count=None if deadlock is None else int(deadlock),
        latency_limit_s=_ms(
            _field(stdout, r"number of transactions above the ([\d.]+) ms latency limit")
        ),
    )


def workload_of(transaction_type: str) -> str | None:
    """Name the workload that a report speaks of; None for one that is not known by this.

    A script of the user's own is called by its file, without .sql.
    """
    built_in = {kind: name for name, kind in _TRANSACTION_TYPES.items()}
    if transaction_type in built_in:
        return built_in[transaction_type]
    if transaction_type.startswith("<") or transaction_type == "multiple scripts":
        return None
    name = transaction_type.rpartition("/")[2]
    stem = name.removesuffix(".sql")
    # What somebody called select-only.sql need not be what pgbench means by it.
    return name if stem in _TRANSACTION_TYPES else stem


def mismatches(trial: Trial, workload: WorkloadPlan, report: Report) -> tuple[str, ...]:
    """Compare what was asked with what pgbench says it did; a phrase for each difference."""
    cell = trial.cell
    threads = spread.thread_shares(cell.clients, cell.threads, report.generator_count)
    if workload.script is None:
        transaction_type = _TRANSACTION_TYPES[workload.name]
        did_type = report.transaction_type
    else:
        # pgbench prints the path it was given; the target decides in which directory.
        transaction_type = SCRIPT_FILE
        did_type = report.transaction_type.rpartition("/")[2]
    pairs: list[tuple[str, object, object]] = [
        ("script", transaction_type, did_type),
        ("scale", cell.scale, report.scale),
        ("protocol", trial.protocol, report.query_mode),
        ("clients", cell.clients, report.clients),
        ("threads", sum(threads), report.threads),
        ("duration", trial.duration_s, report.duration_s),
    ]
    if report.max_tries is not None:
        pairs.append(("max tries", trial.max_tries, report.max_tries))
    return tuple(
        f"{what}: asked {asked}, pgbench did {did}" for what, asked, did in pairs if asked != did
    )


_PROGRESS = re.compile(r"progress: ([\d.]+) s, ([\d.]+) tps")


def parse_progress(line: str) -> ProgressLine | None:
    """Read a line of pgbench's standard error; None when it is no progress report."""
    match = _PROGRESS.match(line)
    if match is None:
        return None
    return ProgressLine(elapsed_s=float(match[1]), tps_per_s=float(match[2]))


def error_line(stderr: str) -> str:
    """Pick the line of pgbench's standard error that says what went wrong; may be empty."""
    lines = [line for line in stderr.splitlines() if line and not line.startswith("progress:")]
    errors = [line for line in lines if "error:" in line or "FATAL" in line or "PANIC" in line]
    picked = (errors or lines or [""])[0]
    return picked.removeprefix("pgbench: ").removeprefix("error: ")
