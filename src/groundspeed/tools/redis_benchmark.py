"""redis-benchmark: its command line, and what it says on standard error and in progress lines.

Knows redis-benchmark 5 to 8 and valkey-benchmark 8; its reports are read by `redis_report`. It
takes a password from its arguments alone (no version reads REDISCLI_AUTH), where every user of the
machine could read it. So the command carries `PASSWORD_MARK` there, for the target to replace it
out of sight. Executes nothing.
"""

from __future__ import annotations

import itertools
import math
import re

import msgspec

from groundspeed.plan import Command

PROGRAM = "redis-benchmark"
# Older ones count refusals of the server as requests served, print a rate and end with 0: with a
# wrong password, a full memory or a disk that fails (tests/golden/redis/5.0.14-*).
LEAST_VERSION = (6, 2, 3)
# What redis-cli and memtier take it from; the mark stands for its content.
PASSWORD_VARIABLE = "REDISCLI_AUTH"  # noqa: S105 - the name of a variable is no password
PASSWORD_MARK = f"@{PASSWORD_VARIABLE}"
# Of version 6.2 on: longer ones are counted as this long.
LONGEST_LATENCY_S = 3.0
# As `-t` knows them. Others are left out without a word, and all run where none is left.
TESTS = frozenset(
    (
        *("ping", "ping_inline", "ping_mbulk", "set", "get", "incr", "lpush", "rpush", "lpop"),
        *("rpop", "sadd", "hset", "spop", "zadd", "zpopmin", "lrange", "lrange_100"),
        *("lrange_300", "lrange_500", "lrange_600", "mset"),
    )
)
_MOST_COUNT = 2**31 - 1
_MOST_PAYLOAD_BYTES = 1024**3


