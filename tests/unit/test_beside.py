from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import msgspec
import pytest
from rich.console import Console

from groundspeed import published
from groundspeed.analyse import Answer
from groundspeed.analyse.beside import BesideRow, BesideTable, Order, beside
from groundspeed.report import data, html, markdown, terminal
from groundspeed.report.beside_view import beside_view
from tests.examples import example_findings
from tests.kept import kept_findings, publication_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.analyse import Findings

PUBLISHED: dict[str, dict[str, float | list[float]]] = {
    "off": {"set": 8000.0, "get": 9000.0},
    "on": {"set": 2000.0, "get": 9090.0},
    "far": {"set": 1000.0},
}
HERE = {"off": 4000.0, "on": 2000.0, "far": 500.0}


def findings_of(
    speeds: Mapping[str, Mapping[str, float]],
    told: Mapping[str, Mapping[str, float | list[float]]] = PUBLISHED,
    **more: object,
) -> Findings:
    publication = publication_of(told)
    return kept_findings(speeds, {}, publication=publication, **more)  # type: ignore[arg-type]


def table_of(findings: Findings) -> BesideTable:
    (table,) = beside(findings)
    return table


def rows_of(findings: Findings) -> dict[str, BesideRow]:
    return {row.environment: row for row in table_of(findings).rows}


def test_ratio_stands_beside_ratio() -> None:
    rows = rows_of(findings_of({"set": HERE}))
    assert list(rows) == ["off", "on", "far"]
    assert rows["off"].published_ratio == (1.0, 1.0)
    on = rows["on"]
    assert on.ratio == pytest.approx(0.5, rel=0.02)
    assert on.low is not None
    assert on.high is not None
    assert on.low < 0.5 < on.high
    assert (on.answer, on.pair_count) == (Answer.SLOWER, 12)
    assert on.published_ratio == (0.25, 0.25)
    assert on.off_ratio == pytest.approx(2.0, rel=0.02)
    assert rows["far"].off_ratio == pytest.approx(1.0, rel=0.02)


def test_a_ratio_inside_of_a_published_span_is_not_off() -> None:
    told: dict[str, dict[str, float | list[float]]] = {
        "off": {"set": 1000.0},
        "on": {"set": [400.0, 600.0]},
        "far": {"set": [200.0, 250.0]},
    }
    rows = rows_of(findings_of({"set": HERE}, told))
    assert rows["on"].published_ratio == (0.4, 0.6)
    assert rows["on"].off_ratio == 1.0
    # The nearer end counts.
    assert rows["far"].off_ratio == pytest.approx(0.125 / 0.2, rel=0.02)


def test_all_pairs_of_environments_are_ordered_and_not_only_those_with_the_baseline() -> None:
    table = table_of(findings_of({"set": HERE}))
    assert [(pair.first, pair.second, pair.order) for pair in table.pairs] == [
        ("off", "on", Order.SAME),
        ("off", "far", Order.SAME),
        ("on", "far", Order.SAME),
    ]


def test_what_comes_the_other_way_round_is_named() -> None:
    findings = findings_of({"set": {"off": 4000.0, "on": 500.0, "far": 2000.0}})
    table = table_of(findings)
    assert [pair.order for pair in table.pairs] == [Order.SAME, Order.SAME, Order.OTHER]
    (text,) = beside_view(findings).tables
    assert "the order does not agree: 2 of 3 pairs" in text.sentence
    assert "here far is ahead of on" in text.sentence


def test_few_trials_decide_no_order() -> None:
    findings = findings_of({"set": HERE}, repeats=3)
    assert {pair.order for pair in table_of(findings).pairs} == {Order.OPEN}
    (text,) = beside_view(findings).tables
    assert "the order is not decided: 0 of 3 pairs" in text.sentence
    assert [row.answer for row in text.rows] == ["baseline", *["not decided, published slower"] * 2]
    assert {row.interval for row in text.rows} == {"-"}


