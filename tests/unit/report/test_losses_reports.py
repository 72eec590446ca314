"""The table of what was lost, as people see it."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from groundspeed.record.losses import Ending
from groundspeed.report import losses_text
from tests.unit.losses import A_SECOND, NO_BOUND, failed, gone, loss

CUT = Ending.POWER_CUT
TRIES = (
    loss(environment="always"),
    loss(environment="always", ending=CUT, missing=1, oldest_s=0.0),
    loss(environment="every second", promise=A_SECOND, acknowledged=1_234_567),
    loss(environment="every second", ending=CUT, promise=A_SECOND, missing=345, oldest_s=0.153),
    loss(environment="none", promise=NO_BOUND, missing=1000, oldest_s=2.0),
    gone(environment="none", ending=CUT, promise=NO_BOUND),
    failed(environment="a|b <i>"),
)
AS_TEXT = """\
what: what was lost of what had been acknowledged
  after                 may lose  lost / acknowledged  oldest  promise
always: on slow-disk (emulated); nothing acknowledged is lost
  kill -9               nothing             0 / 1,000       -  kept
  power cut (emulated)  nothing             1 / 1,000     0 s  BROKEN
every second: on slow-disk (emulated); up to 1 s is lost with the machine
  kill -9               nothing         0 / 1,234,567       -  kept
  power cut (emulated)  1 s               345 / 1,000  153 ms  kept
none: on slow-disk (emulated); nothing is kept
  kill -9               no bound        1,000 / 1,000  2.00 s  no promise
  power cut (emulated)  no bound        1,000 / 1,000     all  no promise
a|b <i>: on slow-disk (emulated); nothing acknowledged is lost
  kill -9               nothing                     -       -  not tried
"""


def text_of(width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    losses_text.render("what", TRIES, console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_in_80_columns() -> None:
    told = text_of()
    assert told.startswith(AS_TEXT)
    assert max(map(len, told.splitlines())) <= 80


@pytest.mark.parametrize(
    "words",
    [
        "0 to 1 tries each",
        "Tries can break a promise",
        "Power cuts are emulated",
        "none, power cut (emulated): did not come back: PANIC",
        "a|b <i>, kill -9: the server does not start",
    ],
)
def test_what_stands_below_it(words: str) -> None:
    assert words in text_of(400)


def test_only_what_was_tried_is_told() -> None:
    console = Console(width=200, file=io.StringIO())
    losses_text.render("what", (loss(), loss(attempt=2)), console)
    assert isinstance(console.file, io.StringIO)
    told = console.file.getvalue()
    assert "2 tries each" in told
    assert "Power cuts" not in told


def test_in_markdown_every_row_names_its_environment() -> None:
    lines = losses_text.to_markdown("what", TRIES).splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + 7
    assert rows[4].startswith("| every second | kill -9 | nothing | 0 / 1,234,567 |")
    assert rows[-1].startswith("| a\\|b ")
    assert "<i>" not in rows[-1]


def test_as_data_rows_come_with_all_tries() -> None:
    found = json.loads(losses_text.to_json("what", TRIES))
    assert found["suite"] == "what"
    assert [row["kept"] for row in found["rows"]] == [
        *("kept", "broken", "kept", "kept", "no promise", "no promise", "not tried")
    ]
    assert [row["missing_count"] for row in found["rows"]] == [0, 1, 0, 345, 1000, 1000, 0]
    assert len(found["tries"]) == len(TRIES)
