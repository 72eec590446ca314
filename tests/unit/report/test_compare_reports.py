from __future__ import annotations

import csv
import io
import json
import re

import msgspec
from rich.console import Console

from groundspeed.analyse.sides import Side
from groundspeed.analyse.two_sides import Compared, compare_sides
from groundspeed.report import compare_data, compare_markdown, compare_terminal
from tests.examples import example_run
from tests.sided import around, two_runs


def awkward() -> tuple[Compared, ...]:
    """Compare the environments with names that break tables, one of them emulated."""
    run = example_run()
    first, second, third = (Side(name=name, run=run, environment=name) for name in run.environments)
    return compare_sides([(first, second), (first, third)])


def test_a_terminal_of_80_columns_holds_every_number() -> None:
    text = io.StringIO()
    compare_terminal.render(awkward(), Console(file=text, width=80))
    told = text.getvalue()
    assert max(map(len, told.splitlines())) <= 80
    assert "slow-disk (emulated) against disk|a" in told
    assert "…" not in told


def test_markdown_rows_have_as_many_cells_as_their_header() -> None:
    text = compare_markdown.render(awkward())
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    assert len(tables) == 4
    for table in tables:
        assert len({len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1
    assert "<b>" not in text


def test_two_runs_are_told_to_be_unpaired() -> None:
    found = compare_sides([two_runs({1: around(1000.0, 6)}, {1: around(1300.0, 6, seed=2)})])
    text = compare_markdown.render(found)
    assert "6 + 6" in text
    assert "not paired" in text
    assert "measured at different times" in text
    assert "**faster**" in text


def test_json_has_the_ratios_and_csv_the_same() -> None:
    found = awkward()
    document = json.loads(compare_data.to_json(found))
    assert (document["kind"], len(document["comparisons"])) == ("groundspeed-compare", 2)
    cells = [cell for compared in document["comparisons"] for cell in compared["cells"]]
    rows = list(csv.DictReader(io.StringIO(compare_data.to_csv(found))))
    assert [float(row["tps_ratio_estimate"]) for row in rows] == [
        cell["tps_ratio"]["estimate"] for cell in cells
    ]
    assert {row["is_paired"] for row in rows} == {"yes"}


def test_what_is_unknown_is_null_in_json_and_empty_in_csv() -> None:
    found = compare_sides([two_runs({1: [1000.0]}, {1: [0.0]})])
    (cell,) = json.loads(compare_data.to_json(found))["comparisons"][0]["cells"]
    assert cell["tps_ratio"] == {"estimate": None, "low": None, "high": None}
    (row,) = csv.DictReader(io.StringIO(compare_data.to_csv(found)))
    assert (row["tps_ratio_estimate"], row["tps_ratio_low"]) == ("", "")


def test_a_name_that_steers_a_terminal_is_shown_harmless() -> None:
    before, after = two_runs({1: [1.0]}, {1: [1.0]})
    evil = msgspec.structs.replace(after, name="new\x1b[2J:a")
    text = io.StringIO()
    compare_terminal.render(compare_sides([(before, evil)]), Console(file=text, width=100))
    assert "\x1b" not in text.getvalue()


def test_one_number_is_told_for_a_workload_with_several_cells() -> None:
    found = awkward()
    told = "One number for tpcb-like, the geometric mean of the ratios of its cells: slow-disk"
    text = io.StringIO()
    compare_terminal.render(found, Console(file=text, width=80))
    assert told in " ".join(text.getvalue().split())
    assert told in compare_markdown.render(found)
    means = json.loads(compare_data.to_json(found))["comparisons"][1]["means"]
    assert [mean["cell_count"] for mean in means] == [2]
    assert means[0]["low"] < means[0]["ratio"] < means[0]["high"]
