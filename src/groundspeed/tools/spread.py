"""One pgbench as several: the load of a command in shares, and their reports as one.

Where one machine cannot make enough load, several make a share of it each, at the same time. Knows
options and reports, and no machine; latencies are not for here, they are in the logs alone.
"""

from __future__ import annotations

import hashlib
import math
import re
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from groundspeed.plan import Command
    from groundspeed.tools.pgbench import Report

_HEADER = re.compile(r"^generator (\d+) of (\d+)\n", re.MULTILINE)
_SEED = "--random-seed="
# pgbench 13 and 14 take no more of a seed than this into their generator (erand48).
_SEED_BITS = 48
# Those have to be the same in every report: what was asked of one was asked of all.
_ALIKE = (
    "transaction_type",
    "scale",
    "query_mode",
    "duration_s",
    "max_tries",
    "latency_limit_s",
)
_SUMS = (
    *("clients", "threads", "transaction_count", "failed_count", "skipped_count"),
    *("over_limit_count", "retried_count", "retries_count", "serialization_count"),
    *("deadlock_count", "serialization_failure_count", "deadlock_failure_count"),
)


def shares(total: int, count: int) -> tuple[int, ...]:
    """Share a total among `count`, as evenly as whole numbers can be; larger shares come first.

    Raises ValueError for a count below 1.
    """
    if count < 1:
        raise ValueError(f"nothing is shared among {count}")
    least, more = divmod(total, count)
    return tuple(least + (index < more) for index in range(count))


def thread_shares(clients: int, threads: int, count: int) -> tuple[int, ...]:
    """Share threads as clients are: each has one, and none has more than it has clients."""
    return tuple(
        min(max(own, 1), served)
        for own, served in zip(shares(threads, count), shares(clients, count), strict=True)
    )


def spread(command: Command, count: int) -> tuple[Command, ...]:
    """Share the load of a pgbench among `count`; clients and rate add up to what was asked.

    Everything else is the same, the share of transactions that is logged too, but for the random
    seeds: with one seed all would read and write the same rows at the same time. Raises ValueError
    for a command that makes no load (pgbench -i), and for more generators than clients.
    """
    arguments = command.arguments
    if "-c" not in arguments or "-i" in arguments:
        raise ValueError("only a load is spread: this command has no clients")
    clients = int(arguments[arguments.index("-c") + 1])
    if clients < count:
        raise ValueError(f"{clients} clients are too few for {count} generators: each needs one")
    if count == 1:
        return (command,)
    threads = int(arguments[arguments.index("-j") + 1])
    of_threads = thread_shares(clients, threads, count)
    spread_out = []
    for index, served in enumerate(shares(clients, count)):
        changes = {"-c": str(served), "-j": str(of_threads[index])}
        if "-R" in arguments:
            rate_per_s = float(arguments[arguments.index("-R") + 1])
            # A client is one everywhere: with equal rates those of a smaller share had more to do.
            changes["-R"] = f"{rate_per_s * served / clients:.12g}"
        spread_out.append(_changed(command, changes, index))
    return tuple(spread_out)


def _changed(command: Command, changes: dict[str, str], index: int) -> Command:
    old = command.arguments
    new = [
        changes.get(before, _reseeded(text, index))
        for before, text in zip(("", *old[:-1]), old, strict=True)
    ]
    return msgspec.structs.replace(command, arguments=tuple(new))


def _reseeded(text: str, index: int) -> str:
    """Draw another seed from a seed, always the same one.

    By a hash and not by counting up: erand48 is a linear congruential generator, in which the
    sequences of neighbouring seeds resemble each other.
    """
    if not text.startswith(_SEED):
        return text
    drawn = hashlib.sha256(f"{text.removeprefix(_SEED)}/{index}".encode()).digest()
    return f"{_SEED}{int.from_bytes(drawn[: _SEED_BITS // 8], 'big')}"


def join_reports(stdouts: Sequence[str]) -> str:
    """Write what each of several printed, one after another, so that all of it is kept."""
    count = len(stdouts)
    parts = [f"generator {number} of {count}\n{text}" for number, text in enumerate(stdouts, 1)]
    return "".join(part if part.endswith("\n") else f"{part}\n" for part in parts)


def split_reports(stdout: str) -> tuple[str, ...]:
    """Take apart what `join_reports` wrote; any other text is one.

    Raises ValueError where one of them is missing.
    """
    headers = list(_HEADER.finditer(stdout))
    if not headers:
        return (stdout,)
    numbers = [int(header[1]) for header in headers]
    counts = {int(header[2]) for header in headers}
    if counts != {len(numbers)} or numbers != list(range(1, len(numbers) + 1)):
        raise ValueError(f"not every generator's report is there, or not in order: {numbers}")
    ends = [*(header.start() for header in headers[1:]), len(stdout)]
    return tuple(stdout[header.end() : end] for header, end in zip(headers, ends, strict=True))


def added(reports: Sequence[Report]) -> Report:
    """Add up the reports of generators that ran at the same time.

    Counts add up. So do transactions a second, since they ran at the same time: with one time T for
    all, sum(count_i) / T = sum(count_i / T). pgbench divides by its own time_i, which is the
    duration asked for without what connecting took; how far these lie apart, whoever ran them has
    to tell. The initial connection time is the longest: only then all of them were there. Means
    are weighted by transactions; what cannot be had from parts is None. Raises ValueError where
    they were not asked the same.
    """
    first = reports[0]
    for name in _ALIKE:
        told = dict.fromkeys(getattr(report, name) for report in reports)
        if len(told) > 1:
            differing = " and ".join(map(str, told))
            what = name.removesuffix("_s").replace("_", " ")
            raise ValueError(f"generators did not do the same: {what} is {differing}")
    weights = [report.transaction_count for report in reports]

    def all_of(name: str, of: Callable[[list[float]], float]) -> float | None:
        told = [getattr(report, name) for report in reports]
        return None if None in told else of(told)

    return msgspec.structs.replace(
        first,
        **{name: _sum(reports, name) for name in _SUMS},
        generator_count=len(reports),
        tps_per_s=math.fsum(report.tps_per_s for report in reports),
        latency_average_s=all_of("latency_average_s", lambda told: _mean(told, weights)),
        latency_stddev_s=None,
        schedule_lag_mean_s=all_of("schedule_lag_mean_s", lambda told: _mean(told, weights)),
        schedule_lag_max_s=all_of("schedule_lag_max_s", max),
        initial_connection_s=all_of("initial_connection_s", max),
    )


def _sum(reports: Sequence[Report], name: str) -> int | None:
    told = [getattr(report, name) for report in reports]
    return None if None in told else sum(told)


def _mean(told: Sequence[float], weights: Sequence[int]) -> float:
    # Without a transaction there is nothing to weigh by.
    total = sum(weights)
    if total == 0:
        return told[0]
    return math.fsum(value * weight for value, weight in zip(told, weights, strict=True)) / total