def test_equal_here_and_apart_there_do_not_agree() -> None:
    findings = findings_of({"set": {"off": 4000.0, "on": 4000.0}}, spread=0.003)
    (pair,) = table_of(findings).pairs
    assert pair.order is Order.EQUIVALENT
    assert "does not agree" in beside_view(findings).tables[0].sentence


def test_one_run_each_does_not_tell_apart_what_is_published_within_the_margin() -> None:
    table = table_of(findings_of({"get": {"off": 4000.0, "on": 2000.0}}))
    assert table.pairs == ()
    assert table.rows[1].order is Order.ALIKE


def test_environments_are_paired_as_the_suite_says() -> None:
    speeds = {"set": {"mine": 4000.0, "other": 1000.0}}
    rows = rows_of(findings_of(speeds, theirs={"mine": "off", "other": "far"}))
    assert (rows["other"].published_as, rows["other"].published_ratio) == ("far", (0.125, 0.125))


def test_environments_that_are_not_published_are_left_out_and_named() -> None:
    findings = findings_of({"set": {**HERE, "new": 3000.0}})
    table = table_of(findings)
    assert table.unpublished == ("new",)
    assert "new" not in {row.environment for row in table.rows}
    assert beside_view(findings).tables[0].sentence.endswith("; not published: new.")


def test_another_number_of_clients_is_another_load() -> None:
    findings = kept_findings({"set": HERE}, {}, publication=publication_of(PUBLISHED, clients=50))
    assert beside(findings) == ()
    assert "no two of its figures are of cells that were compared here" in (
        beside_view(findings).source
    )


def test_figures_of_another_data_set_are_called_so() -> None:
    points = {"workload": "tpcb-like", "clients": 20}
    file = {
        "source": "A table",
        "environments": [
            {"environment": name, "scale": 1000, "points": [{**points, "tps": tps}]}
            for name, tps in (("off", 400), ("on", 100))
        ],
    }
    publication = published.parse(json.dumps(file), name="small")
    findings = kept_findings({"tpcb-like": HERE}, {}, publication=publication)
    assert table_of(findings).published_scale == 1000
    assert rows_of(findings)["on"].published_ratio == (0.25, 0.25)
    assert "published at scale 1000, which is another data set" in (
        beside_view(findings).tables[0].sentence
    )


def test_without_a_publication_there_is_nothing() -> None:
    findings = example_findings()
    assert beside(findings) == ()
    assert beside_view(findings).publication == ""
    assert json.loads(data.to_json(findings))["published"] is None
    assert "Beside" not in markdown.render(findings)
    assert 'id="beside"' not in html.render(findings)


def test_every_report_has_the_table_and_says_what_it_is_worth() -> None:
    findings = findings_of({"set": HERE, "get": HERE})
    text = io.StringIO()
    terminal.render(findings, Console(width=80, file=text))
    assert max(len(line.rstrip()) for line in text.getvalue().splitlines()) <= 80
    pages = (" ".join(text.getvalue().split()), markdown.render(findings), html.render(findings))
    for page in pages:
        assert "Beside a-table" in page
        assert "one run a cell, on other hardware: the order can agree, the figures need" in page
        assert "slower, as published" in page
        assert "0.250x" in page
    told = json.loads(data.to_json(findings))["published"]
    assert [table["workload"] for table in told["tables"]] == ["set", "get"]
    assert told["tables"][0]["rows"][1]["published_ratio"] == [0.25, 0.25]
    assert told["reference"] == "A table (A. Body, 2026-01-31)"


def test_what_is_emulated_is_called_so() -> None:
    findings = msgspec.structs.replace(findings_of({"set": HERE}), emulated=("off", "on"))
    (text,) = beside_view(findings).tables
    assert [row.label for row in text.rows] == ["off (emulated)", "on (emulated)", "far"]
    assert "the ratios to off (emulated) are" in text.sentence
