from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from groundspeed.cli.sides import sides_of
from groundspeed.errors import ExitCode
from tests.unit.cli.conftest import write_run

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


@pytest.fixture
def runs(groundspeed: Groundspeed) -> tuple[str, str]:
    del groundspeed  # it goes into the directory first
    return (
        str(write_run(Path("runs"), "first")),
        str(write_run(Path("runs"), "second", first_number=100)),
    )


def test_two_environments_of_a_run(groundspeed: Groundspeed, runs: tuple[str, str]) -> None:
    done = groundspeed("compare", runs[0], "one", "two")
    assert done.code == 0
    assert done.out.startswith("two against one\n")
    assert "n pairs of trials inside blocks" in done.out


def test_the_first_named_is_the_baseline(groundspeed: Groundspeed, runs: tuple[str, str]) -> None:
    there = json.loads(groundspeed("compare", runs[0], "one", "two", "--json").out)
    back = json.loads(groundspeed("compare", runs[0], "two", "one", "--json").out)
    ratios = [d["comparisons"][0]["cells"][0]["tps_ratio"]["estimate"] for d in (there, back)]
    assert ratios[0] == pytest.approx(1 / ratios[1])
    assert ratios[0] == pytest.approx(2, rel=0.02)


def test_two_runs_are_compared_in_each_environment(
    groundspeed: Groundspeed, runs: tuple[str, str]
) -> None:
    done = groundspeed("compare", *runs, "--format", "md")
    assert done.code == 0
    assert "### second:one against first:one" in done.out
    assert "### second:two against first:two" in done.out
    assert "different times" in done.out


def test_one_environment_of_each_run(groundspeed: Groundspeed, runs: tuple[str, str]) -> None:
    done = groundspeed("compare", f"{runs[0]}:one", f"{runs[1]}:two", "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.out))
    assert (row["baseline"], row["candidate"]) == ("first:one", "second:two")
    # Of the other run it is the same environment, unless another one is named.
    done = groundspeed("compare", f"{runs[0]}:one", runs[1], "--format", "csv")
    (row,) = csv.DictReader(io.StringIO(done.out))
    assert row["candidate"] == "second:one"


@pytest.mark.parametrize("kind", ["text", "md", "json", "csv"])
def test_every_format_goes_to_a_file(
    groundspeed: Groundspeed, runs: tuple[str, str], kind: str
) -> None:
    done = groundspeed("compare", *runs, "--format", kind, "--output", "out")
    assert (done.code, done.out) == (0, "out\n")
    assert "second" in Path("out").read_text()


@pytest.mark.parametrize(
    ("operands", "error"),
    [
        (["first"], "two sides are compared"),
        (
            ["first", "first"],
            "runs/first is one run, and its environments are what can be compared",
        ),
        (["first:one", "first:one"], "'one' is compared with itself"),
        (["first", "one", "three"], "runs/first has no environment 'three'"),
        (["first", "nope"], "nope: not a run directory"),
        (["first:nope", "second"], "runs/first has no environment 'nope'"),
    ],
)
def test_what_cannot_be_compared_is_refused(
    groundspeed: Groundspeed, runs: tuple[str, str], operands: list[str], error: str
) -> None:
    del runs
    done = groundspeed("compare", *operands)
    assert done.code == ExitCode.USAGE
    assert done.errors[0] == f"error: {error}"
    assert done.errors[1].startswith("hint: ")


def test_a_directory_with_a_colon_is_what_it_is_called(groundspeed: Groundspeed) -> None:
    del groundspeed
    write_run(Path("runs"), "at:one")
    ((baseline, candidate),) = sides_of(["runs/at:one", "one", "two"])
    assert (baseline.environment, candidate.environment) == ("one", "two")
    assert baseline.run is candidate.run


def test_runs_of_one_name_are_told_apart_by_their_paths(groundspeed: Groundspeed) -> None:
    del groundspeed
    write_run(Path("old"), "night")
    write_run(Path("new"), "night", first_number=100)
    sides = sides_of(["old/night", "new/night"])
    assert [(a.name, b.name) for a, b in sides] == [
        ("old/night:one", "new/night:one"),
        ("old/night:two", "new/night:two"),
    ]
