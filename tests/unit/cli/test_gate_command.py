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

STEADY = {"one": 1000.0, "two": 2000.0}
SLOWER = {"one": 1000.0, "two": 1500.0}


def write(
    run_id: str, speeds: dict[str, float], *, first_number: int = 0, wobble: float = 1.0
) -> str:
    """Write a run of six repeats that scatter by some tenths of a per cent, times `wobble`."""
    outcomes = [
        make_measured(speeds[trial.cell.environment] + wobble * (number % 5 - 2))
        for number, trial in enumerate(small_plan().trials)
    ]
    return str(write_run(Path("runs"), run_id, list(outcomes), first_number=first_number))


@pytest.fixture
def before(groundspeed: Groundspeed) -> str:
    del groundspeed  # it goes into the directory first
    return write("before", STEADY)


def test_a_no_op_passes(groundspeed: Groundspeed, before: str) -> None:
    after = write("after", STEADY, first_number=100, wobble=1.5)
    done = groundspeed("gate", before, after)
    assert done.code == ExitCode.OK
    assert done.out.startswith("pass: none of 2 cells lost more than 5%\n")


def test_a_loss_fails_with_its_own_code(groundspeed: Groundspeed, before: str) -> None:
    after = write("after", SLOWER, first_number=100)
    done = groundspeed("gate", before, after)
    assert done.code == ExitCode.REGRESSION == 6
    assert done.out.startswith("fail: 1 of 2 cells certainly lost more than 5%\n")
    assert groundspeed("gate", before, after, "--max-loss", "30%").code == ExitCode.OK
    assert groundspeed("gate", before, after, "--max-loss", "0.3").code == ExitCode.OK


def test_advisory_ends_with_zero_whatever_it_says(groundspeed: Groundspeed, before: str) -> None:
    after = write("after", SLOWER, first_number=100)
    done = groundspeed("gate", before, after, "--advisory")
    assert done.code == 0
    assert done.out.startswith("fail: ")


def test_what_is_undecided_has_a_code_of_its_own(groundspeed: Groundspeed, before: str) -> None:
    after = write("after", STEADY, first_number=100, wobble=150.0)
    done = groundspeed("gate", before, after)
    assert done.code == ExitCode.UNDECIDED == 7
    assert done.out.startswith("undecided: ")
    assert " trials a side" in done.out


def test_environments_of_one_run(groundspeed: Groundspeed, before: str) -> None:
    assert groundspeed("gate", before, "one", "two").code == ExitCode.OK
    done = groundspeed("gate", before, "two", "one")
    assert done.code == ExitCode.REGRESSION
    assert "6 pairs" in done.out


@pytest.mark.parametrize("kind", ["text", "benchstat", "junit", "github", "json"])
def test_every_format_is_printed_or_written(
    groundspeed: Groundspeed, before: str, kind: str
) -> None:
    printed = groundspeed("gate", before, "two", "one", "--format", kind)
    assert printed.code == ExitCode.REGRESSION
    written = groundspeed("gate", before, "two", "one", "--format", kind, "--output", "out")
    assert written.code == ExitCode.REGRESSION
    assert Path("out").read_text() == printed.out
    assert written.out == "fail: 1 of 1 cell certainly lost more than 5%\n"


def test_json_is_short_for_the_format(groundspeed: Groundspeed, before: str) -> None:
    assert json.loads(groundspeed("gate", before, "two", "one", "--json").out)["answer"] == "fail"


@pytest.mark.parametrize("share", ["five", "-1%", "100%", "2", "5 percent"])
def test_a_share_that_is_none_is_refused(groundspeed: Groundspeed, before: str, share: str) -> None:
    done = groundspeed("gate", before, "one", "two", "--max-loss", share)
    assert done.code == ExitCode.USAGE
    assert done.errors[1] == "hint: write it as in --max-loss 5%"


def test_a_limit_of_latency_is_held_too(groundspeed: Groundspeed, before: str) -> None:
    after = write("after", SLOWER, first_number=100)
    passed = groundspeed("gate", before, after, "--max-loss", "30%")
    assert passed.code == ExitCode.OK
    done = groundspeed("gate", before, after, "--max-loss", "30%", "--max-p99-rise", "200%")
    assert done.code == ExitCode.OK
    assert done.out.startswith("pass: none of 4 figures got worse (throughput lost more than 30%")


@pytest.mark.parametrize("share", ["much", "-5%", "10 %%"])
def test_a_limit_of_latency_that_is_none_is_refused(
    groundspeed: Groundspeed, before: str, share: str
) -> None:
    done = groundspeed("gate", before, "one", "two", f"--max-p99-rise={share}")
    assert done.code == ExitCode.USAGE
    assert done.errors[1] == "hint: write it as in --max-p99-rise 10%"
