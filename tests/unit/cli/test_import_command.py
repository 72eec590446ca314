from __future__ import annotations

import csv
import hashlib
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from groundspeed import published, store
from groundspeed.errors import ExitCode
from groundspeed.record import Measured
from groundspeed.tools import pgbench
from tests.golden import pgbench_output
from tests.unit.cli.conftest import write_run

if TYPE_CHECKING:
    from groundspeed.record import Record
    from tests.unit.cli.conftest import Groundspeed

EPOCH_S = 1_767_225_600


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def varied(count: int, tps: int = 8384) -> str:
    """As many reports of one cell, a little apart."""
    text = pgbench_output.read("16-plain").stdout
    return "".join(text.replace("tps = 8384.", f"tps = {tps}.{n}") for n in range(count))


def golden(name: str) -> str:
    return write(f"{name}.txt", pgbench_output.read(name).stdout)


def with_log(name: str = "15-plain", *, count: int = 10, extra: str = "") -> tuple[str, str]:
    """A report of so many transactions, and the log that belongs to it."""
    text = pgbench_output.read(name).stdout
    old = pgbench.parse(text).transaction_count
    report = write("out.txt", text.replace(f"processed: {old}", f"processed: {count}"))
    lines = [f"0 {n} {1000 * n} 0 {EPOCH_S + n % 2} {n}{extra}\n" for n in range(1, count + 1)]
    return report, write("pgbench_log.7", "".join(lines))


def the_run() -> Path:
    (plan,) = Path("runs").glob("*/plan.json")
    return plan.parent


def records() -> tuple[Record, ...]:
    return store.read_run(the_run()).records


def measured(record: Record) -> Measured:
    assert isinstance(record.outcome, Measured)
    return record.outcome


def test_an_output_becomes_a_run_directory(groundspeed: Groundspeed) -> None:
    done = groundspeed("import", golden("16-plain"))
    assert done.code == 0
    assert done.out == f"16-plain: 1 figure of 1 cell\n{the_run()}\n"
    assert "no transaction log: no percentiles" in done.err
    (record,) = records()
    assert measured(record).tps_per_s == 8384.89568
    raw = the_run() / "raw" / "16-plain.txt"
    assert raw.read_text() == pgbench_output.read("16-plain").stdout
    assert record.provenance.imported is not None
    assert record.provenance.imported.sha256 == hashlib.sha256(raw.read_bytes()).hexdigest()


def test_every_command_that_reads_runs_copes(groundspeed: Groundspeed) -> None:
    groundspeed("import", golden("16-plain"), golden("15-plain"), "--as", "mine")
    run_dir = str(the_run())
    for kind in ("terminal", "md", "json", "csv"):
        done = groundspeed("report", run_dir, "--format", kind)
        assert (done.code, done.errors) == (0, [])
        assert "mine" in done.out
    assert groundspeed("report", run_dir, "--format", "html").code == 0
    assert "imported from 16-plain.txt" in (the_run() / "report.html").read_text()
    assert "2/2" in groundspeed("runs").out
    assert "mine" in groundspeed("history", "runs").out
    done = groundspeed("why", run_dir)
    assert done.code == ExitCode.USAGE
    assert "no evidence was recorded" in done.errors[0]
    done = groundspeed("resume", run_dir)
    assert done.errors[0] == f"error: {run_dir}: imported, there is nothing to go on with"


def test_a_log_gives_percentiles_and_seconds(groundspeed: Groundspeed) -> None:
    report, log = with_log()
    done = groundspeed("import", report, log, "--as", "mine")
    assert (done.code, done.err) == (0, "")
    (record,) = records()
    latency = measured(record).latency
    assert latency.max_s == pytest.approx(0.010)
    assert latency.p50_s == pytest.approx(0.005, rel=0.01)
    assert latency.mean_s == pytest.approx(0.0055)
    rows = store.read_run(the_run()).seconds[record.trial.trial_id]
    assert [row.count for row in rows] == [5, 5]
    assert not (the_run() / "raw" / log).exists()


def test_columns_of_a_log_are_told_by_the_report(groundspeed: Groundspeed) -> None:
    text = pgbench_output.read("15-rate").stdout.replace("skipped: 644 (", "skipped: 0 (")
    old = pgbench.parse(text).transaction_count
    report = write("paced.txt", text.replace(f"processed: {old}", "processed: 10"))
    lines = [f"0 {n} {1000 * n} 0 {EPOCH_S} {n} {n} 1\n" for n in range(1, 11)]
    log = write("pgbench_log.9", "".join(lines))
    assert groundspeed("import", report, log, "--rate", "9000").code == 0
    outcome = measured(records()[0])
    assert outcome.schedule_lag is not None
    assert outcome.schedule_lag.max_s == pytest.approx(10e-6)


def test_reports_of_several_files_are_repeats(groundspeed: Groundspeed) -> None:
    write("one.txt", varied(2))
    write("two.txt", f"again\n{varied(1, tps=8300)}")
    done = groundspeed("import", "one.txt", "two.txt", "--as", "mine", "--json")
    assert json.loads(done.out) == {
        "run_dir": str(the_run()),
        "environments": ["mine"],
        "cell_count": 1,
        "record_count": 3,
    }
    assert sorted(path.name for path in (the_run() / "raw").iterdir()) == ["one.txt", "two.txt"]


