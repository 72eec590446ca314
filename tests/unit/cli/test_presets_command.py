from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from groundspeed import presets

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Groundspeed


def test_one_line_each(groundspeed: Groundspeed) -> None:
    lines = groundspeed("presets").out.splitlines()
    assert [line.split()[0] for line in lines] == list(presets.names())


def test_json(groundspeed: Groundspeed) -> None:
    listed = json.loads(groundspeed("presets", "--json").out)
    assert [preset["name"] for preset in listed] == list(presets.names())
    one = json.loads(groundspeed("presets", "quick", "--json").out)
    assert one["yaml"] == presets.read("quick")


def test_a_printed_preset_is_a_suite_file(groundspeed: Groundspeed) -> None:
    Path("mine.yaml").write_text(groundspeed("presets", "quick").out)
    assert groundspeed("plan", "mine.yaml").code == 0


def test_a_typo_suggests_the_nearest(groundspeed: Groundspeed) -> None:
    done = groundspeed("presets", "qick")
    assert (done.code, done.out) == (3, "")
    assert done.errors == ["error: qick: no such preset", "hint: did you mean quick?"]


def test_the_schema_is_json(groundspeed: Groundspeed) -> None:
    schema = json.loads(groundspeed("schema").out)
    assert "clients" in json.dumps(schema["properties"]["threads"])
    assert json.loads(groundspeed("schema", "--json").out) == schema
