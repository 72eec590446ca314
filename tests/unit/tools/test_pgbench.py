"""pgbench's command line and reports, against captured output of its versions."""

from __future__ import annotations

import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundspeed.plan import Cell, Trial, WorkloadPlan
from groundspeed.tools import pgbench
from tests.golden import pgbench_output

CONFLICT = (
    "BEGIN ISOLATION LEVEL SERIALIZABLE;\n"
    "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nEND;\n"
)
TPCB = WorkloadPlan(name="tpcb-like", writes=True)
SELECT = WorkloadPlan(name="select-only", writes=False)
MINE = WorkloadPlan(name="mine", script="SELECT 1;\n", writes=False)
RETRIED = WorkloadPlan(name="conflict", script=CONFLICT, writes=True)


def trial_of(
    *,
    workload: str = "tpcb-like",
    clients: int = 2,
    threads: int = 1,
    scale: int = 1,
    **changes: object,
) -> Trial:
    trial = Trial(
        trial_id="a.w.r1",
        block_index=0,
        repeat_index=0,
        cell=Cell(
            environment="a", workload=workload, clients=clients, threads=threads, scale=scale
        ),
        duration_s=2,
        warm_up_s=0.5,
        protocol="prepared",
        random_seed=7,
    )
    return msgspec.structs.replace(trial, **changes)


CASES: dict[str, tuple[Trial, WorkloadPlan, float]] = {
    "plain": (trial_of(threads=2), TPCB, 1.0),
    "rate": (
        trial_of(workload="select-only", clients=1, rate_per_s=9000.0, latency_limit_s=0.0004),
        SELECT,
        1.0,
    ),
    "retries": (trial_of(workload="conflict", clients=4, max_tries=2), RETRIED, 1.0),
    "script": (trial_of(workload="mine", clients=1, protocol="simple"), MINE, 1.0),
    "sampled": (trial_of(workload="select-only"), SELECT, 0.05),
    "aborted": (trial_of(workload="mine"), MINE, 1.0),
}
FINISHED = [name for name in pgbench_output.NAMES if "aborted" not in name]


def case_of(name: str) -> tuple[Trial, WorkloadPlan, float]:
    return CASES[name.partition("-")[2]]


def arguments_of(trial: Trial, workload: WorkloadPlan = TPCB, **options: float) -> tuple[str, ...]:
    return pgbench.command(
        trial, workload, conninfo="dbname=x", log_prefix="transactions", **options
    ).arguments


@pytest.mark.parametrize("name", pgbench_output.NAMES)
def test_the_command_is_the_one_that_was_captured(name: str) -> None:
    trial, workload, ratio = case_of(name)
    command = pgbench.command(
        trial,
        workload,
        conninfo="dbname=postgres",
        log_prefix="transactions",
        sampling_ratio=ratio,
    )
    assert command.argv == pgbench_output.read(name).argv
    assert command.files == ((("script.sql", workload.script),) if workload.script else ())


@pytest.mark.parametrize(
    ("trial", "expected"),
    [
        (trial_of(clients=12), ("-c", "12")),
        (trial_of(threads=2), ("-j", "2")),
        (trial_of(duration_s=60), ("-T", "60")),
        (trial_of(protocol="extended"), ("-M", "extended")),
        (trial_of(progress_s=10), ("-P", "10")),
        (trial_of(rate_per_s=0.5), ("-R", "0.5")),
        (trial_of(rate_per_s=100_000.0), ("-R", "100000")),
        (trial_of(latency_limit_s=0.05), ("-L", "50")),
    ],
)
def test_an_option_with_a_value(trial: Trial, expected: tuple[str, str]) -> None:
    arguments = arguments_of(trial)
    assert expected in set(itertools.pairwise(arguments))


def test_options_that_were_not_asked_for_are_left_out() -> None:
    arguments = arguments_of(trial_of())
    assert not {"-R", "-L", "-s", "-f", "--failures-detailed"} & set(arguments)
    assert not [a for a in arguments if a.startswith(("--max-tries", "--sampling-rate"))]
    assert arguments[0] == "-n"
    assert arguments[-1] == "dbname=x"


@pytest.mark.parametrize(
    ("trial", "asked"),
    [
        (trial_of(rate_per_s=1234567.0), 1234567.0),
        (trial_of(rate_per_s=1e7 / 60), 1e7 / 60),
        (trial_of(rate_per_s=7.0 / 3600), 7.0 / 3600),
    ],
)
def test_a_rate_reaches_pgbench_as_it_was_asked(trial: Trial, asked: float) -> None:
    arguments = arguments_of(trial)
    assert float(arguments[arguments.index("-R") + 1]) == pytest.approx(asked, rel=1e-9)


def test_retries_are_reported_in_detail() -> None:
    arguments = arguments_of(trial_of(max_tries=3))
    assert {"--max-tries=3", "--failures-detailed"} <= set(arguments)