class Tls(msgspec.Struct, frozen=True, kw_only=True):
    """How to trust the server, and what to show it. Without a CA file, the system's count."""

    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    server_name: str | None = None


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where the server is. With a socket, host and port do not count."""

    host: str = "127.0.0.1"
    port: int = 6379
    socket: str | None = None
    user: str | None = None
    has_password: bool = False
    tls: Tls | None = None


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """One load: each test in turn, `request_count` requests of it.

    Without `keyspace_count` every request is for one and the same key: then the data set is one
    value, however much is written. `thread_count` 0 is the single-threaded loop, not one thread.
    `is_csv` leaves out the distribution and the progress lines.
    """

    tests: tuple[str, ...]
    request_count: int
    client_count: int
    payload_bytes: int
    pipeline_count: int = 1
    keyspace_count: int | None = None
    thread_count: int = 0
    keep_alive: bool = True
    precision_digits: int | None = None
    is_csv: bool = False


def parse_version(stdout: str) -> tuple[int, ...]:
    """Read what `--version` prints, as (7, 0, 15). Raises ValueError."""
    match = re.search(r"benchmark (\d+(?:\.\d+)*)", stdout)
    if match is None:
        raise ValueError("redis-benchmark tells no version")
    return tuple(map(int, match[1].split(".")))


def complaint(options: Options) -> str | None:
    """Say what redis-benchmark would silently do otherwise; None where all is well."""
    unknown = sorted(set(options.tests) - TESTS)
    counts = (options.request_count, options.client_count, options.pipeline_count)
    if unknown or not options.tests:
        return f"redis-benchmark has no test {', '.join(unknown) or 'at all was named'}"
    if not all(0 < count <= _MOST_COUNT for count in counts):
        return "requests, clients and pipeline of redis-benchmark lie between 1 and 2147483647"
    if options.request_count < options.client_count * options.pipeline_count:
        return "there are fewer requests than clients times pipeline: some clients would send none"
    if not 0 < options.payload_bytes <= _MOST_PAYLOAD_BYTES:
        return "a payload of redis-benchmark lies between 1 B and 1 GiB"
    if not 0 <= (options.keyspace_count or 0) <= _MOST_COUNT:
        return "a keyspace of redis-benchmark has at most 2147483647 keys"
    return None


def command(options: Options, address: Address, *, program: str = PROGRAM) -> Command:
    """Command of one load. Raises ValueError for what redis-benchmark would do otherwise."""
    if (wrong := complaint(options)) is not None:
        raise ValueError(wrong)
    arguments = [*_address(address), "-n", str(options.request_count)]
    arguments += ["-c", str(options.client_count), "-d", str(options.payload_bytes)]
    arguments += ["-k", str(int(options.keep_alive)), "-P", str(options.pipeline_count)]
    if options.keyspace_count is not None:
        arguments += ["-r", str(options.keyspace_count)]
    if options.thread_count:
        arguments += ["--threads", str(options.thread_count)]
    if options.precision_digits is not None:
        arguments += ["--precision", str(options.precision_digits)]
    if options.is_csv:
        arguments.append("--csv")
    return Command(program=program, arguments=(*arguments, "-t", ",".join(options.tests)))


def _address(address: Address) -> list[str]:
    if address.socket is not None:
        arguments = ["-s", address.socket]
    else:
        arguments = ["-h", address.host, "-p", str(address.port)]
    if address.has_password:
        arguments += ["--user", address.user] if address.user is not None else []
        arguments += ["-a", PASSWORD_MARK]
    if address.tls is not None:
        pairs = (
            ("--sni", address.tls.server_name),
            ("--cacert", address.tls.ca_file),
            ("--cert", address.tls.certificate_file),
            ("--key", address.tls.key_file),
        )
        arguments.append("--tls")
        arguments += [text for name, value in pairs if value is not None for text in (name, value)]
    return arguments


class ProgressLine(msgspec.Struct, frozen=True, kw_only=True):
    """How a test is doing, four times a second: since the last line, and since its start.

    Version 5 tells the rate since the start alone.
    """

    test: str
    rate_per_s: float | None
    mean_s: float | None
    overall_rate_per_s: float
    overall_mean_s: float | None


_NUMBER = r"(-?(?:[\d.]+|nan|inf))"
_PROGRESS = re.compile(
    rf"(.+?): rps={_NUMBER} \(overall: {_NUMBER}\) avg_msec={_NUMBER} \(overall: {_NUMBER}\)"
)
_OLD_PROGRESS = re.compile(rf"([A-Z][A-Z0-9_]*(?: \(.+\))?): {_NUMBER}")


def parse_progress(text: str) -> ProgressLine | None:
    """Read what stands between two carriage returns; None where it tells of no progress yet."""
    if match := _PROGRESS.fullmatch(text.strip()):
        rate, overall, mean, overall_mean = map(_number, match.groups()[1:])
    elif match := _OLD_PROGRESS.fullmatch(text.strip()):
        rate, overall, mean, overall_mean = None, _number(match[2]), None, None
    else:
        return None
    if overall is None:
        return None
    return ProgressLine(
        test=test_of(match[1]),
        rate_per_s=rate,
        mean_s=None if mean is None else mean / 1000,
        overall_rate_per_s=overall,
        overall_mean_s=None if overall_mean is None else overall_mean / 1000,
    )


def _number(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def test_of(title: str) -> str:
    """Name of a test by its title, which for some has a remark behind: "MSET (10 keys)"."""
    return title.strip().partition(" (")[0]


_TELLING = (
    "Error from server",
    "Unexpected error reply",
    "Error: ",
    "Could not connect",
    "All clients disconnected",
    "Invalid ",
    "Could not negotiate",
)
_NODE_REPLIED = "replied with error:"


def error_line(stderr: str, stdout: str = "") -> str:
    """Pick the line that says what went wrong; may be empty.

    Version 5 writes errors of the server to standard output.
    """
    lines = [line.strip() for line in re.split(r"[\r\n]", f"{stderr}\n{stdout}") if line.strip()]
    for line, after in itertools.pairwise(lines):
        if line.endswith(_NODE_REPLIED):
            return after
    for words in _TELLING:
        for line in lines:
            if words in line:
                # Version 5 writes it behind the progress line, on the same line.
                return line[line.index(words) :].removeprefix("Error from server: ")
    ours = [line.strip() for line in stderr.splitlines() if line.strip()]
    return next((line for line in ours if not line.startswith("WARNING")), "")
