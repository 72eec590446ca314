from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from groundspeed.analyse import Findings, analyse
from groundspeed.record import Failed
from groundspeed.report.terminal import render
from groundspeed.report.view import view
from tests.examples import (
    AWKWARD,
    example_findings,
    make_measured,
    make_record,
    make_run,
    make_trial,
)


def render_text(findings: Findings, *, width: int = 80, terminal: bool = False) -> str:
    text = io.StringIO()
    # Not the environment's: a CI sets NO_COLOR or TERM as it likes.
    console = Console(
        width=width,
        file=text,
        force_terminal=terminal,
        color_system="standard" if terminal else None,
        _environ={},
    )
    render(findings, console)
    return text.getvalue()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("repeats", [3, 7])
def test_nothing_is_wider_than_the_terminal(width: int, repeats: int) -> None:
    text = render_text(example_findings(repeats), width=width)

    assert max(map(cell_len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [80, 120])
def test_every_number_is_shown_whole(width: int) -> None:
    findings = example_findings()
    text = render_text(findings, width=width)

    for row in view(findings).results.rows:
        for number in (row.tps, row.tps_interval, row.tps_range, row.p50, row.p95, row.p99):
            assert number in text
    assert "…" not in text


def test_verdicts_come_first() -> None:
    text = render_text(example_findings(), width=300)
    order = [
        text.index(part)
        for part in ("tpcb-like: ", "Compared to", "Results", "Footnotes", "Cautions")
    ]

    assert order == sorted(order)


def test_it_is_plain_where_there_is_no_terminal() -> None:
    findings = example_findings()

    assert "\x1b" not in render_text(findings)
    assert "\x1b[32mfaster" in render_text(findings, terminal=True)


def test_names_are_no_markup_and_steer_nothing() -> None:
    records = [
        make_record(make_trial(environment="[red]x[/red]"), make_measured()),
        make_record(
            make_trial(environment=AWKWARD), Failed(reason="\x1b[2Jboom\r\nbang", retryable=True)
        ),
    ]
    text = render_text(analyse([make_run(records)]), width=120)

    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert "boom  bang" in text


def test_a_very_long_name_folds_and_the_numbers_stay() -> None:
    name = "x" * 80
    records = [
        make_record(make_trial(environment=name, clients=64, threads=threads, block_index=threads))
        for threads in (1, 64)
    ]
    text = render_text(analyse([make_run(records)]))

    assert "1,000 to 1,000" in text
    assert text.count("x") >= 3 * 80
    assert max(map(cell_len, text.splitlines())) <= 80


def test_failed_transactions_have_a_column_only_where_there_are_some() -> None:
    clean = analyse([make_run([make_record()])])
    dirty = analyse([make_run([make_record(make_trial(), make_measured(failed_count=5))])])

    assert "failed" not in render_text(clean)
    assert "failed" in render_text(dirty)
