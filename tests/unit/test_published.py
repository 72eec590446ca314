from __future__ import annotations

import json
from typing import Any

import pytest

from groundspeed import published
from groundspeed.errors import UsageError
from groundspeed.published import Persistence, Span, published_figures, request_cells

SMALL: dict[str, Any] = {
    "source": "A table of mine (A. Body, 2026-01-31)",
    "tool": "pgbench -j 4 -T 60 -M prepared",
    "url": "https://example.org/table",
    "environments": [
        {
            "environment": "one",
            "label": "The first one",
            "scale": 100,
            "postgres": "16",
            "storage": {"type": "gp3", "iops": 3000, "throughput_mb_s": 125, "price": 3},
            "instance": "t3.large",
            "settings": {"shared_buffers": "4GB", "fsync": True},
            "points": [
                {"workload": "tpcb-like", "clients": 1, "tps": 100.5, "latency_ms": 9.9},
                {"workload": "tpcb-like", "clients": 8, "threads": 2, "tps": 700},
            ],
        }
    ],
}


def parse(**more: object) -> published.Publication:
    return published.parse(json.dumps({**SMALL, **more}), name="small.json")


def test_every_publication_of_the_catalogue_says_whose_it_is() -> None:
    assert published.names() == ("aurora-vs-rds", "bare-metal-vs-aws", "redis-aof", "weka-vs-gp3")
    for name in published.names():
        publication = published.publication(name)
        assert publication.title
        assert publication.author
        assert publication.reference.startswith(publication.title)


@pytest.mark.parametrize("name", published.names())
def test_no_figure_of_the_catalogue_is_lost_or_changed(name: str) -> None:
    told = json.loads(published.content(name))["environments"]
    points = [
        (each["environment"], p["workload"], p["clients"], p["tps"], p.get("latency_ms"))
        for each in told
        for p in each.get("points", [])
    ]
    read = [
        (each.name, cell.workload, cell.clients, cell.tps_per_s, cell.mean_s)
        for each in published.publication(name).environments
        for cell in each.cells
    ]
    assert [row[:4] for row in read] == [row[:4] for row in points]
    for (*_, mean_s), (*_, latency_ms) in zip(read, points, strict=True):
        assert mean_s == pytest.approx(latency_ms / 1000)


def test_what_a_command_line_tells_holds_for_all_cells() -> None:
    (environment,) = parse().environments
    assert [cell.threads for cell in environment.cells] == [4, 2]
    assert (environment.duration_s, environment.protocol) == (60, "prepared")
    (environment,) = parse(tool="pgbench -T 3600 -j N -c N").environments
    assert [cell.threads for cell in environment.cells] == [None, 2]
    assert (environment.duration_s, environment.protocol) == (3600, None)


def test_what_is_not_told_is_none() -> None:
    first, second = parse().environments[0].cells
    assert first.mean_s == pytest.approx(0.0099)
    assert second.mean_s is None


def test_facts_are_called_as_in_reports() -> None:
    assert parse().environments[0].facts == (
        ("environment", "The first one"),
        ("PostgreSQL", "16"),
        ("storage", "gp3, 3000 IOPS, 125 MB/s"),
        ("CPU", "that of instance t3.large"),
        ("memory", "that of instance t3.large"),
        ("setting shared_buffers", "4GB"),
        ("setting fsync", "on"),
    )


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("Title (Who, 2026-01-31)", ("Title", "Who", "2026-01-31")),
        ("Title (with brackets) (Who, 2026)", ("Title (with brackets)", "Who", "2026")),
        ("Title (Who)", ("Title", "Who", None)),
        ("Title (2026-01)", ("Title", None, "2026-01")),
        ("Title", ("Title", None, None)),
    ],
)
def test_title_author_and_date(source: str, parts: tuple[str | None, ...]) -> None:
    found = parse(source=source)
    assert (found.title, found.author, found.date) == parts
    assert parse(source=source, author="Me", date="2025").reference.endswith("(Me, 2025)")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[1]", "Expected `object`"),
        ('{"a": 1}', "missing required field `source`"),
        ('{"source": "x", "environments": []}', "of length >= 1"),
        ('{"kind": "groundspeed-report", "cells": []}', "missing required field"),
    ],
)
def test_json_of_another_shape_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        published.parse(text, name="x.json")
    assert caught.value.message.startswith("x.json: ")
    assert words in caught.value.message


