"""redis-benchmark in the terms that all load tools share."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from groundspeed.plan import Command, Trial, WorkloadPlan
from groundspeed.tools import redis_load
from groundspeed.tools.load_tool import Pace, ProgressLine
from groundspeed.tools.redis_benchmark import Address, Tls
from groundspeed.tools.redis_load import RedisLoad
from tests.examples import make_trial
from tests.golden import redis_output

TOOL = RedisLoad()
MODERN = ("7.0.15", "8.0-m01", "valkey-8.0.1")
UNKNOWN = Pace(rate_per_s=0.0, cpu_count=2)


def workload(**changes: object) -> WorkloadPlan:
    load = {
        "test": "set",
        "payload_bytes": 1000,
        "keyspace": 0,
        "pipeline": 1,
        "requests": "auto",
        "keep_alive": 1,
        **changes,
    }
    return WorkloadPlan(
        name="w", writes=True, load=tuple((name, str(value)) for name, value in load.items())
    )


def trial(clients: int = 20, **changes: object) -> Trial:
    made = make_trial(environment="e", workload="w", clients=clients, duration_s=2)
    return msgspec.structs.replace(made, **changes)


def command(asked: WorkloadPlan, *, rate_per_s: float = 0.0, one: Trial | None = None) -> Command:
    pace = Pace(rate_per_s=rate_per_s, cpu_count=2)
    return TOOL.command(one or trial(), asked, conninfo="unix:///s", pace=pace)


def pairs(made: Command) -> set[tuple[str, str]]:
    return set(itertools.pairwise(made.arguments))


def test_the_whole_command() -> None:
    assert command(workload(keyspace=100_000), rate_per_s=5000).argv == (
        *("redis-benchmark", "-s", "/s", "-n", "10000", "-c", "20", "-d", "1000"),
        *("-k", "1", "-P", "1", "-r", "100000", "--precision", "3", "-t", "set"),
    )


@pytest.mark.parametrize(
    ("asked", "rate_per_s", "count"),
    [
        # As many as the pace makes in the two seconds of the trial.
        ({}, 7_000.0, 14_000),
        # Nothing is known: of the order of a slow disk.
        ({}, 0.0, 2_000),
        # No client is left without a request.
        ({"pipeline": 16}, 1.0, 320),
        # What was asked for holds, whatever the pace.
        ({"requests": 50_000}, 7_000.0, 50_000),
    ],
)
def test_how_many_requests(asked: dict[str, object], rate_per_s: float, count: int) -> None:
    assert ("-n", str(count)) in pairs(command(workload(**asked), rate_per_s=rate_per_s))


@pytest.mark.parametrize(("rate_per_s", "expected_s"), [(5_000.0, 10.0), (0.0, 50.0)])
def test_fixed_requests_take_what_the_pace_makes_of_them(
    rate_per_s: float, expected_s: float
) -> None:
    pace = Pace(rate_per_s=rate_per_s, cpu_count=2)
    assert TOOL.expected_s(trial(), workload(requests=50_000), pace) == pytest.approx(expected_s)


def test_requests_that_follow_the_pace_take_the_time_of_the_trial() -> None:
    pace = Pace(rate_per_s=30_000.0, cpu_count=2)
    assert TOOL.expected_s(trial(), workload(), pace) == pytest.approx(2.0)


def test_a_warm_up_is_the_same_load_and_never_ends_by_itself() -> None:
    asked = workload(requests=50_000, keep_alive=0)
    warm = TOOL.warm_up_command(trial(), asked, conninfo="unix:///s").argv
    measured = list(command(asked).argv)
    count_at = measured.index("50000")
    assert int(warm[count_at]) > 10**9
    measured[count_at] = warm[count_at]
    assert warm == tuple(measured)


@pytest.mark.parametrize(("threads", "expected"), [(1, False), (2, True)])
def test_one_thread_is_the_loop_that_has_none(threads: int, *, expected: bool) -> None:
    one = trial()
    one = msgspec.structs.replace(one, cell=msgspec.structs.replace(one.cell, threads=threads))
    assert (("--threads", str(threads)) in pairs(command(workload(), one=one))) is expected


TLS = Tls(ca_file="/ca.pem", certificate_file="/c.pem", key_file="/k.pem", server_name="cache")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("unix:///run/a%20b.sock", Address(socket="/run/a b.sock")),
        ("unix://me@/s", Address(socket="/s", user="me", has_password=True)),
        ("redis://cache", Address(host="cache", port=6379)),
        (
            "redis://a%40b@cache:7000",
            Address(host="cache", port=7000, user="a@b", has_password=True),
        ),
        ("redis://[::1]:7000", Address(host="::1", port=7000)),
        ("rediss://cache", Address(host="cache", tls=Tls(server_name="cache"))),
        (
            "rediss://cache?ssl_ca_certs=/ca.pem&ssl_certfile=/c.pem&ssl_keyfile=/k.pem",
            Address(host="cache", tls=TLS),
        ),
    ],
)
def test_the_address_in_a_url(url: str, address: Address) -> None:
    assert redis_load.address_of(url) == address


@pytest.mark.parametrize("url", ["http://cache", "cache:6379", "postgresql://h/db"])
def test_another_kind_of_url_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="starts with redis://"):
        redis_load.address_of(url)


# -- what it printed


def section_of(name: str, test: str) -> str:
    """The report of one test of several, without the progress of the next one."""
    text = redis_output.read(name).stdout
    parts = text.split("====== ")
    lines = next(part for part in parts if part.startswith(f"{test} ======"[:-6])).splitlines()
    return "====== " + "\n".join(lines[: _summary_at(lines) + 1]) + "\n"


def _summary_at(lines: list[str]) -> int:
    return next(n for n, text in enumerate(lines) if text.split()[:2] == ["avg", "min"]) + 1


LARGE = {"payload_bytes": 180_000}


@pytest.mark.parametrize("version", MODERN)
def test_a_report_is_read(version: str) -> None:
    stdout = section_of(f"{version}-large", "SET")
    read = TOOL.read(trial(), workload(**LARGE), stdout)
    assert read.transaction_count == 5000
    assert read.tps_per_s > 0
    assert read.differences == ()
    assert read.latency is not None
    assert sum(count for _, count in read.latency.distribution) == 5000
    uppers = [upper_s for upper_s, _ in read.latency.distribution]
    assert uppers == sorted(set(uppers))
    assert uppers[-1] == pytest.approx(read.latency.max_s)
    assert [q for q, _ in read.latency.quantiles] == [0.5, 0.95, 0.99]
    assert read.latency.min_s <= read.latency.mean_s <= read.latency.max_s


@pytest.mark.parametrize("version", MODERN)
def test_what_was_not_asked_is_told(version: str) -> None:
    stdout = section_of(f"{version}-large", "SET")
    read = TOOL.read(trial(clients=21), workload(payload_bytes=1000, test="get"), stdout)
    told = "; ".join(read.differences)
    assert "asked get" in told
    assert "21" in told
    assert "180000" in told


def test_one_trial_is_one_test() -> None:
    stdout = redis_output.read("7.0.15-large").stdout
    with pytest.raises(ValueError, match="reported 4 tests, one was asked for"):
        TOOL.read(trial(), workload(**LARGE), stdout)


def test_a_report_without_a_count_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="told no number of requests"):
        TOOL.read(trial(), workload(), "SET: 1234.50 requests per second, p50=0.400 msec\n")


def test_a_refusal_is_not_a_result() -> None:
    refused = redis_output.read("7.0.15-out-of-memory")
    with pytest.raises(ValueError, match="began SET and did not report it"):
        TOOL.read(trial(), workload(), refused.stdout)
    assert "OOM command not allowed" in TOOL.error_line(refused.stderr)


def test_latencies_beyond_the_longest_that_is_counted_are_a_caution() -> None:
    stdout = section_of("7.0.15-large", "SET")
    summary = stdout.splitlines()[-1]
    longest = summary.split()[-1]
    slow = stdout.replace(summary, summary.replace(longest, "3000.319"))
    read = TOOL.read(trial(), workload(**LARGE), slow)
    assert [caution.code for caution in read.cautions] == ["clipped-latency"]
    assert TOOL.read(trial(), workload(**LARGE), stdout).cautions == ()


def test_progress_tells_the_rate_of_now() -> None:
    line = " SET: rps=2785.2 (overall: 8345.1) avg_msec=4.565 (overall: 1.635)"
    assert TOOL.parse_progress(line) == ProgressLine(elapsed_s=None, tps_per_s=2785.2)
    assert TOOL.parse_progress("====== SET ======") is None


def test_the_pace_of_a_warm_up_is_that_of_its_last_line() -> None:
    first = " SET: rps=0.0 (overall: -nan) avg_msec=-nan (overall: -nan)"
    cut_short = f"{first}\r SET: rps=100.0 (overall: 90.0) avg_msec=1.0 (overall: 1.0)\r"
    cut_short += " SET: rps=300.0 (overall: 200.0) avg_msec=1.0 (overall: 1.0)"
    assert TOOL.rate_per_s(cut_short) == pytest.approx(200.0)
    assert TOOL.rate_per_s(first) == 0
    assert TOOL.rate_per_s("") == 0
