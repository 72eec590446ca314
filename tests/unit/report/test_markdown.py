from __future__ import annotations

import re

import pytest

from groundspeed.analyse import analyse
from groundspeed.report.markdown import escape, render
from tests.examples import example_findings, make_run


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("plain name 16.4", "plain name 16.4"),
        ("shared_buffers", "shared_buffers"),
        ("_all_", r"\_all\_"),
        ("a|b", r"a\|b"),
        ("<script>&", "&lt;script&gt;&amp;"),
        ("*x* [y](z) `q` #1", r"\*x\* \[y\](z) \`q\` \#1"),
        ("back\\slash", r"back\\slash"),
        ("two\nlines", "two lines"),
        ("- item", r"\- item"),
        ("1. item", "&#49;. item"),
        ("12) item", "&#49;2) item"),
        ("1 item", "1 item"),
    ],
)
def test_escape(text: str, escaped: str) -> None:
    assert escape(text) == escaped


def test_every_row_of_a_table_has_as_many_cells_as_its_header() -> None:
    text = render(example_findings())
    tables = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)

    assert len(tables) == 7
    for table in tables:
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1


def test_no_tag_gets_through() -> None:
    text = render(example_findings())

    assert "<" not in text
    assert "&lt;b&gt;" in text


def test_nothing_measured_is_a_document_as_well() -> None:
    text = render(analyse([make_run([])]))

    assert text.startswith("# example\n")
    assert "##" not in text
