from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.record import Failed
from tests.examples import make_measured
from tests.unit.cli.conftest import SMALL_SUITE, TOO_FAST, write_run

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed

# Runs to its end without a server: its trials are skipped.
EMULATED = f"""\
suite: emulated <b>
environments:
  fast:
    target: embedded
    storage:
{TOO_FAST}
workloads: [select-only]
measure: {{repeats: 1}}
scale: 1
"""


def test_a_run_says_what_it_will_do_and_where_it_is(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(EMULATED)
    done = groundspeed("run", "s.yaml", "--yes", "--out", "results")
    assert done.code == 5
    assert "1 trials in 1 blocks, seed 1" in done.err
    assert re.search(r"skipped: \S+ is slower than too-fast: .* takes .* ms", done.err)
    assert done.errors[0] == "error: no trial was measured, all were skipped"
    [run_dir] = [path for path in Path("results").iterdir() if path.is_dir()]
    assert re.fullmatch(r"\d{8}-\d{6}-emulated-b", run_dir.name)
    assert f"report: {run_dir}/report.html\n" in done.out
    assert f"run:    {run_dir}\n" in done.out
    assert "&lt;b&gt;" in (run_dir / "report.html").read_text()


def test_json_alone_is_on_standard_output(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(EMULATED)
    done = groundspeed("run", "s.yaml", "--yes", "--json")
    assert json.loads(done.out)["skipped_count"] == 1
    assert "report: runs/" in done.err


@pytest.mark.parametrize(
    ("option", "level"),
    [((), "full"), (("--probes", "off"), "off"), (("--probes", "light"), "light")],
)
def test_how_much_is_watched_is_an_option(
    groundspeed: Groundspeed, option: tuple[str, ...], level: str
) -> None:
    Path("s.yaml").write_text(EMULATED)
    groundspeed("run", "s.yaml", "--yes", *option)
    [plan] = Path("runs").glob("*/plan.json")
    assert json.loads(plan.read_text())["probes"] == level


def test_a_level_that_is_none_is_refused(groundspeed: Groundspeed) -> None:
    Path("s.yaml").write_text(EMULATED)
    assert groundspeed("run", "s.yaml", "--yes", "--probes", "much").code == 2
    assert not Path("runs").exists()


def test_a_run_that_cannot_fit_is_refused_before_anything_is_made(
    groundspeed: Groundspeed,
) -> None:
    Path("s.yaml").write_text(SMALL_SUITE)
    done = groundspeed("run", "s.yaml", "--yes", "--set", "scale=100000000")
    assert done.code == 4
    assert "free, this run needs at least 2.79 PiB" in done.errors[0]
    assert not Path("runs").exists()


def test_a_wrong_suite_starts_nothing(groundspeed: Groundspeed) -> None:
    done = groundspeed("run", "nope", "--yes")
    assert done.code == 3
    assert not Path("runs").exists()


def test_a_finished_run_has_nothing_left_to_resume(groundspeed: Groundspeed) -> None:
    run_dir = write_run(Path("runs"), "one")
    before = (run_dir / "records.jsonl").read_bytes()
    done = groundspeed("resume", str(run_dir))
    assert done.code == 0
    assert "12 of 12 trials measured" in done.out
    assert (run_dir / "records.jsonl").read_bytes() == before


def test_failures_that_stay_end_with_their_reason(groundspeed: Groundspeed) -> None:
    outcomes = [make_measured() for _ in range(11)]
    write_run(Path("runs"), "one", [*outcomes, Failed(reason="it broke", retryable=False)])
    done = groundspeed("resume", "runs/one")
    assert done.code == 5
    assert done.errors[0] == "error: 1 of 12 trials failed: it broke"
    assert "start a new run" in done.errors[1]
    assert "11 of 12 trials measured" in done.out


def test_what_is_no_run_cannot_be_resumed(groundspeed: Groundspeed) -> None:
    done = groundspeed("resume", ".")
    assert done.code == 2
    assert done.errors[0] == "error: .: not a run directory"
