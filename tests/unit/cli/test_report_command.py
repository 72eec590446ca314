from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed import store
from groundspeed.store.losses import append_loss
from tests.examples import make_measured, make_provenance, make_record, make_server, make_storage
from tests.unit.cli.conftest import small_plan, write_run
from tests.unit.losses import loss

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


@pytest.fixture
def run_dir(groundspeed: Groundspeed) -> str:
    del groundspeed  # it goes into the directory first
    return str(write_run(Path("runs"), "one"))


def test_the_terminal_report_says_which_is_faster(groundspeed: Groundspeed, run_dir: str) -> None:
    done = groundspeed("report", run_dir)
    assert done.code == 0
    assert "12 of 12 trials measured" in done.out
    assert "select-only" in done.out


def test_a_run_is_found_by_its_name_alone(groundspeed: Groundspeed, run_dir: str) -> None:
    assert groundspeed("report", "one").out == groundspeed("report", run_dir).out


def test_html_goes_into_the_run_directory(groundspeed: Groundspeed, run_dir: str) -> None:
    done = groundspeed("report", run_dir, "--format", "html")
    assert done.out == f"{run_dir}/report.html\n"
    assert "</html>" in (Path(run_dir) / "report.html").read_text()


def test_json_and_csv_can_be_read(groundspeed: Groundspeed, run_dir: str) -> None:
    for arguments in (["--format", "json"], ["--json"]):
        assert json.loads(groundspeed("report", run_dir, *arguments).out)["measured_count"] == 12
    rows = list(csv.DictReader(io.StringIO(groundspeed("report", run_dir, "--format", "csv").out)))
    assert {row["environment"] for row in rows} == {"one", "two"}


@pytest.mark.parametrize("kind", ["terminal", "md", "html", "json", "csv"])
def test_every_format_goes_to_a_file(groundspeed: Groundspeed, run_dir: str, kind: str) -> None:
    done = groundspeed("report", run_dir, "--format", kind, "--output", "out")
    assert (done.code, done.out) == (0, "out\n")
    assert "one" in Path("out").read_text()
    assert [path.name for path in Path.cwd().iterdir() if path.name.startswith("out")] == ["out"]


def test_several_runs_make_one_report(groundspeed: Groundspeed, run_dir: str) -> None:
    other = str(write_run(Path("runs"), "two", first_number=100))
    assert json.loads(groundspeed("report", run_dir, other, "--json").out)["measured_count"] == 24
    done = groundspeed("report", run_dir, other, "--format", "html")
    assert done.code == 2
    assert done.errors[1] == "hint: name a file, as in --output report.html"


def test_tries_of_durability_stand_beside_a_run_and_not_alone(
    groundspeed: Groundspeed, run_dir: str
) -> None:
    tries = store.create_run(Path("runs"), small_plan(), "tries")
    append_loss(tries, loss())
    both = json.loads(groundspeed("report", run_dir, str(tries), "--json").out)
    alone = json.loads(groundspeed("report", run_dir, "--json").out)
    # They are no trials: whatever was measured stays as it was.
    assert both == alone
    done = groundspeed("report", str(tries))
    assert done.code == 2
    assert done.errors[1].startswith("hint: groundspeed durability runs/tries prints them")


def test_the_baseline_can_be_chosen(groundspeed: Groundspeed, run_dir: str) -> None:
    found = json.loads(groundspeed("report", run_dir, "--json", "--baseline", "two").out)
    assert found["baseline"] == "two"
    assert groundspeed("report", run_dir, "--baseline", "tow").code == 2


def test_what_is_no_run_is_refused(groundspeed: Groundspeed, run_dir: str) -> None:
    del run_dir
    done = groundspeed("report", "nope")
    assert done.code == 2
    assert done.errors == [
        "error: nope: not a run directory",
        "hint: groundspeed runs lists those there are",
    ]


def test_a_place_that_cannot_be_written_is_said(groundspeed: Groundspeed, run_dir: str) -> None:
    for kind in ("terminal", "md"):
        done = groundspeed("report", run_dir, "--format", kind, "--output", "no/such/dir/file")
        assert done.code == 4
        assert "No such file or directory" in done.errors[0]


def test_records_are_not_changed(groundspeed: Groundspeed, run_dir: str) -> None:
    before = {p: p.read_bytes() for p in Path(run_dir).rglob("*") if p.is_file()}
    groundspeed("report", run_dir)
    assert {p: p.read_bytes() for p in Path(run_dir).rglob("*") if p.is_file()} == before


def write_confounded_run(results_dir: Path) -> str:
    """Make a run whose environments differ in their storage and in a setting."""
    plan = small_plan()
    run_dir = store.create_run(results_dir, plan, "confounded")
    kept = store.RunStore(run_dir)
    for number, trial in enumerate(plan.trials):
        name = trial.cell.environment
        provenance = make_provenance(
            storage=make_storage(label=name),
            server=make_server(settings=[("jit", "on" if name == "one" else "off", None)]),
        )
        kept.append(make_record(trial, make_measured(), number=number, provenance=provenance))
    kept.close()
    return str(run_dir)


def test_strict_refuses_a_confounded_comparison_after_the_report(groundspeed: Groundspeed) -> None:
    run_dir = write_confounded_run(Path("runs"))
    assert groundspeed("report", run_dir).code == 0
    done = groundspeed("report", run_dir, "--strict")
    assert done.code == 8
    assert "12 of 12 trials measured" in done.out
    error, hint = done.errors
    assert error == (
        "error: refused: one and two: they differ in storage (storage one and two) and settings"
        " (jit on and off), and nothing tells which of them made the difference; declare what is"
        " compared, as in vary: storage"
    )
    assert hint.endswith("name in the suite what may differ, as in vary: [storage, memory]")
    done = groundspeed("report", run_dir, "--strict", "--format", "html")
    assert done.code == 8
    assert "</html>" in (Path(run_dir) / "report.html").read_text()


def test_strict_lets_a_comparison_of_one_thing_pass(groundspeed: Groundspeed, run_dir: str) -> None:
    assert groundspeed("report", run_dir, "--strict").code == 0
