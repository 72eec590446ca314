from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.errors import ExitCode
from tests.examples import make_measured
from tests.unit.cli.conftest import small_plan, write_run

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


@pytest.fixture
def nights(groundspeed: Groundspeed) -> str:
    """Ten runs, of which the last five are a fifth slower in one environment."""
    del groundspeed  # it goes into the directory first
    for night in range(10):
        two = 2000.0 if night < 5 else 1600.0
        outcomes = [
            make_measured({"one": 1000.0, "two": two}[t.cell.environment] + (7 * night + i) % 11)
            for i, t in enumerate(small_plan().trials)
        ]
        write_run(Path("runs"), f"night-{night}", list(outcomes), first_number=100 * night)
    return "runs"


def test_a_change_of_level_is_named(groundspeed: Groundspeed, nights: str) -> None:
    done = groundspeed("history", nights)
    assert done.code == 0
    assert done.out.startswith("small: 10 runs, oldest first\n")
    assert "night-5: 0.80" in done.out
    assert done.out.count("TPS, 10 runs") == 2


def test_json_and_a_page(groundspeed: Groundspeed, nights: str) -> None:
    done = groundspeed("history", nights, "--json", "--html", "page.html")
    assert done.err == "page.html\n"
    changes = [cell["changes"] for cell in json.loads(done.out)["cells"]]
    assert [len(found) for found in changes] == [0, 1]
    assert "</html>" in Path("page.html").read_text()


def test_runs_is_the_directory_without_one(groundspeed: Groundspeed, nights: str) -> None:
    assert groundspeed("history").out == groundspeed("history", nights).out


def test_a_suite_that_is_not_there_is_refused(groundspeed: Groundspeed, nights: str) -> None:
    assert groundspeed("history", nights, "--suite", "small").code == 0
    done = groundspeed("history", nights, "--suite", "large")
    assert done.code == ExitCode.USAGE
    assert done.errors == ["error: no run of a suite 'large'", "hint: name one of: small"]


def test_nothing_measured_is_refused(groundspeed: Groundspeed) -> None:
    assert groundspeed("history", "nowhere").code == ExitCode.USAGE
    write_run(Path("runs"), "empty", [])
    assert groundspeed("history", "runs").errors[0] == "error: no measured run in runs"
