from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed.record import Failed, Skipped
from tests.examples import make_measured
from tests.unit.cli.conftest import write_run

if TYPE_CHECKING:
    from groundspeed.record import Outcome
    from tests.unit.cli.conftest import Groundspeed


def test_no_runs_is_said_and_no_error(groundspeed: Groundspeed) -> None:
    done = groundspeed("runs")
    assert (done.code, done.out, done.err) == (0, "", "no runs in runs\n")
    assert json.loads(groundspeed("runs", "--json").out) == []


def test_each_run_is_a_line(groundspeed: Groundspeed) -> None:
    write_run(Path("runs"), "complete")
    broken: list[Outcome] = [
        make_measured(),
        Failed(reason="x", retryable=True),
        Skipped(reason="y"),
    ]
    write_run(Path("runs"), "broken", broken)
    lines = groundspeed("runs").out.splitlines()
    assert " ".join(lines[0].split()) == "run suite started measured failed skipped state"
    rows = {line.split()[0]: line.split()[3:] for line in lines[1:]}
    assert rows == {
        "complete": ["12/12", "0", "0", "complete"],
        "broken": ["1/12", "1", "1", "interrupted"],
    }


def test_json_and_another_directory(groundspeed: Groundspeed) -> None:
    write_run(Path("elsewhere"), "one")
    [run] = json.loads(groundspeed("runs", "elsewhere", "--json").out)
    assert run["run_id"] == "one"
    assert run["state"] == "complete"
