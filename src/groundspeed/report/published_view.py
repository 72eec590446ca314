"""Published results as tables of text: the catalogue, and the figures of one publication."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from groundspeed.published import request_cells
from groundspeed.report.scaling import NOTHING, format_seconds, format_tps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.published import Publication, RequestCell, Span

_PGBENCH_TITLES = ("environment", "workload", "clients", "threads", "TPS", "mean latency")
_REQUEST_TITLES = (
    *("environment", "persistence", "keys", "command"),
    *("requests a second", "mean latency", "p99", "maximum"),
)


class PublishedPage(msgspec.Struct, frozen=True, kw_only=True):
    """One publication: lines about it and a table, whose columns from `numeric` on are numbers."""

    about: tuple[tuple[str, str], ...]
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: int


def catalogue_rows(publications: Sequence[Publication]) -> tuple[tuple[str, ...], ...]:
    """Lay out the catalogue: name, what it holds, its source; with a row of titles."""
    rows = ((each.name, _what(each), each.reference) for each in publications)
    return (("name", "what", "source"), *rows)


def _what(publication: Publication) -> str:
    environments = f"{len(publication.environments)} environments"
    if publication.cells_count:
        return f"{environments}, {publication.cells_count} figures of pgbench"
    requests = len(request_cells(publication))
    # The tool is told as published: its name alone, without its options.
    tool = publication.tool.split(" ")[0]
    return f"{environments}, {requests} of {tool}" if requests else f"{environments}, no figures"


def published_page(publication: Publication) -> PublishedPage:
    """Lay out one publication."""
    requests = request_cells(publication)
    return PublishedPage(
        about=tuple(_about(publication)),
        titles=_REQUEST_TITLES if requests else _PGBENCH_TITLES,
        rows=tuple(map(_request_row, requests)) if requests else tuple(_rows(publication)),
        numeric=4 if requests else 2,
    )


def _about(publication: Publication) -> list[tuple[str, str]]:
    told = [
        ("published by", publication.author or "unknown"),
        ("date", publication.date or "unknown"),
        ("address", publication.url or ""),
        ("load", publication.tool),
        ("note", publication.note),
    ]
    for environment in publication.environments:
        facts = [
            f"PostgreSQL {value}" if name == "PostgreSQL" else value
            for name, value in environment.facts
            if not name.startswith("setting ")
        ]
        sizes = [
            *([f"scale {environment.scale}"] if environment.scale else []),
            *([f"{environment.duration_s} s"] if environment.duration_s else []),
        ]
        told.append((environment.name, ", ".join(dict.fromkeys([*facts, *sizes]))))
    return [(name, value) for name, value in told if value]


def _rows(publication: Publication) -> list[tuple[str, ...]]:
    return [
        (
            environment.name,
            cell.workload,
            str(cell.clients),
            NOTHING if cell.threads is None else str(cell.threads),
            format_tps(cell.tps_per_s),
            NOTHING if cell.mean_s is None else format_seconds(cell.mean_s),
        )
        for environment in publication.environments
        for cell in environment.cells
    ]


def _request_row(cell: RequestCell) -> tuple[str, ...]:
    return (
        cell.environment,
        cell.persistence.value,
        NOTHING if cell.keys_count is None else f"{cell.keys_count:,}",
        cell.command,
        _span(cell.requests_per_s, seconds=False),
        NOTHING if cell.mean_s is None else _span(cell.mean_s, seconds=True),
        NOTHING if cell.p99_s is None else format_seconds(cell.p99_s),
        NOTHING if cell.max_s is None else format_seconds(cell.max_s),
    )


def _span(span: Span, *, seconds: bool) -> str:
    write = format_seconds if seconds else format_tps
    low, high = write(span.low), write(span.high)
    return low if low == high else f"{low} to {high}"