@pytest.mark.parametrize(
    "point",
    [
        {"workload": "tpcb-like", "clients": 1, "tps": 0},
        {"workload": "tpcb-like", "clients": 0, "tps": 1},
        {"workload": "tpcb-like", "clients": 1, "tps": 1, "latency_ms": -1},
        {"workload": "tpcb-like", "clients": 1, "tps": "1,000"},
        {"clients": 1, "tps": 1},
    ],
)
def test_a_point_that_cannot_be_is_refused(point: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no published results"):
        parse(environments=[{"environment": "one", "points": [point]}])


def test_one_name_for_two_environments_is_refused() -> None:
    with pytest.raises(UsageError, match="'one' is there twice"):
        parse(environments=[{"environment": "one"}, {"environment": "one"}])


def test_a_name_that_nobody_published_has_a_hint() -> None:
    with pytest.raises(UsageError) as caught:
        published.publication("bare-metal-vs-as")
    assert caught.value.hint == "did you mean bare-metal-vs-aws?"
    for name in ("../presets/quick", "x/../weka-vs-gp3"):
        with pytest.raises(UsageError, match="no such publication"):
            published.content(name)


def test_the_cells_of_redis() -> None:
    cells = request_cells(published.publication("redis-aof"))
    assert len(cells) == 13
    by_place = {(cell.environment, cell.command): cell for cell in cells}
    off = by_place["local-aof-off", "set"]
    assert (off.persistence, off.keys_count, off.storage) == (
        Persistence.NO_APPEND_ONLY_FILE,
        0,
        "local SSD SAS",
    )
    assert off.requests_per_s == Span(7696, 7696)
    assert off.mean_s == pytest.approx((0.00147, 0.00147))
    assert off.p99_s == pytest.approx(0.00512)
    ping = by_place["longhorn-aof-on", "ping"]
    assert ping.persistence is Persistence.APPEND_ONLY_FILE
    assert ping.requests_per_s == Span(19000, 21000)
    assert ping.p99_s is None
    assert by_place["longhorn-aof-on-data", "set"].max_s == pytest.approx(0.903)


@pytest.mark.parametrize("name", ["weka-vs-gp3", "aurora-vs-rds"])
def test_other_publications_have_none(name: str) -> None:
    assert request_cells(published.publication(name)) == ()


def test_throughput_is_one_list_whatever_it_was_measured_with() -> None:
    figures = published_figures(published.publication("redis-aof"))
    assert len(figures) == 13
    assert {(figure.clients, figure.scale) for figure in figures} == {(20, None)}
    by_place = {(figure.environment, figure.workload): figure.per_s for figure in figures}
    assert by_place["longhorn-aof-on-data", "set"] == Span(537, 537)
    assert by_place["longhorn-aof-on", "ping"] == Span(19000, 21000)
    first = published_figures(published.publication("weka-vs-gp3"))[0]
    assert (first.environment, first.workload, first.clients, first.scale, first.per_s) == (
        *("eks-gp3", "tpcb-like", 4, 1000),
        Span(1159, 1159),
    )


def test_clients_that_vary_in_the_command_line_are_not_taken_for_a_number() -> None:
    told = {"environment": "one", "set": {"rps": 5}}
    publication = parse(tool="redis-benchmark -c N -n 1000", environments=[told])
    assert [figure.clients for figure in published_figures(publication)] == [None]
