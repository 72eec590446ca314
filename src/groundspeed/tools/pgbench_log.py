"""Which kind of log a file is, by its first lines; reading one whole is the native reader's."""

from __future__ import annotations

import re
from enum import Enum
from itertools import groupby

import msgspec

# client transaction time script epoch microseconds [schedule lag] [retries]
_TRANSACTION = re.compile(
    r"\d+ \d+ (?:\d+|failed|serialization|deadlock|skipped) \d+ \d{9,} \d{1,6}((?: -?\d+){0,2})"
)
# epoch transactions sum sum of squares min max [more]: what --aggregate-interval writes.
_AGGREGATE = re.compile(r"\d{9,}(?: \d+(?:\.\d+)?){5,}")
# The last line of what was read may be cut.
_LEAST_LINES = 2


class LogKind(Enum):
    """What pgbench wrote into a log."""

    TRANSACTIONS = "transactions"
    AGGREGATES = "aggregates"


class LogShape(msgspec.Struct, frozen=True, kw_only=True):
    """A log by its first lines; `extra_count` columns follow the six that each line has."""

    kind: LogKind
    extra_count: int = 0


def shape(head: str) -> LogShape | None:
    """Tell a log of pgbench by its beginning; None for any other text."""
    lines = head.splitlines()
    first = lines[: max(1, min(len(lines) - 1, _LEAST_LINES))]
    matches = [_TRANSACTION.fullmatch(line) for line in first]
    known = [match for match in matches if match is not None]
    if first and len(known) == len(first):
        return LogShape(kind=LogKind.TRANSACTIONS, extra_count=len(known[0][1].split()))
    if first and all(_AGGREGATE.fullmatch(line) for line in first):
        return LogShape(kind=LogKind.AGGREGATES)
    return None


def stem(name: str) -> str:
    """Name the pgbench that wrote a log file: all but the number of its thread.

    Files are called prefix.pid and, of further threads, prefix.pid.thread.
    """
    match = re.fullmatch(r"(.+\.\d+)\.\d+", name)
    return match[1] if match else name


def by_process(names: list[str]) -> tuple[tuple[str, ...], ...]:
    """Gather the names of log files by the pgbench that wrote them, in the order given."""
    order = list(dict.fromkeys(stem(name) for name in names))
    ordered = sorted(names, key=lambda name: order.index(stem(name)))
    return tuple(tuple(group) for _, group in groupby(ordered, key=stem))
