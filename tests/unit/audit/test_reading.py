from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from groundspeed.audit import reading
from groundspeed.errors import UsageError

if TYPE_CHECKING:
    from groundspeed.audit.document import Document, Table

WANTED = [["Clients", "gp3 TPS", "io2 TPS"], ["4", "1,159", "2,307"], ["16", "1,216", "5,328"]]
PIPES = (
    "| Clients | gp3 TPS | io2 TPS |\n|---|---|---|\n"
    "| 4 | 1,159 | 2,307 |\n| 16 | 1,216 | 5,328 |\n"
)
HTML = (
    "<table><tr><th>Clients</th><th>gp3 TPS</th><th>io2 TPS</th></tr>\n"
    "<tr><td>4</td><td>1,159</td><td>2,307</td></tr>\n"
    "<tr><td>16</td><td><b>1,216</b></td><td>5,328</td></tr></table>"
)
FRAMED = (
    "+---------+---------+---------+\n| Clients | gp3 TPS | io2 TPS |\n"
    "+---------+---------+---------+\n"
    "| 4       | 1,159   | 2,307   |\n| 16      | 1,216   | 5,328   |\n"
)


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in (table.header, *table.rows)]


def only(document: Document) -> Table:
    (table,) = document.tables
    return table


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("md", PIPES),
        ("txt", PIPES),
        ("txt", FRAMED),
        ("html", HTML),
        ("md", f"Before.\n\n{HTML}\n"),
        ("md", f"```\n{PIPES}```\n"),
        ("txt", "\n".join("\t".join(row) for row in WANTED)),
        ("txt", "\n".join("".join(cell.ljust(12) for cell in row) for row in WANTED)),
        ("csv", "\n".join(";".join(row) for row in WANTED)),
    ],
)
def test_every_layout_gives_the_same_table(suffix: str, text: str) -> None:
    assert texts(only(reading.read(text, suffix))) == WANTED


def test_a_table_that_lost_its_layout_is_found_again() -> None:
    cells = [cell for row in [*WANTED, ["64", "1,811", "7,211"]] for cell in row]
    document = reading.read("Throughput of two volumes\n\n" + "\n".join(cells) + "\n\nDone.", "txt")
    assert texts(only(document)) == [*WANTED, ["64", "1,811", "7,211"]]
    assert only(document).caption == "Throughput of two volumes"


def test_lists_and_short_lines_are_no_table() -> None:
    assert reading.read("Apples\nPears\n12\nPlums\nGrapes\nNuts\nFigs\nDates", "txt").tables == ()


def test_spans_are_filled_and_a_header_of_two_lines_is_joined() -> None:
    text = (
        "<table><tr><th rowspan=2>Clients</th><th colspan=2>Old</th></tr>"
        "<tr><th>TPS</th><th>ms</th></tr><tr><td>1</td><td>212</td><td>4.72</td></tr></table>"
    )
    assert texts(only(reading.read(text, "html"))) == [
        ["Clients", "Old TPS", "Old ms"],
        ["1", "212", "4.72"],
    ]


def test_json_gives_tables_with_paths_and_keeps_digits() -> None:
    points = [{"clients": 4, "tps": 1159.0}, {"clients": 8, "tps": 1216.0}]
    text = json.dumps({"environments": [{"environment": "gp3", "points": points}]})
    table = only(reading.read(text, "json"))
    assert texts(table)[1:] == [["gp3", "4", "1159"], ["gp3", "8", "1216"]]
    assert table.place(1, 2).path == "environments[0].points[1].tps"


def test_sentences_know_their_line_and_abbreviations_do_not_end_them() -> None:
    text = "# Head\n\nFirst of two, e.g. this.\nSecond, gp3 vs. io2 at 3.5 ms. alphapool follows.\n"
    found = [(s.line, s.text) for s in reading.read(text, "md").sentences]
    assert found == [
        (1, "Head"),
        (3, "First of two, e.g. this."),
        (4, "Second, gp3 vs. io2 at 3.5 ms. alphapool follows."),
    ]


def test_a_sentence_may_begin_with_a_small_letter() -> None:
    document = reading.read("alpha is faster than direct. beta follows.\n\n" + PIPES, "md")
    assert [s.text for s in document.sentences] == ["alpha is faster than direct.", "beta follows."]


def test_scripts_and_commands_are_no_sentences() -> None:
    page = "<script>var x = 'gp3 is 9x faster';</script><p>Text.</p><pre>pgbench -c 8</pre>"
    document = reading.read(page, "html")
    assert [s.text for s in document.sentences] == ["Text."]
    assert document.says(r"pgbench -c 8")


@pytest.mark.parametrize(
    ("text", "tables"), [(HTML, 1), (PIPES, 1), ('{"a": [{"x": 1, "y": 2}, {"x": 3, "y": 4}]}', 1)]
)
def test_without_a_name_the_looks_decide(text: str, tables: int) -> None:
    assert len(reading.read(text, "").tables) == tables


def test_broken_json_is_said_to_be() -> None:
    with pytest.raises(UsageError, match="not JSON"):
        reading.read("{", "json")
