from __future__ import annotations

import hashlib
import json
import math

import msgspec
import pytest

from groundspeed import plan as plans
from groundspeed import published, record
from groundspeed.analyse import analyse
from groundspeed.errors import UsageError
from groundspeed.importing import (
    ImportedRun,
    OutputOptions,
    PastLoad,
    of_outputs,
    of_publication,
    run_records,
)
from groundspeed.plan import Cell
from groundspeed.record import ImportKind, LogTotals, Measured, Record
from groundspeed.stats import histogram
from groundspeed.tools import pgbench
from groundspeed.tools.pgbench_capture import reports
from tests.golden import pgbench_output
from tests.unit.test_published import SMALL

WHOLE = tuple(name for name in pgbench_output.NAMES if not name.endswith("aborted"))
PLAIN = OutputOptions()


def load(name: str, *, log: LogTotals | None = None) -> PastLoad:
    text = pgbench_output.read(name).stdout
    (captured,) = reports(text, f"{name}.txt")
    return PastLoad(
        captured=captured,
        file=f"{name}.txt",
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        file_at="2026-01-31T12:00:00.000+00:00",
        log=log,
    )


def measured(found: Record) -> Measured:
    assert isinstance(found.outcome, Measured)
    return found.outcome


def log_of(name: str, *, missing: int = 0) -> LogTotals:
    """A log of as many lines as the report counts, less those that are missing."""
    counts = pgbench_output.read(name).counts
    count = counts["ok"] - missing
    return LogTotals(
        count=count,
        failed=counts.get("serialization", 0),
        serialization=counts.get("serialization", 0),
        deadlock=0,
        skipped=counts.get("skipped", 0),
        retried=0,
        retries=0,
        sum_us=count * 500,
        sum_squares_us2=count * 500**2,
        min_us=500,
        max_us=500,
        first_us=1_767_225_600_000_000,
        last_us=1_767_225_602_000_000,
        malformed=0,
        out_of_range=0,
        late=0,
        punch_failures=0,
        bytes=0,
        histogram=histogram.from_values([500] * count),
    )


def published_run(name: str = "small", **more: object) -> ImportedRun:
    content = json.dumps({**SMALL, **more}).encode()
    publication = published.parse(content, name="small.json")
    return of_publication(publication, content, name=name, file="small.json")


def options(name: str) -> OutputOptions:
    return OutputOptions(rate_per_s=9000.0 if name.endswith("rate") else None)


@pytest.mark.parametrize("name", WHOLE)
def test_a_report_becomes_a_record_with_its_figures(name: str) -> None:
    report = pgbench.parse(pgbench_output.read(name).stdout)
    (found,) = of_outputs("mine", [load(name)], options(name)).records
    outcome = measured(found)
    assert outcome.tps_per_s == report.tps_per_s
    assert outcome.transaction_count == report.transaction_count
    assert outcome.failed_count == report.failed_count
    assert outcome.latency.mean_s == report.latency_average_s
    assert found.trial.cell == Cell(
        environment="mine",
        workload=pgbench.workload_of(report.transaction_type) or "",
        clients=report.clients,
        threads=report.threads,
        scale=report.scale,
    )
    assert (found.trial.duration_s, found.trial.protocol) == (2, report.query_mode)


@pytest.mark.parametrize("name", WHOLE)
def test_without_a_log_percentiles_are_absent_and_not_zero(name: str) -> None:
    (found,) = of_outputs("mine", [load(name)], options(name)).records
    outcome = measured(found)
    assert (outcome.histogram.count, outcome.log_sampling_ratio) == (0, 0.0)
    assert math.isnan(outcome.latency.p99_s)
    line = record.encode(found)
    latency = json.loads(line)["outcome"]["latency"]
    assert latency["p99_s"] is None
    again = record.decode(line)
    assert math.isnan(measured(again).latency.p99_s)
    assert record.encode(again) == line
    assert "no-log" in {caution.code for caution in found.cautions}


def test_details_of_failures_are_those_of_the_report() -> None:
    (found,) = of_outputs("mine", [load("16-retries")], PLAIN).records
    outcome = measured(found)
    assert (outcome.failed_count, outcome.serialization_failure_count) == (5327, 5327)
    plain = load("16-retries")
    report = msgspec.structs.replace(
        plain.captured.report, serialization_failure_count=None, deadlock_failure_count=None
    )
    captured = msgspec.structs.replace(plain.captured, report=report)
    silent = msgspec.structs.replace(plain, captured=captured)
    (found,) = of_outputs("mine", [silent], PLAIN).records
    assert measured(found).serialization_failure_count is None


