"""redis-benchmark's command line and reports, against captured output of its versions."""

from __future__ import annotations

import itertools
import re

import msgspec
import pytest

from groundspeed.tools import redis_benchmark, redis_report
from groundspeed.tools.redis_benchmark import Address, Options, Tls
from tests.golden import redis_output

SOCKET = Address(socket="SOCKET")
PUBLISHED = Options(
    tests=("set", "get", "ping"), request_count=50_000, client_count=20, payload_bytes=180_000
)
MODERN = ("7.0.15", "8.0-m01", "valkey-8.0.1")
SERVED = [n for n in redis_output.NAMES if n.endswith(("-text", "-csv", "-quiet", "-large"))]
REFUSED = {
    "no-server": "Could not connect to",
    "no-password": "NOAUTH",
    "wrong-password": "WRONGPASS",
    "out-of-memory": "OOM command not allowed",
    "misconf": "MISCONF",
}


def options_of(**changes: object) -> Options:
    return msgspec.structs.replace(PUBLISHED, **changes)


def arguments_of(address: Address = SOCKET, **changes: object) -> tuple[str, ...]:
    return redis_benchmark.command(options_of(**changes), address).arguments


def results_of(name: str) -> tuple[redis_report.Result, ...]:
    return redis_report.parse(redis_output.read(name).stdout)


def test_the_published_command() -> None:
    assert redis_benchmark.command(PUBLISHED, SOCKET).argv == (
        *("redis-benchmark", "-s", "SOCKET", "-n", "50000", "-c", "20", "-d", "180000"),
        *("-k", "1", "-P", "1", "-t", "set,get,ping"),
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"pipeline_count": 16}, ("-P", "16")),
        ({"keyspace_count": 375_795}, ("-r", "375795")),
        ({"thread_count": 2}, ("--threads", "2")),
        ({"keep_alive": False}, ("-k", "0")),
        ({"precision_digits": 4}, ("--precision", "4")),
    ],
)
def test_an_option_with_a_value(changes: dict[str, object], expected: tuple[str, str]) -> None:
    assert expected in set(itertools.pairwise(arguments_of(**changes)))


def test_options_that_were_not_asked_for_are_left_out() -> None:
    assert not {"-r", "--threads", "--precision", "--csv", "-a", "--user", "--tls", "-h"} & set(
        arguments_of()
    )
    assert "--csv" in arguments_of(is_csv=True)


def test_a_password_is_never_in_the_command() -> None:
    address = Address(host="cache.example", port=6380, user="bench", has_password=True)
    arguments = arguments_of(address)
    assert arguments[:8] == (
        *("-h", "cache.example", "-p", "6380", "--user", "bench"),
        *("-a", "@REDISCLI_AUTH"),
    )


