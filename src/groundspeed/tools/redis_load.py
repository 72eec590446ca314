"""redis-benchmark as a load tool among others: `load_tool.LoadTool` in its terms.

It makes so many requests and not so many seconds of them; how many follows from the pace, unless
the workload says. A request is what the house calls a transaction. It keeps no log, so latencies
are those it sums up itself.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, unquote, urlsplit

from groundspeed.record import Caution
from groundspeed.tools import redis_benchmark, redis_report
from groundspeed.tools.load_tool import LoadTotals, ProgressLine, ToldLatency
from groundspeed.tools.redis_benchmark import Address, Options, Tls

if TYPE_CHECKING:
    from groundspeed.plan import Command, Trial, WorkloadPlan
    from groundspeed.tools.load_tool import Pace
    from groundspeed.tools.redis_report import Result

AUTO = "auto"
_DEFAULT_PORT = 6379
# Where nothing is known of the pace: of the order of a slow disk's writes, so that a trial of
# seconds does not become one of minutes.
_UNKNOWN_RATE_PER_S = 1000.0
# More than any server makes in a warm-up, which is ended from outside.
_ENDLESS_COUNT = 2_000_000_000
_SEPARATORS = re.compile(r"[\r\n]+")


class RedisLoad:
    """Implements `LoadTool`."""

    program = redis_benchmark.PROGRAM
    keeps_log = False
    # Two of its progress lines, of which there are four a second.
    tells_rate_after_s = 0.6

    def warm_up_command(self, trial: Trial, workload: WorkloadPlan, *, conninfo: str) -> Command:
        """Command of a trial's warm-up: the same load without an end."""
        return redis_benchmark.command(
            _options(trial, workload, _ENDLESS_COUNT), address_of(conninfo)
        )

    def command(
        self, trial: Trial, workload: WorkloadPlan, *, conninfo: str, pace: Pace
    ) -> Command:
        """Command of the measured part: as many requests as the pace makes in its time."""
        options = _options(trial, workload, _request_count(trial, workload, pace))
        return redis_benchmark.command(options, address_of(conninfo))

    def log_share_ratio(self, trial: Trial, pace: Pace) -> float:
        """All of it: there is no log, and its own sums leave nothing out."""
        del trial, pace
        return 1.0

    def expected_s(self, trial: Trial, workload: WorkloadPlan, pace: Pace) -> float:
        """Time of its requests at the pace."""
        rate_per_s = pace.rate_per_s or _UNKNOWN_RATE_PER_S
        return _request_count(trial, workload, pace) / rate_per_s

    def read(self, trial: Trial, workload: WorkloadPlan, stdout: str) -> LoadTotals:
        """Read its report. Raises ValueError that says what it lacks, or what the server refused.

        How many requests were asked for is not known here, so their number is only read.
        """
        results = redis_report.parse(stdout)
        if len(results) != 1:
            raise ValueError(f"redis-benchmark reported {len(results)} tests, one was asked for")
        (result,) = results
        if result.request_count is None:
            raise ValueError("redis-benchmark told no number of requests")
        options = _options(trial, workload, result.request_count)
        return LoadTotals(
            transaction_count=result.request_count,
            tps_per_s=result.rate_per_s,
            differences=redis_report.mismatches(options, results),
            latency=_latency(result),
            cautions=_cautions(result),
        )

    def rate_per_s(self, stdout: str) -> float:
        """Rate of its last progress line, since its start."""
        told = [redis_benchmark.parse_progress(part) for part in _SEPARATORS.split(stdout)]
        return next((line.overall_rate_per_s for line in reversed(told) if line is not None), 0.0)

    def parse_progress(self, line: str) -> ProgressLine | None:
        """Read a line of its standard output; it does not tell the time."""
        told = redis_benchmark.parse_progress(line)
        if told is None:
            return None
        rate_per_s = told.overall_rate_per_s if told.rate_per_s is None else told.rate_per_s
        return ProgressLine(elapsed_s=None, tps_per_s=rate_per_s)

    def error_line(self, stderr: str) -> str:
        """Pick the line that says what went wrong; may be empty."""
        return redis_benchmark.error_line(stderr)


def address_of(url: str) -> Address:
    """Read the URL of a server: unix:///path, redis://user@host:port, or rediss:// for TLS.

    A user in it says that there is a password too, which is never in it. TLS takes ssl_ca_certs,
    ssl_certfile and ssl_keyfile behind a question mark. Raises ValueError for another scheme.
    """
    parts = urlsplit(url)
    user = unquote(parts.username) if parts.username else None
    if parts.scheme == "unix":
        return Address(socket=unquote(parts.path), user=user, has_password=user is not None)
    if parts.scheme not in {"redis", "rediss"}:
        raise ValueError(f"{parts.scheme or url}: a server's URL starts with redis://")
    asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
    tls = None
    if parts.scheme == "rediss":
        tls = Tls(
            ca_file=asked.get("ssl_ca_certs"),
            certificate_file=asked.get("ssl_certfile"),
            key_file=asked.get("ssl_keyfile"),
            server_name=parts.hostname,
        )
    return Address(
        host=parts.hostname or "127.0.0.1",
        port=parts.port or _DEFAULT_PORT,
        tls=tls,
        user=user,
        has_password=user is not None,
    )


def _options(trial: Trial, workload: WorkloadPlan, request_count: int) -> Options:
    load = dict(workload.load)
    threads = trial.cell.threads
    return Options(
        tests=(load["test"],),
        request_count=request_count,
        client_count=trial.cell.clients,
        payload_bytes=int(load["payload_bytes"]),
        pipeline_count=int(load["pipeline"]),
        keyspace_count=int(load["keyspace"]) or None,
        # One thread is the loop that needs none.
        thread_count=threads if threads > 1 else 0,
        keep_alive=load["keep_alive"] == "1",
        precision_digits=3,
    )


def _request_count(trial: Trial, workload: WorkloadPlan, pace: Pace) -> int:
    load = dict(workload.load)
    if load["requests"] != AUTO:
        return int(load["requests"])
    rate_per_s = trial.rate_per_s or pace.rate_per_s or _UNKNOWN_RATE_PER_S
    # Fewer, and some clients would send none.
    least = trial.cell.clients * int(load["pipeline"])
    return max(least, round(rate_per_s * trial.duration_s))


def _latency(result: Result) -> ToldLatency | None:
    told = (result.mean_s, result.min_s, result.max_s)
    mean_s, min_s, max_s = told
    if mean_s is None or min_s is None or max_s is None:
        return None
    steps = ((0.0, 0), *result.distribution)
    quantiles = ((0.5, result.p50_s), (0.95, result.p95_s), (0.99, result.p99_s))
    return ToldLatency(
        mean_s=mean_s,
        min_s=min_s,
        max_s=max_s,
        quantiles=tuple((q, value_s) for q, value_s in quantiles if value_s is not None),
        distribution=tuple(
            (upper_s, behind - before)
            for (_, before), (upper_s, behind) in itertools.pairwise(steps)
        ),
    )


def _cautions(result: Result) -> tuple[Caution, ...]:
    if not result.is_clipped:
        return ()
    limit_s = redis_benchmark.LONGEST_LATENCY_S
    return (
        Caution(
            code="clipped-latency",
            message=f"redis-benchmark counts what takes longer as {limit_s:g} s: the mean and the"
            " highest percentiles are too low",
        ),
    )