@pytest.mark.parametrize("name", ["13-plain", "15-plain", "16-retries", "18-rate"])
def test_with_its_log_a_report_has_percentiles(name: str) -> None:
    (found,) = of_outputs("mine", [load(name, log=log_of(name))], options(name)).records
    outcome = measured(found)
    assert outcome.latency.p99_s == pytest.approx(500e-6, rel=0.01)
    assert outcome.log_sampling_ratio == 1
    assert found.started_at == "2026-01-01T00:00:00.000+00:00"
    assert {"no-log", "no-date"}.isdisjoint(caution.code for caution in found.cautions)


def test_the_log_of_another_run_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        of_outputs("mine", [load("15-plain", log=log_of("15-plain", missing=1))], PLAIN)
    assert "15-plain.txt: report at line 2: the transaction log has" in caught.value.message


def test_a_sampled_log_is_held_against_what_its_owner_says() -> None:
    past = load("16-sampled", log=log_of("16-sampled"))
    (found,) = of_outputs("mine", [past], OutputOptions(sampling_ratio=0.05)).records
    assert measured(found).log_sampling_ratio == 0.05
    assert "sampled-log" in {caution.code for caution in found.cautions}
    for wrong in (1.0, 0.2):
        with pytest.raises(UsageError, match="log"):
            of_outputs("mine", [past], OutputOptions(sampling_ratio=wrong))


def test_a_rate_has_to_be_told() -> None:
    with pytest.raises(UsageError, match="kept to a rate and does not tell which"):
        of_outputs("mine", [load("15-rate")], PLAIN)
    (found,) = of_outputs("mine", [load("15-rate")], OutputOptions(rate_per_s=9000.0)).records
    assert (found.trial.rate_per_s, found.trial.latency_limit_s) == (9000.0, 0.4e-3)
    lag = measured(record.decode(record.encode(found))).schedule_lag
    assert lag is not None
    assert lag.mean_s == pytest.approx(75e-6)
    assert math.isnan(lag.p99_s)
    with pytest.raises(UsageError, match="--rate, but this pgbench kept to none"):
        of_outputs("mine", [load("15-plain")], OutputOptions(rate_per_s=1.0))


def with_type(past: PastLoad, transaction_type: str) -> PastLoad:
    report = msgspec.structs.replace(past.captured.report, transaction_type=transaction_type)
    captured = msgspec.structs.replace(past.captured, report=report)
    return msgspec.structs.replace(past, captured=captured)


@pytest.mark.parametrize(
    ("transaction_type", "workload"),
    [
        ("<builtin: TPC-B (sort of)>", "tpcb-like"),
        ("<builtin: simple update>", "simple-update"),
        ("<builtin: select only>", "select-only"),
        ("/home/me/orders.sql", "orders"),
        ("orders", "orders"),
        # Not what pgbench itself calls so.
        ("select-only.sql", "select-only.sql"),
    ],
)
def test_workloads_are_called_as_in_suites(transaction_type: str, workload: str) -> None:
    past = with_type(load("15-plain"), transaction_type)
    (found,) = of_outputs("mine", [past], PLAIN).records
    assert found.trial.cell.workload == workload


@pytest.mark.parametrize("transaction_type", ["multiple scripts", "<builtin: new one>"])
def test_a_workload_that_is_not_told_is_asked_for(transaction_type: str) -> None:
    past = with_type(load("15-plain"), transaction_type)
    with pytest.raises(UsageError, match="unknown workload"):
        of_outputs("mine", [past], PLAIN)
    (found,) = of_outputs("mine", [past], OutputOptions(workload="mix")).records
    assert found.trial.cell.workload == "mix"


def test_a_run_of_so_many_transactions_has_no_duration() -> None:
    past = load("15-plain")
    report = msgspec.structs.replace(past.captured.report, duration_s=None)
    captured = msgspec.structs.replace(past.captured, report=report)
    (found,) = of_outputs("m", [msgspec.structs.replace(past, captured=captured)], PLAIN).records
    assert found.trial.duration_s == 0
    assert found.elapsed_s == pytest.approx(report.transaction_count / report.tps_per_s)
    assert found.provenance.imported is not None
    assert ("duration", f"{report.transaction_count} transactions") in (
        found.provenance.imported.facts
    )


def test_reports_of_one_cell_are_repeats_and_no_block_is_invented() -> None:
    found = of_outputs("mine", [load("16-plain"), load("15-plain"), load("18-plain")], PLAIN)
    trials = [each.trial for each in found.records]
    assert [trial.repeat_index for trial in trials] == [0, 1, 2]
    assert len({trial.block_index for trial in trials}) == 3
    assert len({trial.trial_id for trial in trials}) == 3
    assert found.plan.trials == tuple(trials)


def test_a_copy_of_a_report_is_no_repeat() -> None:
    again = msgspec.structs.replace(load("16-plain"), file="copy.txt")
    with pytest.raises(UsageError) as caught:
        of_outputs("mine", [load("16-plain"), again], PLAIN)
    assert caught.value.message == (
        "copy.txt: report at line 2: the same to the last digit as 16-plain.txt: report at line 2"
    )