def test_the_log_is_sampled_only_below_one() -> None:
    assert "--sampling-rate=0.25" in arguments_of(trial_of(), sampling_ratio=0.25)


def test_initialisation() -> None:
    assert pgbench.initialise("dbname=x", scale=20).argv == (
        *("pgbench", "-i", "-q", "-s", "20"),
        "dbname=x",
    )


@pytest.mark.parametrize(("warm_up_s", "typed"), [(0.2, "1"), (1.0, "1"), (1.5, "2"), (30.0, "30")])
def test_a_warm_up_is_the_same_load_for_another_time(warm_up_s: float, typed: str) -> None:
    trial = trial_of(warm_up_s=warm_up_s, duration_s=60, rate_per_s=50.0)
    warm_up = pgbench.warm_up_command(trial, TPCB, conninfo="dbname=x", log_prefix="transactions")
    expected = list(arguments_of(trial))
    expected[expected.index("-T") + 1] = typed
    assert list(warm_up.arguments) == expected


@pytest.mark.parametrize("name", FINISHED)
def test_a_finished_report_does_what_was_asked(name: str) -> None:
    trial, workload, _ = case_of(name)
    report = pgbench.parse(pgbench_output.read(name).stdout)
    assert pgbench.mismatches(trial, workload, report) == ()


@pytest.mark.parametrize("name", [n for n in FINISHED if "sampled" not in n])
def test_a_report_counts_what_its_log_holds(name: str) -> None:
    output = pgbench_output.read(name)
    report = pgbench.parse(output.stdout)
    assert report.transaction_count == output.counts["ok"]
    assert report.failed_count == output.counts.get("serialization", 0)
    assert report.skipped_count == output.counts.get("skipped", 0)


def test_every_figure_of_a_report_with_a_rate() -> None:
    assert pgbench.parse(pgbench_output.read("15-rate").stdout) == pgbench.Report(
        transaction_type="<builtin: select only>",
        scale=1,
        query_mode="prepared",
        clients=1,
        threads=1,
        duration_s=2,
        max_tries=1,
        transaction_count=17316,
        failed_count=0,
        skipped_count=644,
        over_limit_count=94,
        retried_count=0,
        retries_count=0,
        serialization_count=None,
        deadlock_count=None,
        latency_average_s=0.102 / 1000,
        latency_stddev_s=0.115 / 1000,
        schedule_lag_mean_s=0.075 / 1000,
        schedule_lag_max_s=4.017 / 1000,
        initial_connection_s=2.327 / 1000,
        tps_per_s=8667.516934,
        latency_limit_s=0.4 / 1000,
    )


def test_retries_and_failures_of_a_report() -> None:
    report = pgbench.parse(pgbench_output.read("16-retries").stdout)
    assert report.max_tries == 2
    assert (report.failed_count, report.retried_count, report.retries_count) == (5327, 10150, 10150)
    assert (report.serialization_count, report.deadlock_count) == (5327, 0)


@pytest.mark.parametrize(
    ("name", "tps", "connection_s"),
    [("13-plain", 2001.417702, None), ("14-plain", 2001.417702, pytest.approx(0.005317))],
)
def test_connecting_is_no_part_of_the_throughput(
    name: str, tps: float, connection_s: float | None
) -> None:
    report = pgbench.parse(pgbench_output.read(name).stdout)
    assert report.tps_per_s == tps
    assert report.initial_connection_s == connection_s
    assert report.max_tries is None


@pytest.mark.parametrize("name", [n for n in pgbench_output.NAMES if "aborted" in n])
def test_an_aborted_run_has_no_figures_and_says_why(name: str) -> None:
    output = pgbench_output.read(name)
    assert output.returncode != 0
    with pytest.raises(ValueError, match="lacks the line 'tps'"):
        pgbench.parse(output.stdout)
    assert "ERROR:  " in pgbench.error_line(output.stderr)


@pytest.mark.parametrize(
    "line",
    ["transaction type", "scaling factor", "query mode", "number of clients", "number of threads"],
)
def test_a_report_that_lacks_a_line_is_refused_by_name(line: str) -> None:
    lines = pgbench_output.read("16-plain").stdout.splitlines()
    text = "\n".join(one for one in lines if not one.startswith(line))
    with pytest.raises(ValueError, match=f"lacks the line '{line}'"):
        pgbench.parse(text)