def test_tls() -> None:
    tls = Tls(ca_file="ca.pem", certificate_file="c.pem", key_file="k.pem", server_name="cache")
    assert arguments_of(Address(tls=tls))[4:13] == (
        *("--tls", "--sni", "cache", "--cacert", "ca.pem", "--cert", "c.pem", "--key", "k.pem"),
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tests": ("set", "gte")}, "no test gte"),
        ({"tests": ()}, "no test at all"),
        ({"request_count": 2**31}, "between 1 and"),
        ({"client_count": 0}, "between 1 and"),
        ({"request_count": 19}, "fewer requests than clients"),
        ({"payload_bytes": 0}, "payload"),
    ],
)
def test_what_redis_benchmark_would_silently_change_is_refused(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        redis_benchmark.command(options_of(**changes), SOCKET)


@pytest.mark.parametrize(
    ("printed", "version"),
    [("redis-benchmark 7.0.15\n", (7, 0, 15)), ("valkey-benchmark 8.0.1\n", (8, 0, 1))],
)
def test_the_version(printed: str, version: tuple[int, ...]) -> None:
    assert redis_benchmark.parse_version(printed) == version
    assert version >= redis_benchmark.LEAST_VERSION


@pytest.mark.parametrize("name", SERVED)
def test_a_report_has_all_tests_and_does_what_was_asked(name: str) -> None:
    argv = redis_output.read(name).argv
    asked = options_of(
        request_count=int(argv[argv.index("-n") + 1]),
        payload_bytes=int(argv[argv.index("-d") + 1]),
        is_csv="--csv" in argv,
    )
    results = results_of(name)
    assert [result.test for result in results][2:] == ["SET", "GET"]
    assert redis_report.mismatches(asked, results) == ()
    assert all(result.rate_per_s > 0 for result in results)


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("kind", ["text", "large"])
def test_a_distribution_fits_its_summary(version: str, kind: str) -> None:
    for result in results_of(f"{version}-{kind}"):
        latencies, counts = zip(*result.distribution, strict=True)
        assert list(latencies) == sorted(set(latencies))
        assert list(counts) == sorted(set(counts))
        assert counts[-1] == result.request_count
        assert result.max_s is not None
        assert result.p50_s is not None
        assert result.p99_s is not None
        assert latencies[-1] == pytest.approx(result.max_s)
        below = max((n for s, n in result.distribution if s <= result.p50_s), default=0)
        assert below <= counts[-1] * 0.51 + 1 or result.p50_s >= latencies[0]
        first = next(s for s, n in result.distribution if n >= counts[-1] * 0.5)
        assert result.p50_s <= first + 1e-9
        assert result.p50_s <= result.p99_s <= result.max_s


def test_every_figure_of_a_report() -> None:
    (result,) = results_of("7.0.15-threads")
    assert msgspec.structs.replace(result, distribution=()) == redis_report.Result(
        test="SET",
        rate_per_s=15847.86,
        mean_s=pytest.approx(0.004506),
        min_s=pytest.approx(0.000024),
        p50_s=pytest.approx(0.003591),
        p95_s=pytest.approx(0.015727),
        p99_s=pytest.approx(0.022687),
        max_s=pytest.approx(0.029343),
        request_count=20_000,
        duration_s=1.26,
        client_count=20,
        payload_bytes=100,
        keep_alive=True,
        thread_count=2,
    )
    assert result.distribution[0] == (pytest.approx(0.000031), 12)


def test_the_table_and_the_text_have_the_same_figures() -> None:
    (row,) = redis_report.parse(
        '"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms",'
        '"p99_latency_ms","max_latency_ms"\n'
        '"SET","1275.00","14.390","0.500","9.000","50.000","102.530","250.000"\n'
    )
    assert (row.rate_per_s, row.mean_s, row.p99_s) == (
        1275.0,
        pytest.approx(0.01439),
        pytest.approx(0.10253),
    )
    assert not row.is_clipped


def test_latencies_beyond_what_is_told_apart_are_known() -> None:
    assert redis_report.Result(test="SET", rate_per_s=1.0, max_s=3.000319).is_clipped
    assert not redis_report.Result(test="SET", rate_per_s=1.0).is_clipped


@pytest.mark.parametrize("version", MODERN)
@pytest.mark.parametrize("kind", REFUSED)
def test_a_refusal_is_no_result_and_is_told_in_the_servers_words(version: str, kind: str) -> None:
    output = redis_output.read(f"{version}-{kind}")
    assert output.returncode == 1
    with pytest.raises(ValueError, match="redis-benchmark"):
        redis_report.parse(output.stdout)
    assert redis_benchmark.error_line(output.stderr, output.stdout).startswith(REFUSED[kind])


@pytest.mark.parametrize("kind", ["wrong-password", "no-password", "out-of-memory", "misconf"])
def test_version_5_shows_why_it_is_refused(kind: str) -> None:
    output = redis_output.read(f"5.0.14-{kind}")
    # Every request was refused, and nothing in the output tells.
    assert output.returncode == 0
    assert redis_report.parse(output.stdout)[0].rate_per_s > 0
    assert redis_benchmark.LEAST_VERSION > (5, 0, 14)


def test_errors_that_version_5_prints_among_its_figures_are_seen() -> None:
    torn = "SET: 0.00\rError from server: OOM command not allowed\n====== SET ======\n"
    with pytest.raises(ValueError, match="OOM command not allowed"):
        redis_report.parse(torn + "100.00% <= 1 milliseconds\n5000.00 requests per second\n")


@pytest.mark.parametrize("version", MODERN)
def test_a_torn_report_is_refused_wherever_it_is_torn(version: str) -> None:
    stdout = redis_output.read(f"{version}-text").stdout
    start = stdout.index("====== GET")
    end = stdout.index("min       p50", start)
    for cut in range(start, end, 97):
        with pytest.raises(ValueError, match="GET"):
            redis_report.parse(stdout[:cut])


def test_a_torn_row_is_refused() -> None:
    stdout = redis_output.read("7.0.15-csv").stdout
    with pytest.raises(ValueError, match="GET"):
        redis_report.parse(stdout[: stdout.rindex(",")])


def test_what_is_no_number_is_refused() -> None:
    stdout = redis_output.read("7.0.15-text").stdout
    with pytest.raises(ValueError, match="-nan"):
        redis_report.parse(re.sub(r"summary: [\d.]+", "summary: -nan", stdout))


@pytest.mark.parametrize(
    ("changes", "phrase"),
    [
        ({"tests": ("set", "lpush")}, "asked lpush, redis-benchmark did not run it"),
        ({"client_count": 10}, "SET: clients: asked 10, redis-benchmark did 20"),
        ({"thread_count": 2}, "SET: threads: asked 2, redis-benchmark did 0"),
    ],
)
def test_a_difference_is_told(changes: dict[str, object], phrase: str) -> None:
    asked = options_of(**{"request_count": 5000, **changes})
    assert phrase in redis_report.mismatches(asked, results_of("7.0.15-large"))


def test_progress() -> None:
    parts = re.split(r"[\r\n]", redis_output.read("7.0.15-threads").stdout)
    lines = [line for part in parts if (line := redis_benchmark.parse_progress(part))]
    # The first one, of no time at all, tells nothing.
    assert len(lines) == 4
    assert lines[1] == redis_benchmark.ProgressLine(
        test="SET",
        rate_per_s=23448.8,
        mean_s=pytest.approx(0.003283),
        overall_rate_per_s=22695.1,
        overall_mean_s=pytest.approx(0.003254),
    )


def test_progress_of_version_5() -> None:
    line = redis_benchmark.parse_progress("LPUSH (needed to benchmark LRANGE): 2011.36")
    assert line is not None
    assert (line.test, line.rate_per_s, line.overall_rate_per_s) == ("LPUSH", None, 2011.36)


@pytest.mark.parametrize("text", ["", "SET: -nan", "  keep alive: 1", "SET: rps=0.0"])
def test_what_is_no_progress(text: str) -> None:
    assert redis_benchmark.parse_progress(text) is None