def test_tries_without_end_are_told() -> None:
    past = load("16-retries")
    report = msgspec.structs.replace(past.captured.report, max_tries=None)
    captured = msgspec.structs.replace(past.captured, report=report)
    (found,) = of_outputs("m", [msgspec.structs.replace(past, captured=captured)], PLAIN).records
    (old,) = of_outputs("m", [load("14-plain")], PLAIN).records
    for record_, is_told in ((found, True), (old, False)):
        assert record_.provenance.imported is not None
        assert (("max tries", "unlimited") in record_.provenance.imported.facts) is is_told


def test_the_plan_can_be_read_again_and_is_known_for_what_it_is() -> None:
    found = of_outputs("mine", [load("16-plain")], PLAIN)
    again = plans.decode(plans.encode(found.plan), source="plan.json")
    assert again == found.plan
    assert again.is_imported
    assert again.suite["imported"] == [
        {"file": "16-plain.txt", "sha256": load("16-plain").sha256},
    ]


def test_where_a_record_comes_from_rides_on_it() -> None:
    (found,) = of_outputs("mine", [load("18-plain")], PLAIN).records
    imported = found.provenance.imported
    assert imported is not None
    assert (imported.kind, imported.file) == (ImportKind.PGBENCH_OUTPUT, "18-plain.txt")
    assert found.provenance.tool_version == "18.4"
    assert ("PostgreSQL", "18.4") in imported.facts
    assert {"storage", "CPU", "memory", "warm-up"} == set(imported.unknown)
    (found,) = of_outputs("mine", [load("13-plain")], PLAIN).records
    assert found.provenance.imported is not None
    assert {"PostgreSQL", "pgbench"} <= set(found.provenance.imported.unknown)


def test_a_published_figure_becomes_a_record_that_says_so() -> None:
    found = published_run()
    assert [e.name for e in found.plan.environments] == ["one (published)"]
    first, second = found.records
    assert first.trial.cell == Cell(
        environment="one (published)", workload="tpcb-like", clients=1, threads=4, scale=100
    )
    assert measured(first).tps_per_s == 100.5
    assert measured(first).latency.mean_s == pytest.approx(0.0099)
    assert math.isnan(measured(second).latency.mean_s)
    assert measured(first).transaction_count is None
    imported = first.provenance.imported
    assert imported is not None
    assert imported.is_published
    assert (imported.author, imported.date, imported.url) == (
        "A. Body",
        "2026-01-31",
        "https://example.org/table",
    )
    assert imported.unknown == ("pgbench", "warm-up", "rate")
    assert first.started_at == "2026-01-31"
    again = record.decode(record.encode(second))
    assert math.isnan(measured(again).latency.mean_s)


def test_what_a_publication_leaves_open_is_named() -> None:
    content = published.content("bare-metal-vs-aws")
    run = run_records(published.publication("bare-metal-vs-aws"), content)
    assert len(run.records) == 135
    imported = run.records[0].provenance.imported
    assert imported is not None
    assert set(imported.unknown) == {
        *("PostgreSQL", "pgbench", "storage", "threads", "protocol", "warm-up", "rate"),
    }


@pytest.mark.parametrize(
    ("name", "words"), [("redis-aof", "another load tool"), ("aurora-vs-rds", "no figures in it")]
)
def test_a_publication_without_figures_of_pgbench_is_refused(name: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run_records(published.publication(name), published.content(name))


def test_an_unknown_published_workload_is_refused_until_vouched_for() -> None:
    points = [{"workload": "tpcc", "clients": 1, "tps": 1.0}]
    environments = [{"environment": "one", "points": points}]
    with pytest.raises(UsageError) as caught:
        published_run(environments=environments)
    assert caught.value.message == "small.json: unknown workload 'tpcc'"
    content = json.dumps({**SMALL, "environments": environments}).encode()
    publication = published.parse(content, name="small.json")
    found = of_publication(publication, content, name="x", file="f", workloads=["tpcc"])
    assert found.records[0].trial.cell.workload == "tpcc"


def test_a_report_over_published_figures_compares_nothing_and_says_published() -> None:
    run = run_records(published.publication("weka-vs-gp3"), published.content("weka-vs-gp3"))
    findings = analyse([run])
    assert findings.comparisons == ()
    assert all(cell.environment.endswith("(published)") for cell in findings.cells)
    assert all(cell.failed_transaction_count is None for cell in findings.cells)
    assert all(cell.p99_s.n == 0 for cell in findings.cells)
    codes = {caution.code for caution in findings.cautions}
    assert {"published", "imported-unpaired"} <= codes
    assert "not-finite" not in {note.code for note in findings.footnotes}