@pytest.mark.parametrize(
    ("asked", "did", "phrase"),
    [
        ("number of clients: 2", "number of clients: 1", "clients: asked 2, pgbench did 1"),
        ("number of threads: 2", "number of threads: 1", "threads: asked 2, pgbench did 1"),
        ("duration: 2 s", "duration: 1 s", "duration: asked 2, pgbench did 1"),
        ("scaling factor: 1", "scaling factor: 10", "scale: asked 1, pgbench did 10"),
        ("query mode: prepared", "query mode: simple", "asked prepared, pgbench did simple"),
        ("number of tries: 1", "number of tries: 3", "max tries: asked 1, pgbench did 3"),
        ("TPC-B (sort of)", "select only", "script: asked <builtin: TPC-B (sort of)>"),
    ],
)
def test_each_difference_is_caught(asked: str, did: str, phrase: str) -> None:
    trial, workload, _ = CASES["plain"]
    stdout = pgbench_output.read("16-plain").stdout
    assert asked in stdout
    (found,) = pgbench.mismatches(trial, workload, pgbench.parse(stdout.replace(asked, did)))
    assert phrase in found


def test_several_differences_are_all_named() -> None:
    trial, workload, _ = CASES["plain"]
    report = msgspec.structs.replace(
        pgbench.parse(pgbench_output.read("16-plain").stdout), clients=9, scale=9
    )
    assert len(pgbench.mismatches(trial, workload, report)) == 2


def test_a_script_of_another_name_is_caught() -> None:
    trial, workload, _ = CASES["script"]
    report = pgbench.parse(pgbench_output.read("16-script").stdout)
    moved = msgspec.structs.replace(report, transaction_type="/some/where/script.sql")
    other = msgspec.structs.replace(report, transaction_type="other.sql")
    assert pgbench.mismatches(trial, workload, moved) == ()
    assert len(pgbench.mismatches(trial, workload, other)) == 1


def test_a_builtin_is_not_mistaken_for_a_script() -> None:
    trial, workload, _ = CASES["script"]
    report = pgbench.parse(pgbench_output.read("16-script").stdout)
    builtin = msgspec.structs.replace(report, transaction_type="<builtin: select only>")
    assert len(pgbench.mismatches(trial, workload, builtin)) == 1


rates = st.floats(min_value=0, max_value=1e8, allow_nan=False)


@given(tps=rates, threads=st.integers(1, 128), cpu_count=st.integers(1, 128))
def test_a_sample_keeps_the_cost_of_the_log_within_one_percent(
    tps: float, threads: int, cpu_count: int
) -> None:
    ratio = pgbench.sampling_ratio(tps, threads=threads, cpu_count=cpu_count)
    assert 0 < ratio <= 1
    cost = pgbench.log_cost_ratio(tps * ratio, threads=threads, cpu_count=cpu_count)
    assert cost <= pgbench.FULL_LOG_BUDGET_RATIO


@given(tps=rates, threads=st.integers(1, 64))
def test_a_sample_survives_the_command_line(tps: float, threads: int) -> None:
    ratio = pgbench.sampling_ratio(tps, threads=threads, cpu_count=64)
    arguments = arguments_of(trial_of(), sampling_ratio=ratio)
    typed = [a.partition("=")[2] for a in arguments if a.startswith("--sampling-rate")]
    assert [float(t) for t in typed] == ([ratio] if ratio < 1 else [])


def test_what_is_slow_is_logged_whole() -> None:
    assert pgbench.sampling_ratio(0.0, threads=1, cpu_count=2) == 1.0
    assert pgbench.sampling_ratio(10_000.0, threads=1, cpu_count=2) == 1.0
    assert pgbench.sampling_ratio(100_000.0, threads=1, cpu_count=2) < 0.1


def test_threads_beyond_the_cores_do_not_help() -> None:
    assert pgbench.log_cost_ratio(1e6, threads=64, cpu_count=2) == pgbench.log_cost_ratio(
        1e6, threads=2, cpu_count=64
    )


@pytest.mark.parametrize("name", FINISHED)
def test_progress_lines_of_every_version(name: str) -> None:
    lines = pgbench_output.read(name).stderr.splitlines()
    found = [p for p in map(pgbench.parse_progress, lines) if p]
    assert [p.elapsed_s for p in found] == [1.0, 2.0]
    assert all(p.tps_per_s > 0 for p in found)


@pytest.mark.parametrize("line", ["", "progress:", "pgbench: error: progress: 1.0 s", "vacuum"])
def test_other_lines_are_no_progress(line: str) -> None:
    assert pgbench.parse_progress(line) is None


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        ("", ""),
        ("progress: 1.0 s, 5.0 tps, lat 1.0 ms stddev 0.1\n", ""),
        (
            "pgbench: setting random seed to 7\npgbench: error: connection refused\n",
            "connection refused",
        ),
        ("something odd\n", "something odd"),
        (
            (
                "progress: 1.0 s, 5.0 tps, lat 1.0 ms stddev 0.1\n"
                "pgbench: error: client 0 aborted: FATAL:  terminating connection\n"
                "pgbench: error: Run was aborted; the above results are incomplete.\n"
            ),
            "client 0 aborted: FATAL:  terminating connection",
        ),
    ],
)
def test_the_telling_line_of_an_error(stderr: str, told: str) -> None:
    assert pgbench.error_line(stderr) == told