def test_files_of_one_name_are_both_kept(groundspeed: Groundspeed) -> None:
    for number, day in enumerate(("monday", "friday")):
        Path(day).mkdir()
        write(f"{day}/ci.log", varied(1, tps=8384 + number))
    assert groundspeed("import", "monday/ci.log", "friday/ci.log").code == 0
    assert sorted(path.name for path in (the_run() / "raw").iterdir()) == ["ci-2.log", "ci.log"]


def test_the_same_file_twice_is_said(groundspeed: Groundspeed) -> None:
    groundspeed("import", golden("16-plain"))
    first = the_run()
    write("copy.txt", pgbench_output.read("16-plain").stdout)
    done = groundspeed("import", "copy.txt", "--as", "other")
    assert done.code == ExitCode.USAGE
    assert done.errors[0] == f"error: copy.txt: imported before, as {first}"
    assert the_run() == first
    assert groundspeed("import", "copy.txt", "--into", "elsewhere").code == 0


def refused(groundspeed: Groundspeed, *arguments: str) -> str:
    done = groundspeed("import", *arguments)
    assert done.code == ExitCode.USAGE
    assert len(done.errors) == 2
    assert not list(Path().glob("runs/*/plan.json"))
    return done.errors[0].removeprefix("error: ")


def test_what_is_refused_leaves_nothing_behind(groundspeed: Groundspeed) -> None:
    whole = pgbench_output.read("16-plain").stdout
    report, log = with_log()
    aggregated = f"{EPOCH_S} 5601 1542744 483552416 61 2573\n" * 3
    cases: list[tuple[tuple[str, ...], str]] = [
        ((write("empty", ""),), "empty: empty"),
        ((write("letter", "Dear all,\n"),), "letter: not pgbench's"),
        ((write("cut", whole[:200]),), "cut: report at line 2: torn"),
        ((log,), "pgbench_log.7: a log without the report of its pgbench"),
        ((golden("15-plain"), log), "15-plain.txt: report at line 2: the transaction log has 10"),
        ((report, write("log.8", aggregated)), "log.8: an aggregated log"),
        ((write("both", whole + whole), log), "both: 2 reports and the logs of 1 pgbench"),
        ((write("x.json", "{}"),), "x.json: no published results"),
        ((write("y.json", '{"kind": "groundspeed-report"}'),), "y.json: no published results"),
        ((golden("15-rate"),), "15-rate.txt: report at line 2: pgbench kept to a rate"),
        ((golden("18-aborted"),), "18-aborted.txt: report at line 2: torn"),
        ((write("copy", whole + whole),), "copy: report at line 16: the same to the last digit"),
        ((golden("16-plain"), write("again", whole)), "again: the same bytes as 16-plain.txt"),
        (("nowhere.txt",), "nowhere.txt: No such file or directory"),
        ((".",), ".: Is a directory"),
    ]
    for arguments, start in cases:
        assert refused(groundspeed, *arguments).startswith(start)


def test_published_json_stands_alone(groundspeed: Groundspeed) -> None:
    table = write("table.json", published.content("weka-vs-gp3").decode())
    assert refused(groundspeed, table, golden("16-plain")).startswith("published results are")
    done = groundspeed("import", table)
    assert done.out.startswith("eks-gp3 (published): 4 figures of 4 cells\n")
    assert "published, not measured here" in done.err
    assert len(records()) == 8
    # The figures of the file and of the catalogue are one publication.
    done = groundspeed("compare", f"{the_run()}:eks-gp3", "published:weka-vs-gp3:eks-gp3", "--json")
    (found,) = json.loads(done.out)["comparisons"]
    assert {cell["tps_ratio"]["estimate"] for cell in found["cells"]} == {1.0}


def compared(groundspeed: Groundspeed, *sides: str) -> dict[str, Any]:
    done = groundspeed("compare", *sides, "--json")
    assert (done.code, done.errors) == (0, [])
    (found,) = json.loads(done.out)["comparisons"]
    assert isinstance(found, dict)
    return found


def test_a_run_is_compared_with_what_was_published(groundspeed: Groundspeed) -> None:
    write_run(Path("runs"), "mine")
    side = "published:bare-metal-vs-aws:cnpg-local-ssd"
    found = compared(groundspeed, side, "runs/mine:one")
    assert found["baseline"] == "bare-metal-vs-aws:cnpg-local-ssd (published)"
    (cell,) = found["cells"]
    assert (cell["workload"], cell["clients"], cell["answer"]) == ("select-only", 1, "not decided")
    assert cell["tps_ratio"]["estimate"] > 0
    assert cell["tps_ratio"]["low"] is None
    assert len(found["only_baseline"]) == 14
    facts = {each["fact"] for each in found["differences"]}
    assert {"scale", "threads", "PostgreSQL", "protocol", "duration"} <= facts
    text = groundspeed("compare", "runs/mine:one", side).out
    assert "(published)" in text.splitlines()[0]
    assert "Iwan Setiawan, 2026-03" in " ".join(text.split())
    assert "a published figure is one value a side" in " ".join(text.split())


