from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from rich.console import Console

from groundspeed.analyse.history import History, history
from groundspeed.report import history_data, history_html, history_svg, history_terminal
from groundspeed.report.history_view import ASCII_BARS, history_rows, spark
from tests.sided import dated_runs


def stepped() -> History:
    return history(dated_runs([1000.0] * 10 + [850.0] * 8))


def printed(found: History, *, width: int = 100, unicode: bool = True) -> str:
    text = io.StringIO()
    history_terminal.render(found, Console(file=text, width=width), unicode=unicode)
    return text.getvalue()


def test_bars_run_from_the_lowest_to_the_highest() -> None:
    assert spark([1.0, 2.0, 8.0]) == "▁▂█"
    assert spark([5.0, 5.0]) == "▄▄"
    assert spark([1.0, 8.0], unicode=False) == ASCII_BARS[0] + ASCII_BARS[-1]


def test_a_change_is_marked_beneath_its_run() -> None:
    row = history_rows(stepped())[0]
    assert (len(row.spark), row.marks.index("^")) == (18, 10)
    lines = printed(stepped()).splitlines()
    place = next(i for i, line in enumerate(lines) if "1 client" in line)
    assert lines[place + 1].index("^") - lines[place].index(row.spark[0]) == 10
    assert "2026-01-11 night-11: 0.8" in lines[place + 2]


@pytest.mark.parametrize("width", [40, 80])
def test_a_narrow_terminal_folds_nothing_but_words(width: int) -> None:
    told = printed(stepped(), width=width)
    assert max(map(len, told.splitlines())) <= max(width, 22)


def test_without_a_change_that_is_said() -> None:
    told = printed(history(dated_runs([1000.0] * 8)))
    assert "No change of level was found." in told
    assert "5% chance at most" in told


def test_a_terminal_without_unicode_gets_ascii() -> None:
    told = printed(stepped(), unicode=False)
    assert told.isascii()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        del attrs
        self.tags.append(tag)


def test_the_page_has_a_panel_a_cell_and_asks_nobody() -> None:
    page = history_html.render(stepped())
    parser = _Parser()
    parser.feed(page)
    assert parser.tags.count("figure") == 2
    assert not {"script", "link", "img"} & set(parser.tags)
    assert "night-11" in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_a_drawing_is_xml_with_a_mark_a_run_and_a_line_a_level() -> None:
    cell = stepped().cells[0]
    drawing = ET.fromstring(history_svg.draw(cell, 'a <title> & "more"', 0))
    assert len(list(drawing.iter("circle"))) == 18
    assert len(list(drawing.iter("polyline"))) == 2


def test_one_run_is_drawn_as_well() -> None:
    found = history(dated_runs([1000.0]))
    ET.fromstring(history_svg.draw(found.cells[0], "one", 0))
    assert "1 run: a change of level takes 4" in printed(found, width=200)


def test_json_has_points_and_changes() -> None:
    document = json.loads(history_data.to_json(stepped()))
    assert document["kind"] == "groundspeed-history"
    (change,) = document["cells"][0]["changes"]
    assert (change["index"], change["run_id"]) == (10, "night-11")
    assert len(document["cells"][0]["points"]) == 18
