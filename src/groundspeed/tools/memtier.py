"""memtier_benchmark: its command line for a time, and what its JSON says came of it.

Knows memtier_benchmark 2 (`--json-out-file`). Unlike redis-benchmark it mixes reads and writes on
the same connections, and runs for a time. It too takes a password from its arguments alone.
Executes nothing.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from groundspeed.plan import Command
from groundspeed.tools.redis_benchmark import PASSWORD_MARK, Address

PROGRAM = "memtier_benchmark"
OUTPUT_FILE = "memtier.json"
_DEFAULT_USER = "default"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """One load: `set_count` SETs to `get_count` GETs, of keys drawn at random.

    Its keys are named memtier-1 and so on: what was preloaded for redis-benchmark is not found.
    """

    duration_s: int
    client_count: int
    payload_bytes: int
    keyspace_count: int
    thread_count: int = 1
    set_count: int = 1
    get_count: int = 10
    pipeline_count: int = 1


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What SETs, GETs or both came to. `hit_ratio` is of the GETs that found their key."""

    request_count: int
    rate_per_s: float
    mean_s: float
    min_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float
    hit_ratio: float | None = None


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """All that one memtier_benchmark did. A side without a request is None."""

    duration_s: float
    sets: Side | None
    gets: Side | None
    total: Side


def command(options: Options, address: Address, *, output: str = OUTPUT_FILE) -> Command:
    """Command of one load. Raises ValueError where clients cannot be shared by threads."""
    each, rest = divmod(options.client_count, options.thread_count)
    if rest or not each:
        raise ValueError("memtier_benchmark gives each thread as many clients as the others")
    arguments = [*_address(address), "--threads", str(options.thread_count)]
    arguments += ["--clients", str(each), "--test-time", str(options.duration_s)]
    # Without it the values are all one letter, and without the other all clients draw alike.
    arguments += ["--random-data", "--distinct-client-seed"]
    arguments += ["--data-size", str(options.payload_bytes)]
    arguments += ["--ratio", f"{options.set_count}:{options.get_count}"]
    arguments += ["--key-pattern", "R:R", "--key-minimum", "1"]
    arguments += ["--key-maximum", str(options.keyspace_count)]
    arguments += ["--pipeline", str(options.pipeline_count), "--print-percentiles", "50,95,99"]
    arguments += ["--hide-histogram", "--json-out-file", output]
    return Command(program=PROGRAM, arguments=tuple(arguments))


def _address(address: Address) -> list[str]:
    if address.socket is not None:
        arguments = ["--unix-socket", address.socket]
    else:
        arguments = ["--server", address.host, "--port", str(address.port)]
    if address.has_password:
        if address.user not in (None, _DEFAULT_USER):
            # The mark would stand behind the name in one argument, and whole ones are replaced.
            raise ValueError("memtier_benchmark logs in as the user default alone")
        arguments += ["--authenticate", PASSWORD_MARK]
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


def parse(text: str) -> Output:
    """Read the JSON file. Raises ValueError that says what is wrong, a lost connection as well."""
    try:
        document = msgspec.json.decode(text)
        told, runtime = document["ALL STATS"], document["ALL STATS"]["Runtime"]
        if runtime["Interrupted"] not in (False, "false"):
            raise ValueError("memtier_benchmark was interrupted")
        if lost := told["Totals"].get("Connection Errors", 0):
            raise ValueError(f"memtier_benchmark lost {lost} connections")
        sets, gets = _side(told["Sets"]), _side(told["Gets"], hits=True)
        total = _side(told["Totals"])
        if total is None:
            raise ValueError("memtier_benchmark sent nothing")
        # Version 2.3.0 has 0 there.
        waited_s = sum(side.mean_s * side.request_count for side in (sets, gets) if side)
        return Output(
            duration_s=runtime["Total duration"] / 1000,
            sets=sets,
            gets=gets,
            total=msgspec.structs.replace(total, mean_s=waited_s / total.request_count),
        )
    except msgspec.DecodeError as error:
        raise ValueError(f"memtier_benchmark's JSON cannot be read: {error}") from None
    except (KeyError, TypeError) as error:
        raise ValueError(f"memtier_benchmark's JSON lacks {error}") from None


def _side(told: dict[str, Any], *, hits: bool = False) -> Side | None:
    if not told["Count"]:
        return None
    percentiles = told["Percentile Latencies"]
    found, missed = told["Hits/sec"], told["Misses/sec"]
    return Side(
        request_count=told["Count"],
        rate_per_s=told["Ops/sec"],
        mean_s=_seconds(told["Average Latency"]),
        min_s=_seconds(told["Min Latency"]),
        p50_s=_seconds(percentiles["p50.00"]),
        p95_s=_seconds(percentiles["p95.00"]),
        p99_s=_seconds(percentiles["p99.00"]),
        max_s=_seconds(told["Max Latency"]),
        hit_ratio=found / (found + missed) if hits and found + missed else None,
    )


def _seconds(told_ms: float) -> float:
    if not math.isfinite(told_ms):
        raise ValueError(f"memtier_benchmark's JSON has {told_ms} for a latency")
    return told_ms / 1000