def test_every_row_for_programs_says_published(groundspeed: Groundspeed) -> None:
    side = "published:weka-vs-gp3"
    done = groundspeed("compare", side, "eks-gp3", "eks-weka", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert len(rows) == 4
    for row in rows:
        assert (row["baseline"], row["candidate"]) == (
            "eks-gp3 (published)",
            "eks-weka (published)",
        )
        assert (row["is_paired"], row["answer"]) == ("no", "not decided")


@pytest.mark.parametrize(
    ("sides", "error", "hint"),
    [
        (
            ("published:weka-vs-gp:eks-gp3", "published:weka-vs-gp3:eks-weka"),
            "weka-vs-gp: no such publication in the catalogue",
            "did you mean weka-vs-gp3?",
        ),
        (
            ("published:weka-vs-gp3/eks-gp3", "published:weka-vs-gp3:eks-weka"),
            "weka-vs-gp3/eks-gp3: no such publication",
            "did you mean published:weka-vs-gp3:eks-gp3?",
        ),
        (
            ("published:weka-vs-gp3:gp3", "published:weka-vs-gp3:eks-weka"),
            "published:weka-vs-gp3 has no environment 'gp3'",
            "name one of: eks-gp3 (published), eks-weka (published)",
        ),
        (
            ("published:redis-aof:local-aof-off", "published:weka-vs-gp3:eks-weka"),
            "redis-aof: figures of another load tool, which no run of pgbench is like",
            "groundspeed published redis-aof shows them",
        ),
    ],
)
def test_a_side_that_is_not_published(
    groundspeed: Groundspeed, sides: tuple[str, str], error: str, hint: str
) -> None:
    done = groundspeed("compare", *sides)
    assert done.code == ExitCode.USAGE
    assert done.errors == [f"error: {error}", f"hint: {hint}"]


def test_nobody_is_told_to_choose_by_imported_figures(groundspeed: Groundspeed) -> None:
    own = str(write_run(Path("runs"), "mine"))
    groundspeed("import", write("table.json", published.content("bare-metal-vs-aws").decode()))
    other = str(next(Path("runs").glob("*-table")))
    out = groundspeed("report", own, other).out
    results, _, choice = out.partition("Which to choose")
    assert "cnpg-local-ssd (published)" in results
    assert "two  then one" in choice
    assert "published" not in choice


def test_a_gate_refuses_published_figures(groundspeed: Groundspeed) -> None:
    write_run(Path("runs"), "mine")
    done = groundspeed("gate", "published:bare-metal-vs-aws:cnpg-local-ssd", "runs/mine:one")
    assert done.code == ExitCode.USAGE
    assert "published figures, by which nothing can be decided" in done.errors[0]


def test_runs_that_were_imported_are_compared_unpaired(groundspeed: Groundspeed) -> None:
    write("old.txt", varied(5))
    write("new.txt", varied(5, tps=9384))
    for name in ("old", "new"):
        assert groundspeed("import", f"{name}.txt").code == 0
    old, new = (str(next(Path("runs").glob(f"*-{name}"))) for name in ("old", "new"))
    (cell,) = compared(groundspeed, old, new)["cells"]
    assert (cell["is_paired"], cell["answer"]) == (False, "faster")
    assert cell["p99_ratio"]["estimate"] is None


def test_the_catalogue_is_listed(groundspeed: Groundspeed) -> None:
    done = groundspeed("published")
    assert [line.split()[0] for line in done.out.splitlines()] == ["name", *published.names()]
    assert "Iwan Setiawan" in done.out
    found = json.loads(groundspeed("published", "--json").out)
    assert [each["name"] for each in found] == list(published.names())


@pytest.mark.parametrize("name", published.names())
def test_a_publication_is_shown_with_its_source(groundspeed: Groundspeed, name: str) -> None:
    publication = published.publication(name)
    done = groundspeed("published", name)
    assert done.code == 0
    assert publication.author is not None
    assert publication.author in done.out
    found = json.loads(groundspeed("published", name, "--json").out)
    assert found["title"] == publication.title
    assert sum(len(each["cells"]) for each in found["environments"]) == publication.cells_count


def test_figures_of_requests_are_shown_as_published(groundspeed: Groundspeed) -> None:
    out = groundspeed("published", "redis-aof").out
    (row,) = [line for line in out.splitlines() if "longhorn-aof-on " in line and "ping" in line]
    assert "AOF on" in row
    assert "19,000 to 21,000" in row
    found = json.loads(groundspeed("published", "redis-aof", "--json").out)
    assert found["request_cells"][0]["requests_per_s"] == {"low": 7696.0, "high": 7696.0}


def test_an_unknown_publication_has_a_hint(groundspeed: Groundspeed) -> None:
    done = groundspeed("published", "redis-aofs")
    assert done.code == ExitCode.USAGE
    assert done.errors[1] == "hint: did you mean redis-aof?"
