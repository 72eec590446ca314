"""What a real pgbench wrote, imported, is what a run of our own would have recorded of it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest

from groundspeed import store
from groundspeed.cli.main import main
from groundspeed.measurement import judge
from groundspeed.plan import Cell, Trial, WorkloadPlan
from groundspeed.ports import LoadResult
from groundspeed.record import Measured
from groundspeed.targets import installation, process
from groundspeed.targets.log_reading import LogFollower
from groundspeed.tools import pgbench
from groundspeed.tools.load_tool import Pace
from groundspeed.tools.pgbench_load import PgbenchLoad
from tests.small_runs import Place, embedded, needs, plan_of, suite_of

if TYPE_CHECKING:
    from pathlib import Path

    from groundspeed.record import Record, SecondRow
    from tests.server.given import Given

SCALE = 1
WRITES = WorkloadPlan(name="tpcb-like", writes=True)


class Wrote(NamedTuple):
    """What pgbench left behind: its output in a file, and its log files."""

    directory: Path
    stdout: str
    report: Path
    logs: tuple[Path, ...]


def trial(*, threads: int = 1, rate_per_s: float | None = None, max_tries: int = 1) -> Trial:
    return Trial(
        trial_id="t",
        block_index=0,
        repeat_index=0,
        cell=Cell(
            environment="mine", workload="tpcb-like", clients=2, threads=threads, scale=SCALE
        ),
        duration_s=2,
        warm_up_s=0.0,
        protocol="prepared",
        rate_per_s=rate_per_s,
        max_tries=max_tries,
        random_seed=7,
    )


def pgbench_here(given: Given, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [installation.find(16).program("pgbench"), *arguments],
        cwd=cwd,
        env={**os.environ, "PGPASSWORD": given.password},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def conninfo(given: Given, tmp_path_factory: pytest.TempPathFactory) -> str:
    given.create_database("bench")
    conninfo = given.dsn(dbname="bench")
    pgbench_here(
        given,
        *pgbench.initialise(conninfo, scale=SCALE).arguments,
        cwd=tmp_path_factory.mktemp("i"),
    )
    return conninfo


def run_pgbench(given: Given, conninfo: str, asked: Trial, directory: Path) -> Wrote:
    command = pgbench.command(asked, WRITES, conninfo=conninfo)
    stdout = pgbench_here(given, *command.arguments, cwd=directory)
    report = directory / "out.txt"
    report.write_text(stdout)
    logs = tuple(sorted(directory.glob(f"{pgbench.LOG_PREFIX}.*")))
    return Wrote(directory, stdout, report, logs)


def as_recorded(wrote: Wrote, asked: Trial) -> tuple[Measured, list[SecondRow]]:
    """Take report and log as a run does; the reader eats the log."""
    reader = LogFollower(wrote.directory, asked)
    try:
        totals = reader.finish()
    finally:
        process.end(reader.process)
    result = LoadResult(returncode=0, stdout=wrote.stdout, stderr="", elapsed_s=2.0, log=totals)
    pace = Pace(rate_per_s=0.0, cpu_count=2)
    judged = judge(PgbenchLoad(), asked, WRITES, result, pace=pace)
    assert isinstance(judged.outcome, Measured), judged.outcome
    # Whole seconds alone, as a run keeps them: a line of another thread may come before second 0.
    return judged.outcome, [row for row in reader.seconds if 0 <= row.index < asked.duration_s]


def imported(results: Path, *arguments: str) -> tuple[Record, tuple[SecondRow, ...]]:
    assert main(["import", *arguments, "--into", str(results)]) == 0
    (plan,) = results.glob("*/plan.json")
    run = store.read_run(plan.parent)
    (record,) = run.records
    return record, run.seconds[record.trial.trial_id]


@pytest.mark.parametrize(
    ("asked", "more"),
    [
        (trial(), ()),
        (trial(threads=2), ()),
        (trial(rate_per_s=50.0), ("--rate", "50")),
        (trial(rate_per_s=50.0, max_tries=3), ("--rate", "50")),
    ],
    ids=["plain", "threads", "rate", "retries"],
)
def test_report_and_log_give_the_figures_of_a_run(
    given: Given, conninfo: str, tmp_path: Path, asked: Trial, more: tuple[str, ...]
) -> None:
    wrote = run_pgbench(given, conninfo, asked, tmp_path)
    assert len(wrote.logs) == asked.cell.threads
    record, seconds = imported(
        tmp_path / "runs", str(wrote.report), *map(str, wrote.logs), "--as", "mine", *more
    )
    expected, rows = as_recorded(wrote, asked)
    assert record.outcome == expected
    if asked.cell.threads == 1:
        # Second 0 begins with the first line that is read: of several logs, either one's.
        assert list(seconds) == rows
    assert record.trial.cell == asked.cell
    assert (record.trial.duration_s, record.trial.protocol, record.trial.rate_per_s) == (
        asked.duration_s,
        asked.protocol,
        asked.rate_per_s,
    )


def test_the_log_of_another_pgbench_is_refused(
    given: Given, conninfo: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = run_pgbench(given, conninfo, trial(), tmp_path / "one")
    two = run_pgbench(given, conninfo, trial(), tmp_path / "two")
    code = main(["import", str(one.report), *map(str, two.logs), "--into", str(tmp_path / "runs")])
    assert code != 0
    assert "the transaction log has" in capsys.readouterr().err
    assert not list(tmp_path.glob("runs/*/plan.json"))


def test_what_a_run_kept_of_pgbench_says_what_the_run_says(place: Place, tmp_path: Path) -> None:
    needs(16)
    made = plan_of(suite_of({"here": embedded(place.storage)}, probes="off"))
    (own,) = place.measure(made)
    assert isinstance(own.outcome, Measured), own.outcome
    (kept,) = place.results.glob("*/raw/*.stdout.txt")
    record, seconds = imported(tmp_path / "runs", str(kept), "--as", "here")
    assert isinstance(record.outcome, Measured)
    for figure in msgspec.structs.fields(Measured):
        # All but what only its log has; without a failure there is none of either kind.
        if figure.name not in {"latency", "histogram", "log_sampling_ratio"}:
            assert getattr(record.outcome, figure.name) == getattr(own.outcome, figure.name)
    # pgbench's own mean has three digits behind the millisecond's point.
    assert record.outcome.latency.mean_s == pytest.approx(own.outcome.latency.mean_s, abs=5.1e-6)
    assert seconds == ()
    assert record.trial.cell == own.trial.cell
    imported_from = record.provenance.imported
    assert imported_from is not None
    assert own.provenance.server is not None
    assert dict(imported_from.facts)["PostgreSQL"] == own.provenance.server.version
