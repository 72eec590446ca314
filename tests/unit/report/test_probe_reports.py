from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from groundspeed.analyse.probe_compare import Side, compare
from groundspeed.analyse.probe_profile import outcome
from groundspeed.report import probe_html, probe_terminal, probe_view
from groundspeed.report.probe_units import BYTES_RATE, RATE, SECONDS, estimate
from tests.probe_example import Disk, probe

CLIFF = ((0.0, *(3000.0,) * 15, *(300.0,) * 15), (1e6,) * 30)


def printed(page: probe_view.ProbeView, width: int = 80) -> str:
    file = io.StringIO()
    probe_terminal.render(page, Console(file=file, width=width))
    return file.getvalue()


def test_an_interval_shares_the_unit_of_its_median() -> None:
    values = [1e-3, 1.1e-3, 1.2e-3, 1.3e-3, 1.4e-3, 0.9e-3, 0.8e-3]
    assert estimate(values, SECONDS) == "1.10 [0.800, 1.40] ms"
    assert estimate([2.0 * 2**20, 3.0 * 2**20], BYTES_RATE) == "2.50 (2.00 to 3.00) MiB/s"
    assert estimate([1234.0], RATE) == "1,234"


def test_the_terminal_tells_all_that_was_asked_for() -> None:
    probed = probe(Disk(requests_per_s=3000), logs=CLIFF)
    text = printed(probe_view.view(probed, outcome(probed)))
    for said in (
        "random read",
        "write+fdatasync",
        "95% intervals",
        "reads/s",
        "Caps",
        "ended after",
    ):
        assert said in text
    assert re.search(r"^32 .*\[", text, re.MULTILINE)


def test_numbers_are_whole_at_80_columns() -> None:
    probed = probe(Disk(read_s=0.0123, write_s=0.0456, sync_s=0.123))
    text = printed(probe_view.view(probed, outcome(probed)))
    assert all(len(line.rstrip()) <= 80 for line in text.splitlines())
    row = next(line for line in text.splitlines() if line.startswith("write+fdatasync"))
    assert row.count("[") == row.count("]") == 2


def test_without_intervals_it_says_so() -> None:
    probed = probe(Disk(), time_s=6.0)
    text = printed(probe_view.view(probed, outcome(probed)))
    assert "One block, so there is no interval" in text
    assert "[" not in text


@pytest.mark.parametrize("time_s", [6.0, 60.0])
def test_the_page_loads_nothing_and_escapes_names(time_s: float) -> None:
    probed = probe(Disk(requests_per_s=3000), time_s=time_s, logs=CLIFF)
    page = probe_html.render(probed, outcome(probed))
    assert "/mnt/&lt;b&gt;" in page
    assert "/mnt/<b>" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "<script" not in page
    assert page.count("<svg role=") == 5
    assert "level after" in page


def test_a_page_of_emulated_storage_says_so() -> None:
    probed = probe(Disk(), emulated=True)
    assert "badge emulated" in probe_html.render(probed, outcome(probed))


def test_a_comparison_has_ratios_and_intervals_or_says_why_not() -> None:
    first, second = probe(Disk()), probe(Disk(read_s=2e-4))
    a = Side(name="a.yaml", profile=outcome(first).fit.profile, probed=first)
    b = Side(name="b.yaml", profile=outcome(second).fit.profile, probed=second)
    text = printed(probe_view.view_comparison(a, b, compare(a, b)), 120)
    assert re.search(r"random read, p50 .*2\.0\dx \[", text)
    bare = Side(name="b.yaml", profile=b.profile, probed=None)
    text = printed(probe_view.view_comparison(a, bare, compare(a, bare)), 120)
    assert "No intervals can be given" in text
    assert "b.yaml: what was measured is not beside the profile" in text
